"""Guides made of words: from what is known of word pairs to factors on a model's tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from rationales.data.example import Example, Span
from rationales.errors import MissingCapability
from rationales.explanation.types import BoolArray, FloatArray, Token
from rationales.guidance.masks import Outside, role_links
from rationales.guidance.roles import Labeller
from rationales.guidance.spacy_labeller import SpacyLabeller
from rationales.models import CoAttentive, Model, demand
from rationales.models.guiding import Guide


@dataclass(frozen=True)
class RoleGuide:
    """Links only words that play the same role in an event that both texts tell of.

    Roles are found by `labeller`, by default spaCy's parser for English. See `role_links` for the links, and `Outside`
    for the words without a role.
    """

    labeller: Labeller = field(default_factory=SpacyLabeller)
    outside: Outside = "none"

    def __call__(self, example: Example, tokens: Sequence[Token]) -> FloatArray:
        first, second = (self.labeller(text) for text in example.texts)
        keep = role_links(first, second, self.outside)
        return on_tokens(keep.astype(np.float64), first.words, second.words, tokens)


def on_tokens(
    factors: FloatArray, first: Sequence[Span], second: Sequence[Span], tokens: Sequence[Token]
) -> FloatArray:
    """Factors of word pairs [words, words] as those of token pairs, [P, H].

    Words are given by their characters. A token has the factors of the word that it is a piece of, the largest where it
    is of several, and 1 where it is of none: nothing is known of it.
    """
    for side, words in enumerate((first, second)):
        pieces = _pieces([token for token in tokens if token.segment == side], words)
        largest = np.where(pieces[:, :, None], factors[None], -1.0).max(1, initial=-1.0)
        factors = np.where(largest < 0, 1.0, largest).T
    return factors


def _pieces(tokens: Sequence[Token], words: Sequence[Span]) -> BoolArray:
    """Which token shares characters with which word, [tokens, words]."""
    starts, ends = np.array([(token.start, token.end) for token in tokens], dtype=np.int64).reshape(-1, 2).T
    word_starts, word_ends = np.array(words, dtype=np.int64).reshape(-1, 2).T
    shared: BoolArray = (starts[:, None] < word_ends) & (ends[:, None] > word_starts)
    return shared


def set_guide(model: Model, guide: Guide | None) -> Guide | None:
    """Guide all that the model encodes from now on, or nothing for None; returns the guide it had before."""
    demand(model, CoAttentive, "a guided alignment")
    if not hasattr(model, "guide"):
        raise MissingCapability(f"{model.name} takes no guide: a {type(model).__name__} has no attribute `guide`")
    before: Guide | None = model.guide
    model.guide = guide
    return before


@contextmanager
def guided(model: Model, guide: Guide | None) -> Iterator[None]:
    """Inside this block all that the model encodes is guided, or nothing for None; then it is as before."""
    before = set_guide(model, guide)
    try:
        yield
    finally:
        set_guide(model, before)
