"""What tables about rationalizers have in common: how a trained model is measured against people's marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rationales.data.example import Example
from rationales.explanation.types import BoolArray, Explanation, Selection
from rationales.models.rationalizer import Rationalizer


class Scored(NamedTuple):
    """All texts taken together: what is selected, what people marked, and their overlap."""

    sparsity: float
    accuracy: float
    precision: float
    recall: float
    f1: float
    marked: float  # share of the tokens that people marked


def scored(model: Rationalizer, examples: Sequence[Example]) -> Scored:
    """Select, predict, and compare with the tokens that people marked, summed over all texts.

    Tokens beyond the length at which the model cuts texts count neither as selected nor as marked.
    """
    explanations = model.explain(model.encode(examples, warn=False))
    both = chosen = marked = tokens = right = 0
    for example, explanation in zip(examples, explanations, strict=True):
        assert isinstance(explanation.body, Selection)
        keep, gold = explanation.body.keep & explanation.content, marked_tokens(example, explanation)
        both, chosen, marked = both + int((keep & gold).sum()), chosen + int(keep.sum()), marked + int(gold.sum())
        tokens, right = tokens + int(explanation.content.sum()), right + int(explanation.target.index == example.label)
    precision, recall = both / max(chosen, 1), both / max(marked, 1)
    f1 = 2 * both / max(chosen + marked, 1)
    return Scored(chosen / tokens, right / len(examples), precision, recall, f1, marked / tokens)


def marked_tokens(example: Example, explanation: Explanation) -> BoolArray:
    """The tokens of an explanation that overlap with what people marked, [T]."""
    keep = np.zeros(len(explanation.tokens), dtype=np.bool_)
    for segment, spans in enumerate(example.rationale or ()):
        for start, end in spans:
            keep |= [
                token.segment == segment and token.start < end and start < token.end for token in explanation.tokens
            ]
    return keep & explanation.content
