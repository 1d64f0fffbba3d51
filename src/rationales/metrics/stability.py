"""Stability: how alike are two sets of explanations of the same examples?

Both measures compare `explanations` with `other`, say those of the same model trained from another seed, or of another
method. There likeness is good; beside a model that was never trained it is a bad sign, and "best high" must be read the
other way round. Only content tokens count. Where the two cut a text into different tokens, both are pooled to words.
Neither asks whether the two explain the same target. Both are NaN where `other` has None and where a score is NaN.
"""

# ruff: noqa: ARG001 - every metric takes the model, also those that do not ask it

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from scipy.stats import hypergeom, kendalltau, spearmanr

from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Scores, Selection
from rationales.explanation.views import Pool, token_scores, top, words
from rationales.metrics.base import AbsoluteOption, Golds, PoolOption, metric, sized


@metric("jaccard", best="high", bodies=(Scores, Selection), needs=("other",))
def jaccard(
    model: object,
    explanations: Sequence[Explanation],
    other: Golds | None = None,
    *,
    fraction: Annotated[float, "share of the tokens that scores select; a selection is taken as it is"] = 0.25,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The overlap of the best tokens of two explanations.

    |A ∩ B| / |A ∪ B| for the ⌈fraction · n⌉ best of the n content tokens by each, ties in the order of the text
    (Zafar et al., 2021). Two random rankings of a long text reach about fraction / (2 − fraction). NaN where both
    select nothing.
    """
    values = np.full(len(explanations), np.nan)
    for place, pair in _pairs(explanations, other, pool, absolute):
        ours, theirs = (selected(explanation, fraction) for explanation in pair)
        if union := (ours | theirs).sum():
            values[place] = (ours & theirs).sum() / union
    return values


@metric("rank_correlation", best="high", bodies=(Scores,), needs=("other",))
def rank_correlation(
    model: object,
    explanations: Sequence[Explanation],
    other: Golds | None = None,
    *,
    kind: Annotated[Literal["spearman", "kendall"], "Spearman's ρ or Kendall's τ-b"] = "spearman",
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How far two explanations rank the tokens alike, from −1 (reversed) over 0 to 1 (the same order).

    Spearman's ρ = cov(R_a, R_b) / (σ(R_a) σ(R_b)) of the ranks R, ties sharing their mean rank (Spearman, 1904), or
    Kendall's τ_b = (C − D) / √((C + D + T_a)(C + D + T_b)) of the concordant pairs C, the discordant D, and T_a, T_b
    tied only in a or only in b (Kendall, 1945). NaN for fewer than two content tokens and for constant scores.
    """
    if kind not in ("spearman", "kendall"):
        raise InputError(f"rank_correlation: kind must be spearman or kendall, got {kind!r}")
    correlate = spearmanr if kind == "spearman" else kendalltau
    values = np.full(len(explanations), np.nan)
    for place, pair in _pairs(explanations, other, pool, absolute):
        ours, theirs = (token_scores(explanation)[explanation.content] for explanation in pair)
        if np.unique(ours).size > 1 and np.unique(theirs).size > 1:
            values[place] = correlate(ours, theirs).statistic
    return values


def _pairs(
    explanations: Sequence[Explanation], other: Golds | None, pool: Pool, absolute: bool
) -> Iterator[tuple[int, tuple[Explanation, Explanation]]]:
    """The places that can be compared, each with its two explanations on the same tokens."""
    assert other is not None  # the metric has checked it
    for place, (first, second) in enumerate(zip(explanations, other, strict=True)):
        if second is None:
            continue
        if first.tokens != second.tokens:
            first, second = words(first, pool), words(second, pool)
        pair = sized(first, absolute), sized(second, absolute)
        if not any(np.isnan(token_scores(explanation)[explanation.content]).any() for explanation in pair):
            yield place, pair


@lru_cache(maxsize=65536)
def chance_overlap(total: int, ours: int, theirs: int) -> float:
    """The Jaccard similarity to expect of two sets of so many tokens, each drawn at random from `total` ones.

    Σ_i P(i) · i / (ours + theirs − i), where the number i of shared tokens has a hypergeometric distribution. NaN
    where both sets are empty, as the similarity itself.

    >>> chance_overlap(4, 1, 1), round(chance_overlap(1000, 250, 250), 3)
    (0.25, 0.143)
    """
    if not ours + theirs:
        return float("nan")
    shared = np.arange(max(0, ours + theirs - total), min(ours, theirs) + 1)
    return float(hypergeom.pmf(shared, total, ours, theirs) @ (shared / (ours + theirs - shared)))


def selected(explanation: Explanation, fraction: float) -> BoolArray:
    """The content tokens that an explanation selects, or the best fraction of them by its scores, [T]."""
    if isinstance(explanation.body, Scores):
        explanation = top(explanation, fraction=fraction)
    assert isinstance(explanation.body, Selection)
    return explanation.body.keep & explanation.content
