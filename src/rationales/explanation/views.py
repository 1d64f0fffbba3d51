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
from typing import Literal, TypeAlias

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import Alignment, BoolArray, Explanation, FloatArray, Scores, Selection, Token

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
    return tuple(
        Token(text[start:end], segment, start, end)
        for segment, text in enumerate(texts)
        for start, end in word_spans(text)
    )


def _membership(tokens: Sequence[Token], groups: Sequence[Token]) -> list[int]:
    """For each token the group it overlaps (the first of several), or -1: special tokens and bare white space."""
    by_segment: dict[int, list[tuple[int, int, int]]] = {}
    for number, group in enumerate(groups):
        if not group.special and group.start < group.end:  # an empty group overlaps nothing
            by_segment.setdefault(group.segment, []).append((group.end, group.start, number))
    for spans in by_segment.values():
        spans.sort()
    members = [-1] * len(tokens)
    for index, token in enumerate(tokens):
        spans = by_segment.get(token.segment, [])
        place = bisect_right(spans, (token.start, math.inf))  # the first group that ends behind the token's start
        if place < len(spans) and spans[place][1] < token.end:
            members[index] = spans[place][2]
    return members


def words(explanation: Explanation, pool: Pool = "sum") -> Explanation:
    """The explanation per word: pieces are pooled by sum, mean or max; a selection keeps a word if it keeps a piece.

    Special tokens drop out. A word that no token covers (cut by truncation) scores 0 and is not selected. Standard
    errors do not survive, since pieces are not independent.
    """
    if pool not in ("sum", "mean", "max"):
        raise InputError(f"pool must be sum, mean or max, got {pool!r}")
    groups = word_tokens(explanation.texts)
    members = np.array(_membership(explanation.tokens, groups), dtype=int)
    match explanation.body:
        case Scores(values=values):
            pooled = _pooled(values, members, len(groups), pool)
            return replace(explanation, tokens=groups, body=Scores(pooled))
        case Selection(keep=keep):
            selected = np.zeros(len(groups), dtype=np.bool_)
            selected[members[keep & (members >= 0)]] = True
            return replace(explanation, tokens=groups, body=Selection(selected))
        case Alignment() as body:
            return replace(explanation, tokens=groups, body=_aligned_words(explanation, body, groups, members, pool))
        case body:
            return replace(explanation, tokens=groups, body=body)


def _pooled(values: FloatArray, members: np.ndarray, size: int, pool: Pool) -> FloatArray:
    inside = members >= 0
    values, members = values[inside], members[inside]
    pieces = np.bincount(members, minlength=size)
    if pool == "max":
        out = np.full(size, -np.inf)
        np.maximum.at(out, members, values)
        return np.where(pieces > 0, out, 0.0)
    total: FloatArray = np.bincount(members, weights=values, minlength=size).astype(np.float64)
    return total / np.maximum(pieces, 1) if pool == "mean" else total


def _aligned_words(
    explanation: Explanation, body: Alignment, groups: tuple[Token, ...], members: np.ndarray, pool: Pool
) -> Alignment:
    segments = np.array([token.segment for token in explanation.tokens])
    sizes = [sum(group.segment == side for group in groups) for side in (0, 1)]
    rows, columns = members[segments == 0], members[segments == 1] - sizes[0]  # below 0: in no word
    by_column = np.zeros((len(rows), sizes[1]))
    for row, values in enumerate(body.weights):
        by_column[row] = _pooled(values, columns, sizes[1], pool)
    weights = np.zeros((sizes[0], sizes[1]))
    for column, values in enumerate(by_column.T):
        weights[:, column] = _pooled(values, rows, sizes[0], pool)
    if body.keep is None:
        return Alignment(weights)
    keep = np.zeros((sizes[0], sizes[1]), dtype=np.bool_)
    for row, column in zip(*np.nonzero(body.keep), strict=True):
        if rows[row] >= 0 and columns[column] >= 0:
            keep[rows[row], columns[column]] = True
    return Alignment(weights, keep)


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

    Special tokens get 0. All-zero scores stay zero.
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
    return explanation.with_body(Scores(values / size, None if error is None else error / size))


def projected(explanation: Explanation, tokens: Sequence[Token]) -> Explanation:
    """The explanation on another tokenisation of the same texts.

    Each new token takes the score of the token it overlaps (the first of several), 0 where there is none. So
    scores of words, or of another tool's tokens, enter the metrics of a model with its own pieces.
    """
    if tuple(tokens) == explanation.tokens:
        return explanation
    members = _membership(tokens, explanation.tokens)
    values = token_scores(explanation)
    taken = np.array([values[member] if member >= 0 else 0.0 for member in members])
    body = Selection(taken > 0) if isinstance(explanation.body, Selection) else Scores(taken)
    return replace(explanation, tokens=tuple(tokens), body=body)
