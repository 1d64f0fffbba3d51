"""Links between two texts: does the model's answer rest on them, and can a person read them?

An alignment has a weight for each pair of tokens, [P, H], and may keep some of these links. M(x) are the logits of the
model, M^Z(x) those with its attention between the texts multiplied by Z, 1 where a link is left and 0 elsewhere. The
measures are those of Jiang et al. (2021), *Alignment Rationale for Natural Language Inference*, as shares and not in
per cent or per mille. All but `aorc` are NaN for weights without kept links, and all where one of the texts has no
token.
"""

# ruff: noqa: ARG001 - every metric takes the model and what people said, also those that do not ask for it

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, FloatArray
from rationales.metrics.base import Golds, metric
from rationales.metrics.links import Moved, alignment, moved

GRID = tuple(percent / 100 for percent in range(0, 101, 5))


@metric("aorc", best="low", bodies=(Alignment,), needs=("model",))
def aorc(
    model: object,
    explanations: Sequence[Explanation],
    gold: Golds | None = None,
    *,
    grid: Annotated[tuple[float, ...], "shares of the links that are left, those of the largest weights"] = GRID,
) -> FloatArray:
    """How far the model's logits move when only the best links are left, averaged over several shares of them.

    Σ_k ‖M(x) - M^Z(k)(x)‖₂ / K over the K shares of `grid`: Z(k) leaves the k · P · H links of the largest weights,
    rounded to a whole number, ties in the order of the texts. The area over the reservation curve of Jiang et al.
    (2021), whose sum does not say its K; a mean is of the size of their figures. NaN where a weight is.
    """
    if not len(grid) or not all(0 <= share <= 1 for share in grid):
        raise InputError(f"aorc: grid must hold shares from 0 to 1, got {tuple(grid)}")

    def versions(body: Alignment) -> list[BoolArray]:
        weights = body.weights
        if not weights.size or np.isnan(weights).any():
            return []
        places = np.empty(weights.size, dtype=np.int64)
        places[np.argsort(-weights, axis=None, kind="stable")] = np.arange(weights.size)
        return [(places < _rounded(share * weights.size)).reshape(weights.shape) for share in grid]

    return _means(moved(model, explanations, versions))


@metric("fidelity", best="low", bodies=(Alignment,), needs=("model",))
def fidelity(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """How far the model's logits move when only the links that are kept are left.

    ‖M(x) - M^Z(x)‖₂, where Z keeps the links of the explanation (Jiang et al., 2021). 0: the answer rests on them.
    """

    def versions(body: Alignment) -> list[BoolArray]:
        return [] if body.keep is None or not body.keep.size else [body.keep]

    return _means(moved(model, explanations, versions))


@metric("compactness", best="low", bodies=(Alignment,))
def compactness(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """The share of the links that are kept.

    Σ z / (P · H) over all links, z = 1 for those that are kept (Jiang et al., 2021).
    """
    return _of_kept(lambda keep: float(keep.mean()) if keep.size else np.nan, explanations)


@metric("contiguity", best="low", bodies=(Alignment,))
def contiguity(model: object, explanations: Sequence[Explanation], gold: Golds | None = None) -> FloatArray:
    """How ragged the kept links are: the share of the windows of 2 × 2 links that keep just three.

    #{windows with Σ z = 3} / ((P - 1) · (H - 1)). Links between phrases fill rectangles, which have none of these
    (Jiang et al., 2021, who do not say by what they divide). NaN also where a text has one token: there is no window.
    """

    def share(keep: BoolArray) -> float:
        kept = keep.astype(np.int64)
        windows = kept[:-1, :-1] + kept[:-1, 1:] + kept[1:, :-1] + kept[1:, 1:]
        return float((windows == 3).mean()) if windows.size else np.nan

    return _of_kept(share, explanations)


def _of_kept(measure: Callable[[BoolArray], float], explanations: Sequence[Explanation]) -> FloatArray:
    """`measure(kept links)` of each explanation, NaN for weights alone."""
    values = np.full(len(explanations), np.nan)
    for place, explanation in enumerate(explanations):
        if (keep := alignment(explanation).keep) is not None:
            values[place] = measure(keep)
    return values


def _means(found: Sequence[Moved]) -> FloatArray:
    """Over the versions of each explanation, NaN where there are none and where one is no number."""
    values = (item.distances for item in found)
    return np.array([own.mean() if len(own) and np.isfinite(own).all() else np.nan for own in values])


def _rounded(number: float) -> int:
    """To the nearest whole number, halves up; safe against 0.35 · 90 = 31.499999999999996."""
    return math.floor(round(number, 9) + 0.5)
