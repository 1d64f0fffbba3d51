"""Explanations on the tokens of a model, many at once, and the best tokens by each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from rationales.explanation.types import BoolArray, Explanation, FloatArray, Selection
from rationales.explanation.views import count, projected, token_scores
from rationales.models import Batch


@dataclass(frozen=True, eq=False)
class OnTokens:
    """N explanations on the model's own tokens, padded as in its batch of the texts.

    scores     [N, T]  a selection counts as 1 and 0, padding as 0
    selection  [N]     whether an explanation is a selection
    keep       [N, T]  tokens (special ones too), not padding
    content    [N, T]  tokens that belong to a text
    """

    scores: FloatArray
    selection: BoolArray
    keep: BoolArray
    content: BoolArray

    @classmethod
    def of(cls, explanations: Sequence[Explanation], batch: Batch) -> OnTokens:
        """The explanations of a batch's texts; those on other tokens than the model's are projected onto these."""
        onto = [projected(item, source.tokens) for item, source in zip(explanations, batch.sources, strict=True)]
        keep, content = batch.keep.cpu().numpy(), batch.content.cpu().numpy()
        scores = np.zeros(keep.shape)
        scores[keep] = np.concatenate([token_scores(item) for item in onto])
        return cls(scores, np.array([isinstance(item.body, Selection) for item in onto]), keep, content)

    @cached_property
    def defined(self) -> BoolArray:
        """Whether there are tokens to erase and all of them have scores that are numbers, [N]."""
        numbers: BoolArray = ~np.any(np.isnan(self.scores) & self.content, axis=1)
        return np.logical_and(numbers, np.any(self.content, axis=1))

    def best(self, fractions: Sequence[float], absolute: bool) -> BoolArray:
        """The best ⌈fraction · n⌉ of n content tokens for each fraction, [N, V, T]; a selection is itself in each."""
        best = best_tokens(self._places(absolute), self.content, fractions)
        if self.selection.any():
            selected = (self.scores > 0) & self.content
            best[self.selection] = selected[self.selection, None]
        return best

    def best_one(self, absolute: bool) -> BoolArray:
        """The one best token, [N, 1, T]; none in a text without tokens."""
        best: BoolArray = (self._places(absolute) == 0) & self.content
        return best[:, None]

    def _places(self, absolute: bool) -> NDArray[np.int64]:
        return places(np.abs(self.scores), self.content) if absolute else self._signed_places

    @cached_property
    def _signed_places(self) -> NDArray[np.int64]:
        return places(self.scores, self.content)


def places(scores: FloatArray, content: BoolArray) -> NDArray[np.int64]:
    """The place of each token by its score, [N, T]: 0 for the best; ties in the order of the text, content first."""
    order = np.lexsort((-scores, ~content))
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(order.shape[1])[None], axis=1)
    return found


def best_tokens(places: NDArray[np.int64], content: BoolArray, fractions: Sequence[float]) -> BoolArray:
    """The best ⌈fraction · n⌉ of the n content tokens for each fraction: [N, T] twice → [N, V, T]."""
    sizes = np.array([_sizes(tuple(fractions), total) for total in content.sum(1).tolist()])
    return places[:, None] < sizes[:, :, None]


@cache
def _sizes(fractions: tuple[float, ...], total: int) -> list[int]:
    return [count(fraction, total) for fraction in fractions]
