"""The reference input that path methods start from: a text that says nothing."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import warn
from rationales.models import Batch, Differentiable

Baseline: TypeAlias = Literal["zero", "mask", "pad"]
"""Zero embeddings for all tokens; or every token of a text replaced by the mask or padding token, special ones kept."""


def baseline_embeddings(model: Differentiable, part: Batch, kind: Baseline) -> Tensor:
    """Word embeddings of the reference input, [n, T, d]."""
    if kind not in get_args(Baseline):
        raise InputError(f"baseline must be zero, mask or pad, got {kind!r}")
    if kind == "zero":
        return torch.zeros_like(model.embed(part))
    return model.embed(model.erase(part, part.content, kind))


def ends(model: Differentiable, part: Batch, kind: Baseline, *, create_graph: bool = False) -> tuple[Tensor, Tensor]:
    """Word embeddings of the text and of the reference input, [n, T, d] each; without a graph unless it is wanted."""
    embeddings, reference = model.embed(part), baseline_embeddings(model, part, kind)
    return (embeddings, reference) if create_graph else (embeddings.detach(), reference.detach())


def scale_of(wanted: Tensor) -> Tensor:
    """What a gap is measured against: |wanted|, but 0.01 at least: an output that hardly moves has no direction."""
    return wanted.abs().clamp(min=0.01)


def relative_gap(found: Tensor, wanted: Tensor) -> Tensor:
    """|found - wanted| in units of `scale_of(wanted)`."""
    return (found - wanted).abs() / scale_of(wanted)


def warn_of_gaps(method: str, gaps: Tensor, tolerance: float, advice: str) -> None:
    """Say how many attributions do not add up, and what to do."""
    missed = int((~(gaps <= tolerance)).sum())  # NaN counts as a miss
    if missed:
        warn(
            f"{method}: {missed} of {len(gaps)} texts do not add up to within {tolerance:.0%} "
            f"(worst: {float(gaps.max()):.1%}) {advice}"
        )
