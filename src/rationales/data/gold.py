"""What people marked or wrote, in the same form as any other explanation: method "human", one token per word."""

from __future__ import annotations

import numpy as np

from rationales.data.example import Example
from rationales.explanation.types import (
    Alignment,
    Body,
    BoolArray,
    Explanation,
    Provenance,
    Selection,
    Sentence,
    Target,
    Token,
)
from rationales.explanation.views import word_tokens


def _marked(tokens: tuple[Token, ...], segment: int, start: int, end: int) -> BoolArray:
    return np.array([t.segment == segment and t.start < end and start < t.end for t in tokens], dtype=np.bool_)


def gold_selection(example: Example) -> Explanation | None:
    """The words that people marked, or None if nobody was asked."""
    if example.rationale is None:
        return None
    tokens = word_tokens(example.texts)
    keep = np.zeros(len(tokens), dtype=np.bool_)
    for segment, spans in enumerate(example.rationale):
        for start, end in spans:
            keep |= _marked(tokens, segment, start, end)
    return _human(example, tokens, Selection(keep))


def gold_alignment(example: Example) -> Explanation | None:
    """The words that people linked, or None if nobody was asked."""
    if example.alignment is None:
        return None
    tokens = word_tokens(example.texts)
    left = np.array([token.segment == 0 for token in tokens], dtype=np.bool_)
    keep = np.zeros((int(left.sum()), int((~left).sum())), dtype=np.bool_)
    for first, second in example.alignment:
        keep |= np.outer(_marked(tokens, 0, *first)[left], _marked(tokens, 1, *second)[~left])
    return _human(example, tokens, Alignment(keep.astype(np.float64), keep))


def gold_sentences(example: Example) -> tuple[Explanation, ...]:
    """The reasons that people wrote."""
    tokens = word_tokens(example.texts)
    return tuple(_human(example, tokens, Sentence(text)) for text in example.sentences)


def _human(example: Example, tokens: tuple[Token, ...], body: Body) -> Explanation:
    index = example.label if isinstance(example.label, int) else -1
    target = Target(index, "" if example.label is None else str(example.label))
    return Explanation(example.id, example.texts, tokens, target, body, Provenance("human"))
