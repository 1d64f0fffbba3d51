"""What the model says of a text with some of its tokens erased: the ground under every faithfulness metric."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Selection, Target
from rationales.explanation.views import count, projected, ranked, token_scores
from rationales.metrics.base import sized
from rationales.models import Erasure, Model, demand, erased_logits, predict, rounds
from rationales.models.transformers_classifier import cut_message

Drops: TypeAlias = Callable[[Explanation], BoolArray]
"""An explanation on the model's own tokens → which of them to erase, [V, T], in each of V versions."""

TENTHS = tuple(float(share) for share in np.arange(11) / 10)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Probabilities of the explained class: of the whole text [N], and of its erased versions [N, V].

    `flipped` [N, V]: whether the predicted class changed. `defined` [N]: whether there are tokens to erase and all of
    them have scores that are numbers. `cut` is the number of texts that were too long for the model.
    """

    whole: FloatArray
    erased: FloatArray
    flipped: BoolArray
    defined: BoolArray
    cut: int = 0


def outcomes(model: object, explanations: Sequence[Explanation], drops: Drops, erasure: Erasure) -> Outcomes:
    """Erase and ask the model, in full batches.

    The class is the explanation's target; where it names none of the model's (explanations by people or other tools),
    the class that the model predicts for the whole text.
    """
    demand(model, Model, "a faithfulness metric")
    assert isinstance(model, Model)
    if not explanations:
        raise InputError("there are no explanations to measure")
    with model.borrowed(), torch.no_grad():
        parts = [_round(model, part, drops, erasure) for part in rounds(model, explanations)]
    if cut := sum(part.cut for part in parts):
        warnings.warn(cut_message(cut, len(explanations), model.max_length), stacklevel=2)
    return Outcomes(
        np.concatenate([part.whole for part in parts]),
        np.concatenate([part.erased for part in parts]),
        np.concatenate([part.flipped for part in parts]),
        np.concatenate([part.defined for part in parts]),
        cut,
    )


def _round(model: Model, explanations: list[Explanation], drops: Drops, erasure: Erasure) -> Outcomes:
    batch = model.encode([Example(item.id, item.texts) for item in explanations], warn=False)
    onto = [projected(item, source.tokens) for item, source in zip(explanations, batch.sources, strict=True)]
    versions = [drops(item) for item in onto]
    number = versions[0].shape[0]
    drop = torch.zeros(len(batch), number, batch.width, dtype=torch.bool)
    for row, (version, keep) in enumerate(zip(versions, batch.keep.cpu(), strict=True)):
        drop[row, :, keep] = torch.tensor(version)  # a copy: arrays of explanations are read-only
    rows = torch.arange(len(batch)).repeat_interleave(number)
    logits = erased_logits(model, batch, rows, drop.flatten(0, 1).to(batch.ids.device), erasure)
    whole = predict(model, batch)
    targets = _targets(model, explanations, whole)
    erased = model.probabilities(logits).view(len(batch), number, -1)
    flipped = logits.argmax(-1).view(len(batch), number) != whole.argmax(-1, keepdim=True)
    return Outcomes(
        _numbers(model.probabilities(whole).gather(1, targets[:, None]).squeeze(1)),
        _numbers(erased.gather(2, targets[:, None, None].expand(-1, number, 1)).squeeze(2)),
        flipped.cpu().numpy(),
        np.array([_defined(item) for item in onto]),
        sum(source.cut for source in batch.sources),
    )


def _defined(explanation: Explanation) -> bool:
    scores = token_scores(explanation)[explanation.content]
    return len(scores) > 0 and not np.isnan(scores).any()


def _targets(model: Model, explanations: list[Explanation], whole: torch.Tensor) -> torch.Tensor:
    """The class each explanation is about, [n]: by its label, else by its number, else the predicted one."""
    by_label = {label: number for number, label in enumerate(model.labels)}

    def number(target: Target) -> int:
        named = by_label.get(target.label, -1)  # goes before a number, which may be that of another model or tool
        return named if named >= 0 or target.index not in range(len(model.labels)) else target.index

    given = [number(item.target) for item in explanations]
    targets = torch.tensor(given, device=whole.device)
    return torch.where(targets >= 0, targets, whole.argmax(-1))


def _numbers(tensor: torch.Tensor) -> FloatArray:
    return tensor.double().cpu().numpy()


def best_tokens(explanation: Explanation, fractions: Sequence[float], absolute: bool) -> BoolArray:
    """The best ⌈fraction · n⌉ of the n content tokens for each fraction, [V, T]; a selection is itself in each."""
    if isinstance(explanation.body, Selection):
        return np.tile(explanation.body.keep & explanation.content, (len(fractions), 1))
    order = ranked(sized(explanation, absolute))
    best = np.zeros((len(fractions), len(explanation.tokens)), dtype=np.bool_)
    for row, fraction in enumerate(fractions):
        best[row, order[: count(fraction, len(order))]] = True
    return best


def perturbation_curve(
    model: object,
    explanations: Sequence[Explanation],
    *,
    fractions: Sequence[float] = TENTHS,
    erase: Literal["best", "rest"] = "best",
    erasure: Erasure = "delete",
    absolute: bool = False,
) -> FloatArray:
    """The probability of the explained class as more tokens go, [N, len(fractions)].

    `erase="best"` removes the best ⌈fraction · n⌉ tokens (a faithful explanation falls early); `"rest"` removes all but
    those (a faithful one rises early). NaN for a text without tokens and where a score is NaN. Samek et al. (2017).
    """
    if not len(fractions) or not all(0 <= share <= 1 for share in fractions):
        raise InputError(f"fractions must be shares from 0 to 1, got {tuple(fractions)}")
    if erase not in ("best", "rest"):
        raise InputError(f"erase must be best or rest, got {erase!r}")

    def drops(explanation: Explanation) -> BoolArray:
        best = best_tokens(explanation, fractions, absolute)
        return best if erase == "best" else ~best & explanation.content

    found = outcomes(model, explanations, drops, erasure)
    return np.where(found.defined[:, None], found.erased, np.nan)
