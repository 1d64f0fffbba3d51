"""What the model says of a text with some of its tokens erased: the ground under every faithfulness metric."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Target
from rationales.metrics.on_tokens import OnTokens
from rationales.metrics.passes import Passes, passes_in_use
from rationales.models import Erasure, Model, demand, rounds
from rationales.models.tokenising import cut_message

Drops: TypeAlias = Callable[[OnTokens], BoolArray]
"""Explanations on the model's own tokens → which of these to erase, [N, V, T], in each of V versions."""

TENTHS = tuple(float(share) for share in np.arange(11) / 10)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Probabilities of the explained class: of the whole text [N], and of its erased versions [N, V].

    `flipped` [N, V]: whether the predicted class changed. `defined` [N]: whether there are tokens to erase and all of
    them have scores that are numbers.
    """

    whole: FloatArray
    erased: FloatArray
    flipped: BoolArray
    defined: BoolArray


def outcomes(model: object, explanations: Sequence[Explanation], drops: Drops, erasure: Erasure) -> Outcomes:
    """Erase and ask the model, in full batches.

    The class is the explanation's target; where it names none of the model's (explanations by people or other tools),
    the class that the model predicts for the whole text.
    """
    demand(model, Model, "a faithfulness metric")
    assert isinstance(model, Model)
    if not explanations:
        raise InputError("there are no explanations to measure")
    shared = passes_in_use()
    if shared is not None:  # who shares passes goes in rounds already
        return _round(model, list(explanations), drops, erasure, shared)
    passes, parts = Passes(), []
    for part in rounds(model, explanations):
        parts.append(_round(model, part, drops, erasure, passes))
        passes.forget()
    if passes.cut:
        warnings.warn(cut_message(passes.cut, len(explanations), model.max_length), stacklevel=2)
    return Outcomes(
        np.concatenate([part.whole for part in parts]),
        np.concatenate([part.erased for part in parts]),
        np.concatenate([part.flipped for part in parts]),
        np.concatenate([part.defined for part in parts]),
    )


def _round(
    model: Model, explanations: Sequence[Explanation], drops: Drops, erasure: Erasure, passes: Passes
) -> Outcomes:
    answers = passes.about(model, explanations)
    given = answers.on_tokens(explanations)
    logits = passes.logits(answers, drops(given), erasure)
    whole = logits[:, 0]
    targets = _targets(model, explanations, whole)
    chosen = model.probabilities(logits.flatten(0, 1)).view(logits.shape)
    chosen = chosen.gather(2, targets[:, None, None].expand(-1, logits.shape[1], 1)).squeeze(2)
    return Outcomes(
        _numbers(chosen[:, 0]),
        _numbers(chosen[:, 1:]),
        (logits[:, 1:].argmax(-1) != whole.argmax(-1, keepdim=True)).numpy(),
        given.defined,
    )


def _targets(model: Model, explanations: Sequence[Explanation], whole: Tensor) -> Tensor:
    """The class each explanation is about, [n]: by its label, else by its number, else the predicted one."""
    by_label = {label: number for number, label in enumerate(model.labels)}

    def number(target: Target) -> int:
        named = by_label.get(target.label, -1)  # goes before a number, which may be that of another model or tool
        return named if named >= 0 or target.index not in range(len(model.labels)) else target.index

    given = [number(item.target) for item in explanations]
    targets = torch.tensor(given, device=whole.device)
    return torch.where(targets >= 0, targets, whole.argmax(-1))


def _numbers(tensor: Tensor) -> FloatArray:
    return tensor.double().numpy()


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

    def drops(given: OnTokens) -> BoolArray:
        best = given.best(fractions, absolute)
        return best if erase == "best" else ~best & given.content[:, None]

    found = outcomes(model, explanations, drops, erasure)
    return np.where(found.defined[:, None], found.erased, np.nan)
