"""Faithfulness: does the explanation point at what the model really used?

Tokens are erased where the explanation points, or everywhere else, and the probability p(y) of the explained class
is watched. Special tokens are never erased, except in one option of the normalised metrics. All are NaN for a text
without tokens; those that compare probabilities are NaN for regressions where that makes no sense.

Let r be the rationale: the best ⌈b · n⌉ of n tokens for each bin b, or the selection itself. Then p(y|r) is measured
with everything else erased, p(y|x∖r) with the rationale erased, and p(y|∅) with all erased.
"""

# ruff: noqa: ARG001 - every metric takes what people said, also those that do not ask for it

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Scores, Selection
from rationales.explanation.views import top
from rationales.metrics.base import AbsoluteOption, Golds, metric, sized
from rationales.metrics.erasure import Outcomes, best_tokens, outcomes
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
    found = outcomes(model, explanations, _all_but(_shares(explanations, bins), absolute), erasure)
    return _averaged(found.whole[:, None] - found.erased, found, aopc)


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
    found = outcomes(model, explanations, _best(_shares(explanations, bins), absolute), erasure)
    return _averaged(found.whole[:, None] - found.erased, found, aopc)


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
    bins (Carton et al., 2020; Chrysostomou and Aletras, 2022).
    """
    found = outcomes(model, explanations, _all_but(_shares(explanations, bins), absolute, baseline_specials), erasure)
    kept, empty = _kept(found)
    start = empty[:, None] - eps
    return _averaged(np.clip((kept - start) / (1 - start), 0, 1), _only_probabilities(model, found), aopc)


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
    (Carton et al., 2020; Chrysostomou and Aletras, 2022).
    """
    found = outcomes(model, explanations, _best(_shares(explanations, bins), absolute, baseline_specials), erasure)
    kept, empty = _kept(found)
    return _averaged(np.clip((1 - kept) / (1 - empty[:, None] + eps), 0, 1), _only_probabilities(model, found), aopc)


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
    return _averaged(change, found, "mean")


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

    def best(explanation: Explanation) -> BoolArray:
        chosen = top(sized(explanation, absolute), 1).body
        assert isinstance(chosen, Selection)
        return chosen.keep[None]

    found = _only_probabilities(model, outcomes(model, explanations, best, erasure))
    return np.where(np.isnan(found.whole) | (found.content == 0), np.nan, found.flipped[:, 0].astype(np.float64))


def _best(bins: Sequence[float], absolute: bool, empty: str | None = None) -> Callable[[Explanation], BoolArray]:
    """Erase the rationale of each bin; with `empty`, all tokens in a last version."""

    def drops(explanation: Explanation) -> BoolArray:
        return _with_empty(explanation, best_tokens(explanation, bins, absolute), empty)

    return drops


def _all_but(bins: Sequence[float], absolute: bool, empty: str | None = None) -> Callable[[Explanation], BoolArray]:
    """Erase all but the rationale of each bin; with `empty`, all tokens in a last version."""

    def drops(explanation: Explanation) -> BoolArray:
        rest = ~best_tokens(explanation, bins, absolute) & explanation.content
        return _with_empty(explanation, rest, empty)

    return drops


def _with_empty(explanation: Explanation, drop: BoolArray, empty: str | None) -> BoolArray:
    if empty is None:
        return drop
    everything = np.ones_like(explanation.content) if empty == "erase" else explanation.content
    return np.concatenate([drop, everything[None]])


def _shares(explanations: Sequence[Explanation], bins: Sequence[float]) -> Sequence[float]:
    """The bins, or a single one where all are selections, which are their own rationale."""
    if not len(bins) or not all(0 < share <= 1 for share in bins):
        raise InputError(f"bins must be shares between 0 and 1, got {tuple(bins)}")
    return bins if any(isinstance(item.body, Scores) for item in explanations) else (1.0,)


def _kept(found: Outcomes) -> tuple[FloatArray, FloatArray]:
    """1 - max(0, p(y|x) - p(y|·)) of every version but the last, [N, V - 1], and of the last, the empty text, [N]."""
    kept = 1 - np.maximum(0.0, found.whole[:, None] - found.erased)
    return kept[:, :-1], kept[:, -1]


def _only_probabilities(model: object, found: Outcomes) -> Outcomes:
    """All NaN for a regression, whose output is no probability."""
    if not getattr(model, "regression", False):
        return found
    return Outcomes(np.full_like(found.whole, np.nan), np.full_like(found.erased, np.nan), found.flipped, found.content)


def _averaged(values: FloatArray, found: Outcomes, aopc: Literal["mean", "n+1"]) -> FloatArray:
    """Over bins, [N, V] → [N]; NaN where the text has no tokens or the outcome is not defined."""
    if aopc not in ("mean", "n+1"):
        raise InputError(f"aopc must be mean or n+1, got {aopc!r}")
    bins = values.shape[1]
    total = values.sum(1) / (bins + (aopc == "n+1" and bins > 1))  # of one bin there is no average
    return np.where((found.content == 0) | np.isnan(found.whole), np.nan, total)
