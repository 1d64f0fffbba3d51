"""What the model says of a pair when only some of the links between its two texts are left."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, FloatArray
from rationales.explanation.views import projected
from rationales.metrics.passes import Passes, passes_in_use
from rationales.models import CoAttentive, demand, rounds
from rationales.models.tokenising import cut_message

Versions: TypeAlias = Callable[[Alignment], Sequence[BoolArray]]
"""An alignment of the model's own tokens → the links that are left, [P, H], in each of V versions."""


@dataclass(frozen=True, eq=False)
class Moved:
    """An explanation on the model's own tokens, and ‖M(x) - M^Z(x)‖₂ of the logits M for each version Z, [V]."""

    explanation: Explanation
    distances: FloatArray


def moved(model: object, explanations: Sequence[Explanation], versions: Versions) -> list[Moved]:
    """How far the logits move with the links of each version, in full batches.

    An explanation on other tokens than the model's is projected onto these.
    """
    demand(model, CoAttentive, "a metric that cuts links between two texts")
    assert isinstance(model, CoAttentive)
    if not explanations:
        raise InputError("there are no explanations to measure")
    shared = passes_in_use()
    if shared is not None:  # who shares passes goes in rounds already
        return _round(model, explanations, versions, shared)
    passes, found = Passes(), []
    for part in rounds(model, explanations):
        found += _round(model, part, versions, passes)
        passes.forget()
    if passes.cut:
        warnings.warn(cut_message(passes.cut, len(explanations), model.max_length), stacklevel=2)
    return found


def _round(model: CoAttentive, explanations: Sequence[Explanation], versions: Versions, passes: Passes) -> list[Moved]:
    answers = passes.about(model, explanations)
    own = [projected(item, source.tokens) for item, source in zip(explanations, answers.batch.sources, strict=True)]
    found = passes.linked_logits(answers, [versions(alignment(item)) for item in own])
    return [
        Moved(item, (logits[1:] - logits[0]).double().norm(dim=-1).numpy())
        for item, logits in zip(own, found, strict=True)
    ]


def alignment(explanation: Explanation) -> Alignment:
    """Its body, which the metric has checked."""
    assert isinstance(explanation.body, Alignment)
    return explanation.body
