"""Links between words → links between phrases: what an alignment says, as people would say it.

Every rectangle of kept cells links a phrase of the first text to a phrase of the second (Jiang et al., 2021). A patch
of neighbouring cells that is a rectangle is one pair of phrases. Any other patch is covered by rectangles that cannot
be made larger, each time the one that covers most of what is not covered yet; so phrases may share words.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, Token
from rationales.explanation.views import pooled_links, word_tokens

Span: TypeAlias = tuple[int, int]
"""From the first to behind the last."""
Rectangle: TypeAlias = tuple[Span, Span]
"""Rows and columns."""


@dataclass(frozen=True)
class PhrasePair:
    """A phrase of the first text linked to one of the second.

    `rows` and `columns` are their words, `first` and `second` their characters; `weight` is the mean of the links.
    """

    rows: Span
    columns: Span
    first: Span
    second: Span
    weight: float


def linked_words(explanation: Explanation) -> Explanation:
    """An alignment per word. Of a kept pair of words the weight is the mean of its kept links, else the sum of all.

    So what was not kept does not speak for or against what was, and long words are not stronger than short ones.
    """
    given = _alignment(explanation)
    if explanation.tokens == word_tokens(explanation.texts):
        return explanation
    if given.keep is None:
        return explanation.words()
    weights = pooled_links(explanation, given.weights)
    total, count = (pooled_links(explanation, np.where(given.keep, values, 0.0)) for values in (given.weights, 1.0))
    with np.errstate(all="ignore"):  # infinities may meet
        body = Alignment(np.where(count > 0, total / count, weights), count > 0)
    return replace(explanation, tokens=word_tokens(explanation.texts), body=body)


def _alignment(explanation: Explanation) -> Alignment:
    if isinstance(explanation.body, Alignment):
        return explanation.body
    kind = type(explanation.body).__name__.lower()
    raise InputError(f"links between two texts are wanted, got {kind} ({explanation.id!r})")


def sides(words: Explanation) -> tuple[list[Token], list[Token]]:
    """The tokens of the first text and those of the second."""
    first, second = ([token for token in words.tokens if token.segment == side] for side in (0, 1))
    return first, second


def phrase_pairs(explanation: Explanation) -> list[PhrasePair]:
    """The kept links of an alignment as pairs of phrases, in the order of the first text."""
    words = linked_words(explanation)
    keep = _alignment(words).keep
    if keep is None:
        method = explanation.provenance.method
        raise InputError(f"{method} weighs links and keeps none ({explanation.id!r}); take strongest_links instead")
    return _pairs(words, rectangles(keep))


def strongest_links(explanation: Explanation, most: int) -> list[PhrasePair]:
    """The pairs of words with the largest weights in either direction, strongest first; no weight of 0 or NaN."""
    words = linked_words(explanation)
    weights = _alignment(words).weights
    sizes = np.where(np.isnan(weights), 0.0, np.abs(weights))
    order = np.argsort(-sizes, axis=None, kind="stable")[:most].tolist()
    places = [divmod(place, sizes.shape[1]) for place in order if sizes.flat[place] > 0]
    return _pairs(words, [((row, row + 1), (column, column + 1)) for row, column in places])


def _pairs(words: Explanation, found: Iterable[Rectangle]) -> list[PhrasePair]:
    first, second = sides(words)
    weights = _alignment(words).weights
    cells = weights.tolist()
    pairs = []
    for rows, columns in found:
        weight = cells[rows[0]][columns[0]]
        if rows[1] - rows[0] > 1 or columns[1] - columns[0] > 1:
            with np.errstate(all="ignore"):
                weight = float(weights[slice(*rows), slice(*columns)].mean())
        pairs.append(PhrasePair(rows, columns, _characters(first, rows), _characters(second, columns), weight))
    return pairs


def _characters(tokens: Sequence[Token], words: Span) -> Span:
    return tokens[words[0]].start, tokens[words[1] - 1].end


def rectangles(keep: BoolArray) -> list[Rectangle]:
    """Rectangles that cover what is kept [R, C] and nothing else, from top to bottom; none lies inside another.

    >>> rectangles(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool))
    [((0, 2), (0, 2)), ((2, 3), (2, 3))]
    >>> rectangles(np.array([[1, 0], [1, 1]], dtype=bool))
    [((0, 2), (0, 1)), ((1, 2), (0, 2))]
    """
    open_cells = [sum([1 << column for column, kept in enumerate(row) if kept]) for row in keep.tolist()]  # as bits

    def bits(columns: Span) -> int:
        return (1 << columns[1]) - (1 << columns[0])

    def gain(one: Rectangle) -> int:
        rows, columns = one
        inside = bits(columns)
        return sum([(row & inside).bit_count() for row in open_cells[slice(*rows)]])

    queue = [((rows[0] - rows[1]) * (columns[1] - columns[0]), (rows, columns)) for rows, columns in _largest(keep)]
    heapq.heapify(queue)
    chosen: list[Rectangle] = []
    while queue:  # what a rectangle covers alone only shrinks, so the first that is up to date is the best
        promised, one = heapq.heappop(queue)
        now = gain(one)
        if now == -promised:
            chosen.append(one)
            for row in range(*one[0]):
                open_cells[row] &= ~bits(one[1])
        elif now:
            heapq.heappush(queue, (-now, one))
    return sorted(chosen)


def _largest(keep: BoolArray) -> Iterator[Rectangle]:
    """The rectangles of kept cells that cannot grow, each once.

    Row by row: of the columns of kept cells that end in the row, those that are wide as they are high. One that could
    also grow downwards is left to the rows below.
    """
    rows, columns = keep.shape
    cells = [*keep.tolist(), [False] * columns]
    heights = [0] * columns
    for row in range(rows):
        heights = [height + 1 if kept else 0 for height, kept in zip(heights, cells[row], strict=True)]
        below = [0, *accumulate(cells[row + 1])]
        rising: list[tuple[int, int]] = []  # (from which column on, the height it has been)
        for column, height in enumerate([*heights, 0]):
            start = column
            while rising and rising[-1][1] > height:
                start, high = rising.pop()
                if below[column] - below[start] < column - start:
                    yield (row + 1 - high, row + 1), (start, column)
            if height and (not rising or rising[-1][1] < height):
                rising.append((start, height))
