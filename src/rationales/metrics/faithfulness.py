"""Faithfulness: does the explanation point at what the model really used?

Tokens are erased where the explanation points, or everywhere else, and the probability p(y) of the explained class
is watched. Special tokens are never erased, except in one option of the normalised metrics. All are NaN for a text
without tokens and where a score is NaN; those that compare probabilities are NaN for regressions.

Let r be the rationale: the best ⌈b · n⌉ of n tokens for each bin b, or the selection itself. Then p(y|r) is measured
with everything else erased, p(y|x∖r) with the rationale erased, and p(y|∅) with all erased.
"""

# ruff: noqa: ARG001 - every metric takes what people said, also those that do not ask for it

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Scores, Selection
from rationales.metrics.base import AbsoluteOption, Golds, metric
from rationales.metrics.erasure import Drops, Outcomes, outcomes
from rationales.metrics.on_tokens import OnTokens
from rationales.models import Erasure

BINS = (0.01, 0.05, 0.1, 0.2, 0.5)

BinsOption: TypeAlias = Annotated[tuple[float, ...], "shares of the tokens that count as the rationale"]
ErasureOption: TypeAlias = Annotated[Erasure, "what erasing a token means"]
AopcOption: TypeAlias = Annotated[
    Literal["mean", "n+1"], "sum over bins divided by their number, or as in ERASER by one more"
]
SpecialsOption: TypeAlias = Annotated[Literal["keep", "erase"], "special tokens in the text with everything erased"]
EpsOption: TypeAlias = Annotated[float, "subtracted once from the sufficiency of the empty text"]


@metric("sufficiency", best="low", bodies=(Scores, Selection), needs=("model",))
def sufficiency(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    bins: BinsOption = BINS,
    erasure: ErasureOption = "delete",
    aopc: AopcOption = "mean",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How much the probability falls when only the rationale is left.

    p(y|x) - p(y|r), averaged over bins (DeYoung et al., 2020).
    """
    _check_choice("aopc", aopc, "mean", "n+1")
    found = outcomes(model, explanations, _all_but(_shares(explanations, bins), absolute), erasure)
    return _averaged(found.whole[:, None] - found.erased, found, explanations, aopc)


@metric("comprehensiveness", best="high", bodies=(Scores, Selection), needs=("model",))
def comprehensiveness(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    bins: BinsOption = BINS,
    erasure: ErasureOption = "delete",
    aopc: AopcOption = "mean",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How much the probability falls when the rationale is taken away.

    p(y|x) - p(y|x∖r), averaged over bins (DeYoung et al., 2020).
    """
    _check_choice("aopc", aopc, "mean", "n+1")
    found = outcomes(model, explanations, _best(_shares(explanations, bins), absolute), erasure)
    return _averaged(found.whole[:, None] - found.erased, found, explanations, aopc)


@metric("normalised_sufficiency", best="high", bodies=(Scores, Selection), needs=("model",))
def normalised_sufficiency(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    bins: BinsOption = BINS,
    erasure: ErasureOption = "pad",
    aopc: AopcOption = "mean",
    baseline_specials: SpecialsOption = "keep",
    eps: EpsOption = 1e-4,
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How much of the whole text's effect the rationale keeps, between 0 (that of no text) and 1.

    (S(r) - S₀) / (1 - S₀) clipped to [0, 1], with S(r) = 1 - max(0, p(y|x) - p(y|r)) and S₀ = S(∅) - eps; averaged over
    bins (Carton et al., 2020; Chrysostomou and Aletras, 2022). With eps = 0 also NaN where S(∅) = 1.
    """
    _check_choice("aopc", aopc, "mean", "n+1")
    _check_choice("baseline_specials", baseline_specials, "keep", "erase")
    _check_eps(eps)
    found = outcomes(model, explanations, _all_but(_shares(explanations, bins), absolute, baseline_specials), erasure)
    kept, empty = _kept(found)
    values = _share(kept - empty + eps, 1 - empty + eps)
    return _averaged(values, _only_probabilities(model, found), explanations, aopc)


@metric("normalised_comprehensiveness", best="high", bodies=(Scores, Selection), needs=("model",))
def normalised_comprehensiveness(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    bins: BinsOption = BINS,
    erasure: ErasureOption = "pad",
    aopc: AopcOption = "mean",
    baseline_specials: SpecialsOption = "keep",
    eps: EpsOption = 1e-4,
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How much of the whole text's effect goes with the rationale, between 0 and 1 (all that erasing everything does).

    max(0, p(y|x) - p(y|x∖r)) / (1 - S₀) clipped to [0, 1], S₀ as in `normalised_sufficiency`; averaged over bins
    (Carton et al., 2020; Chrysostomou and Aletras, 2022). With eps = 0 also NaN where S(∅) = 1.
    """
    _check_choice("aopc", aopc, "mean", "n+1")
    _check_choice("baseline_specials", baseline_specials, "keep", "erase")
    _check_eps(eps)
    found = outcomes(model, explanations, _best(_shares(explanations, bins), absolute, baseline_specials), erasure)
    kept, empty = _kept(found)
    values = _share(1 - kept, 1 - empty + eps)
    return _averaged(values, _only_probabilities(model, found), explanations, aopc)


@metric("saturation", best="low", bodies=(Scores, Selection), needs=("model",))
def saturation(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    erasure: ErasureOption = "pad",
    baseline_specials: SpecialsOption = "keep",
) -> FloatArray:
    """Whether the empty text is at least as sure as the whole one, so that normalised metrics say little: 1 or 0.

    [p(y|∅) ≥ p(y|x)]: of the model and the text, the same for all methods that explain the same class (Carton et al.,
    2020, on the normalisation).
    """
    _check_choice("baseline_specials", baseline_specials, "keep", "erase")

    def drops(given: OnTokens) -> BoolArray:
        return _everything(given, baseline_specials)

    found = _only_probabilities(model, outcomes(model, explanations, drops, erasure))
    return np.where(found.defined, found.erased[:, 0] >= found.whole, np.nan)


@metric("log_odds", best="low", bodies=(Scores, Selection), needs=("model",))
def log_odds(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    bins: BinsOption = BINS,
    erasure: ErasureOption = "pad",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The change of the log-probability when the rationale is taken away; the more negative, the better.

    ln p(y|x∖r) - ln p(y|x), averaged over bins; probabilities below 10⁻¹² count as 10⁻¹² (Shrikumar et al., 2017).
    """
    found = outcomes(model, explanations, _best(_shares(explanations, bins), absolute), erasure)
    found = _only_probabilities(model, found)
    change = np.log(np.maximum(found.erased, 1e-12)) - np.log(np.maximum(found.whole, 1e-12))[:, None]
    return _averaged(change, found, explanations, "mean")


@metric("decision_flip", best="high", bodies=(Scores,), needs=("model",))
def decision_flip(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    erasure: ErasureOption = "delete",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """Whether erasing the single most important token changes the predicted class: 1 or 0.

    [argmax f(x∖best) ≠ argmax f(x)] (Chrysostomou and Aletras, 2021).
    """

    def drops(given: OnTokens) -> BoolArray:
        return given.best_one(absolute)

    found = _only_probabilities(model, outcomes(model, explanations, drops, erasure))
    return np.where(found.defined, found.flipped[:, 0], np.nan)


def _best(bins: Sequence[float], absolute: bool, empty: str | None = None) -> Drops:
    """Erase the rationale of each bin; with `empty`, all tokens in a last version."""

    def drops(given: OnTokens) -> BoolArray:
        return _with_empty(given, given.best(bins, absolute), empty)

    return drops


def _all_but(bins: Sequence[float], absolute: bool, empty: str | None = None) -> Drops:
    """Erase all but the rationale of each bin; with `empty`, all tokens in a last version."""

    def drops(given: OnTokens) -> BoolArray:
        return _with_empty(given, ~given.best(bins, absolute) & given.content[:, None], empty)

    return drops


def _with_empty(given: OnTokens, drop: BoolArray, empty: str | None) -> BoolArray:
    return drop if empty is None else np.concatenate([drop, _everything(given, empty)], axis=1)


def _everything(given: OnTokens, specials: str) -> BoolArray:
    """All tokens, [N, 1, T], with the special ones or without."""
    whole: BoolArray = given.keep if specials == "erase" else given.content
    return whole[:, None]


def _shares(explanations: Sequence[Explanation], bins: Sequence[float]) -> Sequence[float]:
    """The bins, or a single one where all are selections, which are their own rationale."""
    if not len(bins) or not all(0 < share <= 1 for share in bins):
        raise InputError(f"bins must be shares above 0 and up to 1, got {tuple(bins)}")
    return bins if any(isinstance(item.body, Scores) for item in explanations) else (1.0,)


def _check_choice(name: str, given: str, *allowed: str) -> None:
    if given not in allowed:
        raise InputError(f"{name} must be {' or '.join(allowed)}, got {given!r}")


def _check_eps(eps: float) -> None:
    if not 0 <= eps < 1:
        raise InputError(f"eps must be from 0 to below 1, such as 1e-4; got {eps}")


def _kept(found: Outcomes) -> tuple[FloatArray, FloatArray]:
    """1 - max(0, p(y|x) - p(y|·)) of all versions but the last, [N, V - 1], and of the last, the empty text, [N, 1]."""
    kept = 1 - np.maximum(0.0, found.whole[:, None] - found.erased)
    return kept[:, :-1], kept[:, -1:]


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """`part` / `whole` clipped to [0, 1]; NaN where `whole` is 0."""
    return np.clip(part / np.where(whole > 0, whole, np.nan), 0, 1)


def _only_probabilities(model: object, found: Outcomes) -> Outcomes:
    """Nothing is defined for a regression, whose output is no probability."""
    return replace(found, defined=np.zeros_like(found.defined)) if getattr(model, "regression", False) else found


def _averaged(
    values: FloatArray, found: Outcomes, explanations: Sequence[Explanation], aopc: Literal["mean", "n+1"]
) -> FloatArray:
    """Over bins, [N, V] → [N]; NaN where the outcome is not defined."""
    bins = values.shape[1]
    several = np.array([bins > 1 and isinstance(item.body, Scores) for item in explanations])
    total = values.sum(1) / (bins + (several & (aopc == "n+1")))  # of one rationale there is no average
    return np.where(found.defined, total, np.nan)
