"""Do the links of an explanation join the words that people linked?

`gold` holds the links of people, on words (`rationales.data.gold_alignment`). Explanations of pieces are read per word:
a link of words is kept if one of their pieces' links is. All are NaN where there is no gold explanation, where people
linked no words, and for weights without kept links. Jiang et al. (2021), *Alignment Rationale for Natural Language
Inference*, measure by them on pairs of sentences that differ in one phrase.
"""

# ruff: noqa: ARG001 - every metric takes the model, also those that do not ask it

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import label

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, FloatArray
from rationales.explanation.views import words
from rationales.metrics.base import Golds, metric
from rationales.metrics.links import Moved, alignment, moved


@metric("alignment_f1", best="high", bodies=(Alignment,), needs=("gold",), gold="alignment")
def alignment_f1(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """How well the kept links match those of people, as an F1.

    2 |K ∩ G| / (|K| + |G|) for the kept links K and those of people G, as for words (DeYoung et al., 2020); 0 where
    nothing is kept.
    """
    return _compared(_f1, explanations, gold)


@metric("largest_alignment_f1", best="high", bodies=(Alignment,), needs=("model", "gold"), gold="alignment")
def largest_alignment_f1(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """How well the one alignment that counts most for the model matches the links of people, as an F1.

    2 |A ∩ G| / (|A| + |G|) for the links of people G and A = argmax_A ‖M(x) - M^{K∖A}(x)‖₂ over the alignments A in the
    kept links K: those that hang together by rows and columns. M are the logits; the first of equals is taken. The
    paper's Max-F1 (Jiang et al., 2021). 0 where nothing is kept.
    """

    def without_one(body: Alignment) -> list[BoolArray]:
        return [] if body.keep is None else [body.keep & ~part for part in _parts(body.keep)]

    largest = [_largest(found) for found in moved(model, explanations, without_one)]
    return _compared(_f1, largest, gold)


@metric("alignment_included", best="high", bodies=(Alignment,), needs=("gold",), gold="alignment")
def alignment_included(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """Whether all links of people are kept: 1 or 0.

    [G ⊆ K] for the kept links K and those of people G. The paper's Exact-Inc (Jiang et al., 2021); keeping every link
    is enough, so read it beside `compactness`.
    """
    return _compared(lambda kept, true: float(kept[true].all()), explanations, gold)


@metric("alignment_recall", best="high", bodies=(Alignment,), needs=("gold",), gold="alignment")
def alignment_recall(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """The share of the links of people that is kept.

    |K ∩ G| / |G| for the kept links K and those of people G. The paper's Soft-Inc (Jiang et al., 2021).
    """
    return _compared(lambda kept, true: float(kept[true].mean()), explanations, gold)


def _f1(kept: BoolArray, true: BoolArray) -> float:
    return float(2 * (kept & true).sum() / (kept.sum() + true.sum()))


def _compared(
    measure: Callable[[BoolArray, BoolArray], float], explanations: Sequence[Explanation], gold: Golds | None
) -> FloatArray:
    """`measure(kept links, links of people)` on the words of each explanation, NaN where it is undefined."""
    assert gold is not None  # the metric has checked it
    values = np.full(len(explanations), np.nan)
    for place, (explanation, human) in enumerate(zip(explanations, gold, strict=True)):
        if human is None or alignment(explanation).keep is None:
            continue
        kept, true = alignment(words(explanation)).keep, _linked(human)
        if kept is not None and true.any():
            values[place] = measure(kept, true)
    return values


def _linked(human: Explanation) -> BoolArray:
    """The words that people linked, [P, H]."""
    body = words(human).body
    if not isinstance(body, Alignment) or body.keep is None:
        raise InputError(
            f"gold must say which words people linked, got {type(body).__name__.lower()} for {human.id!r}; "
            "rationales.data.gold_alignment makes the alignment of an example"
        )
    return body.keep


def _parts(keep: BoolArray) -> list[BoolArray]:
    """The kept links in parts that hang together by rows and columns, [P, H] each, in the order of their first link."""
    numbers, count = label(keep)
    return [numbers == number for number in range(1, count + 1)]


def _largest(found: Moved) -> Explanation:
    """The explanation with only the part whose loss moves the logits most; nothing kept where they are no numbers."""
    body = alignment(found.explanation)
    if body.keep is None or not len(found.distances):
        return found.explanation
    if not np.isfinite(found.distances).all():
        return found.explanation.with_body(Alignment(body.weights))
    return found.explanation.with_body(Alignment(body.weights, _parts(body.keep)[int(found.distances.argmax())]))
