"""Other ways to look at an explanation: per word, the best tokens, normalised, above a threshold.

Views are pure: the explanation they are given stays as it is. Words are found by character offsets, never by
a tokenizer's own idea of a word, so a word of one text cannot be merged with a word of the other, and
explanations of different tokenizers meet on the same words.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rationales.errors import InputError
from rationales.explanation.types import (
    Alignment,
    Body,
    BoolArray,
    Explanation,
    FloatArray,
    Scores,
    Selection,
    Token,
)

Pool: TypeAlias = Literal["sum", "mean", "max"]

# Runs of non-space characters; where scripts put no spaces between words (Han, kana, Thai …) each character by itself.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of the words of a text.

    >>> word_spans("so good, 好的")
    [(0, 2), (3, 8), (9, 10), (10, 11)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def word_tokens(texts: Sequence[str]) -> tuple[Token, ...]:
    """The words of some texts as tokens."""
    return _word_tokens(tuple(texts))


@lru_cache(maxsize=2)  # they are asked for several times while an example is looked at
def _word_tokens(texts: tuple[str, ...]) -> tuple[Token, ...]:
    return tuple(
        Token(text[start:end], segment, start, end)
        for segment, text in enumerate(texts)
        for start, end in word_spans(text)
    )


def kept_spans(explanation: Explanation) -> list[tuple[int, int, int]]:
    """What a selection keeps, as (segment, start, end); tokens that follow each other are one span.

    These are its own tokens: of "soup," it may keep the comma alone, which its words would not show.
    """
    assert isinstance(explanation.body, Selection)
    spans: list[tuple[int, int, int]] = []
    last = -2  # the place of the token that was kept last
    for place, (token, kept) in enumerate(zip(explanation.tokens, explanation.body.keep.tolist(), strict=True)):
        if not kept or token.special:
            continue
        if last == place - 1 and spans[-1][0] == token.segment:
            spans[-1] = (token.segment, spans[-1][1], token.end)
        else:
            spans.append((token.segment, token.start, token.end))
        last = place
    return spans


Overlaps: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Pairs of (token, group) that share characters: the numbers of the tokens, and of the groups, [P] each."""


def _overlaps(tokens: Sequence[Token], groups: Sequence[Token]) -> Overlaps:
    """Which tokens overlap which groups, in the order of the tokens. Special tokens and white space overlap none."""
    by_segment: dict[int, list[tuple[int, int, int]]] = {}
    for number, group in enumerate(groups):
        if not group.special and group.start < group.end:  # an empty group overlaps nothing
            by_segment.setdefault(group.segment, []).append((group.end, group.start, number))
    for spans in by_segment.values():
        spans.sort()
    pairs: list[tuple[int, int]] = []
    for index, token in enumerate(tokens):
        spans = by_segment.get(token.segment, [])
        place = bisect_right(spans, (token.start, math.inf))  # the first group that ends behind the token's start
        while place < len(spans) and spans[place][1] < token.end:
            pairs.append((index, spans[place][2]))
            place += 1
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def word_numbers(tokens: Sequence[Token], texts: Sequence[str], segment: int) -> list[int]:
    """Which word of a text each of its tokens belongs to: the first of which it covers a part, or that before it.

    >>> word_numbers([Token("so", 0, 0, 2), Token("go", 0, 3, 5), Token("od", 0, 5, 7)], ["so good"], 0)
    [0, 1, 1]
    """
    own = [token for token in tokens if token.segment == segment]
    groups = [Token("", segment, start, end) for start, end in word_spans(texts[segment])]
    covered = dict(zip(*(side[::-1].tolist() for side in _overlaps(own, groups)), strict=True))
    numbers: list[int] = []
    for place in range(len(own)):
        numbers.append(covered.get(place, numbers[-1] if numbers else 0))
    return numbers


def words(explanation: Explanation, pool: Pool = "sum") -> Explanation:
    """The explanation per word: pieces are pooled by sum, mean or max; a selection keeps a word if it keeps a piece.

    Special tokens drop out. A token that covers several words (as some do in scripts without spaces) shares its score
    among them when scores are summed. A word that no token covers (cut by truncation) scores 0 and is not selected.
    Standard errors do not survive, since pieces are not independent.
    """
    if pool not in ("sum", "mean", "max"):
        raise InputError(f"pool must be sum, mean or max, got {pool!r}")
    groups = word_tokens(explanation.texts)
    body: Body
    match explanation.body:
        case Scores(values=values):
            body = Scores(_pooled(values, _overlaps(explanation.tokens, groups), len(groups), pool))
        case Selection(keep=keep):
            tokens, words = _overlaps(explanation.tokens, groups)
            selected = np.zeros(len(groups), dtype=np.bool_)
            selected[words[keep[tokens]]] = True
            body = Selection(selected)
        case Alignment(weights=weights, keep=kept):
            linked = None if kept is None else _kept_pairs(explanation, kept)
            body = Alignment(pooled_links(explanation, weights, pool), linked)
        case body:
            pass
    return replace(explanation, tokens=groups, body=body)


def _pooled(values: FloatArray, overlaps: Overlaps, size: int, pool: Pool) -> FloatArray:
    """The values of tokens [T, …] pooled to groups [size, …]; in a sum, a token shares its value among its groups."""
    tokens, groups = overlaps
    given = values[tokens]
    if pool == "sum":
        given = given / np.bincount(tokens, minlength=1)[tokens].reshape(-1, *[1] * (values.ndim - 1))
    pieces = np.bincount(groups, minlength=size).reshape(-1, *[1] * (values.ndim - 1))
    if pool == "max":
        out = np.full((size, *values.shape[1:]), -np.inf)
        with np.errstate(invalid="ignore"):  # the largest of NaN and others is NaN, which needs no warning
            np.maximum.at(out, groups, given)
        return np.where(pieces > 0, out, 0.0)
    total = _added(given, groups, size)
    return total / np.maximum(pieces, 1) if pool == "mean" else total


@lru_cache(maxsize=4)
def _sides(texts: tuple[str, ...], tokens: tuple[Token, ...]) -> tuple[tuple[Overlaps, int], tuple[Overlaps, int]]:
    """Of the first and of the second text, which tokens overlap which words, and how many words there are.

    What several methods say of a pair comes one after another, and this is most of the work of looking at its words.
    """
    groups = word_tokens(texts)

    def side(segment: int) -> tuple[Overlaps, int]:
        own = [group for group in groups if group.segment == segment]
        return _overlaps([token for token in tokens if token.segment == segment], own), len(own)

    return side(0), side(1)


def pooled_links(explanation: Explanation, values: FloatArray, pool: Pool = "sum") -> FloatArray:
    """A value for each link of an alignment [T0, T1] → for each pair of words, pooled from its pieces."""
    (rows, first), (columns, second) = _sides(explanation.texts, explanation.tokens)
    return _pooled(_pooled(values, rows, first, pool).T, columns, second, pool).T


def _kept_pairs(explanation: Explanation, keep: BoolArray) -> BoolArray:
    """The pairs of words of which a link is kept, from the kept links [T0, T1]."""
    (rows, first), (columns, second) = _sides(explanation.texts, explanation.tokens)
    pieces = _taken(keep.astype(np.float64), rows[::-1], first)
    return _taken(pieces.T, columns[::-1], second).T > 0


def linked(explanation: Explanation) -> Explanation:
    """The tokens that a kept link begins or ends at, as a `Selection`."""
    body = explanation.body
    if not isinstance(body, Alignment) or body.keep is None:
        raise InputError(f"links that are kept are wanted, got {_without_links(body)} ({explanation.id!r})")
    segments = np.array([token.segment for token in explanation.tokens], dtype=np.int64)
    keep = np.zeros(len(segments), dtype=np.bool_)
    for side in (0, 1):
        keep[segments == side] = body.keep.any(axis=1 - side)
    return explanation.with_body(Selection(keep))


def _without_links(body: Body) -> str:
    return "weights that keep none" if isinstance(body, Alignment) else type(body).__name__.lower()


def token_scores(explanation: Explanation) -> FloatArray:
    """The scores of an explanation, [T]; a selection counts as 1 and 0."""
    match explanation.body:
        case Scores(values=values):
            return values
        case Selection(keep=keep):
            return keep.astype(np.float64)
        case body:
            raise InputError(f"scores per token are wanted, got {type(body).__name__.lower()} ({explanation.id!r})")


def count(fraction: float, total: int) -> int:
    """⌈fraction · total⌉, safe against 0.1 · 30 = 3.0000000000000004."""
    return min(total, math.ceil(round(fraction * total, 9)))


def ranked(explanation: Explanation) -> np.ndarray:
    """Indices of the content tokens, best first; ties keep the order of the text."""
    content = np.flatnonzero(explanation.content)
    return content[np.argsort(-token_scores(explanation)[content], kind="stable")]


def top(explanation: Explanation, k: int | None = None, *, fraction: float | None = None) -> Explanation:
    """The k best content tokens, or ⌈fraction · n⌉ of the n, as a `Selection`."""
    if (k is None) == (fraction is None):
        raise InputError("give either k or fraction")
    order = ranked(explanation)
    if fraction is not None:
        if not 0 <= fraction <= 1:
            raise InputError(f"fraction must be between 0 and 1, got {fraction}")
        k = count(fraction, len(order))
    assert k is not None
    if k < 0:
        raise InputError(f"k must not be negative, got {k}")
    keep = np.zeros(len(explanation.tokens), dtype=np.bool_)
    keep[order[:k]] = True
    return explanation.with_body(Selection(keep))


def above(explanation: Explanation, threshold: float) -> Explanation:
    """The content tokens whose score is greater than the threshold, as a `Selection`."""
    keep: BoolArray = (token_scores(explanation) > threshold) & explanation.content
    return explanation.with_body(Selection(keep))


def normalised(explanation: Explanation, how: Literal["sum", "max"] = "sum") -> Explanation:
    """Scores divided by the sum or the maximum of their absolute values over content tokens; signs stay.

    Special tokens get 0. All-zero scores stay zero; an infinite one, which nothing can be a share of, becomes NaN.
    """
    if how not in ("sum", "max"):
        raise InputError(f"how must be sum or max, got {how!r}")
    if not isinstance(explanation.body, Scores):
        raise InputError(f"only scores can be normalised, got {type(explanation.body).__name__.lower()}")
    values = np.where(explanation.content, explanation.body.values, 0.0)
    size = np.abs(values).sum() if how == "sum" else np.abs(values).max(initial=0.0)
    error = explanation.body.standard_error
    if size == 0:
        return explanation.with_body(Scores(values, error))
    with np.errstate(invalid="ignore"):
        return explanation.with_body(Scores(values / size, None if error is None else error / size))


def projected(explanation: Explanation, tokens: Sequence[Token]) -> Explanation:
    """The explanation on another tokenisation of the same texts.

    Each new token takes the score of the token it overlaps, the sum of several, and 0 where there is none; so does each
    new link, by the tokens at its ends. So scores of words, or of another tool's tokens, enter the metrics of a model
    with its own pieces.
    """
    if tuple(tokens) == explanation.tokens:
        return explanation
    body: Body
    if isinstance(explanation.body, Alignment):
        body = _projected_links(explanation, explanation.body, tokens)
    else:
        taken = _taken(token_scores(explanation), _overlaps(tokens, explanation.tokens), len(tokens))
        body = Selection(taken > 0) if isinstance(explanation.body, Selection) else Scores(taken)
    return replace(explanation, tokens=tuple(tokens), body=body)


def _taken(values: FloatArray, overlaps: Overlaps, size: int) -> FloatArray:
    """What each of `size` new tokens takes of the old ones' values: [T, …] → [size, …]."""
    new, old = overlaps
    return _added(values[old], new, size)


def _added(values: FloatArray, places: NDArray[np.int64], size: int) -> FloatArray:
    """Values [n, …] added up at their places [n] of [size, …]."""
    total = np.zeros((size, *values.shape[1:]))
    with np.errstate(invalid="ignore"):  # ∞ - ∞ is NaN, which needs no warning
        np.add.at(total, places, values)
    return total


def _projected_links(explanation: Explanation, body: Alignment, tokens: Sequence[Token]) -> Alignment:
    sides = [([t for t in tokens if t.segment == s], [t for t in explanation.tokens if t.segment == s]) for s in (0, 1)]
    rows, columns = (_overlaps(new, old) for new, old in sides)
    first, second = (len(new) for new, _ in sides)

    def taken(values: FloatArray) -> FloatArray:
        return _taken(_taken(values, rows, first).T, columns, second).T

    keep = None if body.keep is None else taken(body.keep.astype(np.float64)) > 0
    return Alignment(taken(body.weights), keep)
