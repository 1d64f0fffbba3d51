"""Plausibility: do explanations point at the words that people marked?

The measures of ERASER (DeYoung et al., ACL 2020), one number per explanation, per word: scores or selections of pieces
are pooled to words by character offsets, and `gold` holds a `Selection` of the words that people marked. Of links
between two texts, the words at the ends of those that are kept count as selected. All measures are NaN where there is
no gold explanation, where people marked no word, where a score is NaN, and for links of which none was to be kept.

AUROC and the precision-recall curve are our own few lines because scikit-learn takes about a millisecond a call; the
tests hold them against it.
"""

# ruff: noqa: ARG001 - every metric takes the model, also those that do not ask it

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, FloatArray, Scores, Selection, Token
from rationales.explanation.views import Pool, linked, token_scores, top, words
from rationales.metrics.base import AbsoluteOption, Golds, PoolOption, metric, sized

FractionOption: TypeAlias = Annotated[
    float | None, "share of the words that scores select, best first; a selection is taken as it is"
]
Tokens: TypeAlias = tuple[Token, ...]


@metric("token_precision", best="high", bodies=(Selection, Scores, Alignment), needs=("gold",))
def token_precision(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    fraction: FractionOption = None,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The share of the selected words that people marked.

    |S ∩ G| / |S| for the selected words S and the marked words G (DeYoung et al., 2020); as there, 0 where nothing is
    selected.
    """

    def precision(keep: BoolArray, marked: BoolArray, _: Tokens) -> float:
        return float((keep & marked).sum() / max(keep.sum(), 1))

    return _hard(precision, explanations, gold, fraction, pool, absolute)


@metric("token_recall", best="high", bodies=(Selection, Scores, Alignment), needs=("gold",))
def token_recall(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    fraction: FractionOption = None,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The share of the words people marked that is selected.

    |S ∩ G| / |G| for the selected words S and the marked words G (DeYoung et al., 2020).
    """

    def recall(keep: BoolArray, marked: BoolArray, _: Tokens) -> float:
        return float((keep & marked).sum() / marked.sum())

    return _hard(recall, explanations, gold, fraction, pool, absolute)


@metric("token_f1", best="high", bodies=(Selection, Scores, Alignment), needs=("gold",))
def token_f1(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    fraction: FractionOption = None,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The harmonic mean of token precision and token recall.

    2 |S ∩ G| / (|S| + |G|) for the selected words S and the marked words G (DeYoung et al., 2020).
    """

    def f1(keep: BoolArray, marked: BoolArray, _: Tokens) -> float:
        return float(2 * (keep & marked).sum() / (keep.sum() + marked.sum()))

    return _hard(f1, explanations, gold, fraction, pool, absolute)


@metric("iou_f1", best="high", bodies=(Selection, Scores, Alignment), needs=("gold",))
def iou_f1(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    threshold: Annotated[float, "least overlap of two spans that match, from 0.5 to 1"] = 0.5,
    fraction: FractionOption = None,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """How many selected spans match a span that people marked, as an F1.

    A span is a longest run of words within one text. A selected span s matches if max_g |s ∩ g| / |s ∪ g| ≥ threshold
    over the marked spans g; with m matches among p selected and q marked spans, precision is m / p, recall m / q, and
    F1 = 2m / (p + q) (DeYoung et al., 2020). From 0.5 on a marked span cannot be matched twice; a lower threshold is
    refused because recall could then pass 1.
    """
    if not 0.5 <= threshold <= 1:
        raise InputError(f"iou_f1: threshold must be from 0.5 to 1, got {threshold}")

    def f1(keep: BoolArray, marked: BoolArray, tokens: Tokens) -> float:
        segments = np.array([token.segment for token in tokens])
        selected, true = _spans(keep, segments), _spans(marked, segments)
        starts = np.maximum(selected[:, None, 0], true[None, :, 0])
        ends = np.minimum(selected[:, None, 1], true[None, :, 1])
        shared = np.maximum(ends - starts, 0)
        lengths = np.diff(selected) + np.diff(true).T  # [p, q]
        matches = (shared / (lengths - shared) >= threshold).any(axis=1).sum()
        return float(2 * matches / (len(selected) + len(true)))

    return _hard(f1, explanations, gold, fraction, pool, absolute)


@metric("auroc", best="high", bodies=(Scores,), needs=("gold",))
def auroc(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The chance that a word people marked scores higher than one they did not mark; 0.5 is chance.

    P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2, the area under the ROC curve (DeYoung et al., 2020). Also NaN where people marked
    every word.
    """

    def area(scores: FloatArray, marked: BoolArray) -> float:
        positive, negative = int(marked.sum()), int((~marked).sum())
        if negative == 0:
            return np.nan
        return float((rankdata(scores)[marked].sum() - positive * (positive + 1) / 2) / (positive * negative))

    return _soft(area, explanations, gold, pool, absolute)


@metric("auprc", best="high", bodies=(Scores,), needs=("gold",))
def auprc(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The area under the precision-recall curve of the scores, its points joined by straight lines.

    Σ_i (R_i − R_{i−1}) (P_i + P_{i−1}) / 2 over the distinct scores, highest first, from R_0 = 0, P_0 = 1
    (DeYoung et al., 2020). Straight lines flatter scores with many ties: constant scores get (1 + share marked) / 2.
    `average_precision` does not join the points.
    """

    def area(scores: FloatArray, marked: BoolArray) -> float:
        precision, recall = _curve(scores, marked)
        return float(np.trapezoid(precision, recall))

    return _soft(area, explanations, gold, pool, absolute)


@metric("average_precision", best="high", bodies=(Scores,), needs=("gold",))
def average_precision(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    pool: PoolOption = "sum",
    absolute: AbsoluteOption = False,
) -> FloatArray:
    """The mean precision at the words people marked, ranked by score.

    Σ_i (R_i − R_{i−1}) P_i over the distinct scores, highest first (DeYoung et al., 2020). Also NaN where people marked
    every word, which ERASER leaves out.
    """

    def area(scores: FloatArray, marked: BoolArray) -> float:
        precision, recall = _curve(scores, marked)
        return np.nan if marked.all() else float(np.diff(recall) @ precision[1:])

    return _soft(area, explanations, gold, pool, absolute)


def _hard(
    measure: Callable[[BoolArray, BoolArray, Tokens], float],
    explanations: Sequence[Explanation],
    gold: Golds | None,
    fraction: float | None,
    pool: Pool,
    absolute: bool,
) -> FloatArray:
    """`measure(selected, marked, words)` for each explanation; scores select their best words."""
    if fraction is None and any(isinstance(explanation.body, Scores) for explanation in explanations):
        raise InputError(
            "selected words are compared with marked words, and scores select none by themselves; say how many count "
            "with fraction=… (ERASER takes as much as people marked on average in the data set), or turn the scores "
            "into selections first, for instance with explanation.top(fraction=0.2)"
        )

    def of_words(explanation: Explanation, marked: BoolArray) -> float:
        if isinstance(explanation.body, Scores):
            explanation = top(explanation, fraction=fraction)
        assert isinstance(explanation.body, Selection)
        return measure(explanation.body.keep, marked, explanation.tokens)

    return _per_word(of_words, explanations, gold, pool, absolute)


def _soft(
    measure: Callable[[FloatArray, BoolArray], float],
    explanations: Sequence[Explanation],
    gold: Golds | None,
    pool: Pool,
    absolute: bool,
) -> FloatArray:
    """`measure(scores, marked)` for each explanation."""

    def of_words(explanation: Explanation, marked: BoolArray) -> float:
        return measure(token_scores(explanation), marked)

    return _per_word(of_words, explanations, gold, pool, absolute)


def _per_word(
    measure: Callable[[Explanation, BoolArray], float],
    explanations: Sequence[Explanation],
    gold: Golds | None,
    pool: Pool,
    absolute: bool,
) -> FloatArray:
    """`measure(explanation per word, marked words)` for each explanation, NaN where it is undefined."""
    assert gold is not None  # the metric has checked it
    values = np.full(len(explanations), np.nan)
    for place, (explanation, human) in enumerate(zip(explanations, gold, strict=True)):
        if human is None:
            continue
        if isinstance(explanation.body, Alignment):
            if explanation.body.keep is None:
                continue
            explanation = linked(explanation)
        explanation = sized(words(explanation, pool), absolute)
        marked = _marked(human, explanation.tokens)
        if marked.any() and not np.isnan(token_scores(explanation)).any():
            values[place] = measure(explanation, marked)
    return values


def _marked(human: Explanation, tokens: Tokens) -> BoolArray:
    """The words that people marked; gold explanations mostly come per word, and then need no second pooling."""
    body = human.body if human.tokens == tokens else words(human).body
    if not isinstance(body, Selection):
        raise InputError(
            f"gold must select the words people marked, got {type(body).__name__.lower()} for {human.id!r}; "
            f"rationales.data.gold.gold_selection makes the selection of an example"
        )
    return body.keep


def _spans(keep: BoolArray, segments: NDArray[np.int_]) -> NDArray[np.int_]:
    """The longest runs of kept words within one text as [start, end) pairs, [n, 2]."""
    broken = np.append(True, segments[1:] != segments[:-1])
    starts = keep & (broken | ~np.append(False, keep[:-1]))
    ends = keep & (np.append(broken[1:], True) | ~np.append(keep[1:], False))
    return np.stack([np.flatnonzero(starts), np.flatnonzero(ends) + 1], axis=1)


def _curve(scores: FloatArray, marked: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of the words down to each distinct score, highest first, after the point (1, 0)."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # words of equal score come in together
    found = np.cumsum(marked[order])[last]
    return np.append(1.0, found / (last + 1)), np.append(0.0, found / marked.sum())
