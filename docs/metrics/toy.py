"""A model small enough to check by hand: every word multiplies the odds of "positive". Used on the pages of metrics.

>>> model = Odds(wonderful=9, cold=1 / 3)
>>> round(model.odds("a wonderful soup"), 6)
9.0

An unknown word multiplies by 1, and so does a padding token. The probability of "positive" is odds / (1 + odds).
It is also the shortest example of a model that is not one of Transformers: what `rationales.models.Model` asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from rationales.data import Example
from rationales.explanation.views import word_tokens
from rationales.models import Batch, Encoded, Erasure
from rationales.models.batch import collate, erase

PAD, UNKNOWN = 0, 1


class Odds:
    """p("positive") = odds / (1 + odds), where the odds are the product of those of the words."""

    name, labels, regression, max_length, budget = "odds", ("negative", "positive"), False, 512, 2048

    def __init__(self, **odds: float) -> None:
        self.ids = {word: number for number, word in enumerate(odds, start=2)}
        self.weights = torch.tensor([0.0, 0.0, *(math.log(value) for value in odds.values())], dtype=torch.float64)

    def odds(self, text: str) -> float:
        """The product of the odds of the words."""
        negative, positive = self.logits(self.encode([Example("", (text,))]))[0].tolist()
        return math.exp(positive - negative)

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:  # noqa: ARG002
        """One token per word, no special tokens."""
        sources = tuple(Encoded(example, word_tokens(example.texts)) for example in examples)
        ids = [[self.ids.get(token.text.strip(".,!"), UNKNOWN) for token in source.tokens] for source in sources]
        segments = [[token.segment for token in source.tokens] for source in sources]
        return collate(ids, segments, None, pad_id=PAD, side="right", sources=sources)

    def logits(self, batch: Batch) -> Tensor:
        """0 for "negative", the sum of log odds for "positive", [B, 2]."""
        shown = batch.keep if batch.zeroed is None else batch.keep & ~batch.zeroed
        total = (self.weights[batch.ids] * shown).sum(-1)
        return torch.stack([torch.zeros_like(total), total], -1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """[B, 2], each row adds up to 1."""
        return logits.softmax(-1)

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        """Without the tokens in `drop` [B, T]; the mask token is unknown like any other."""
        return erase(batch, drop, how, mask_id=UNKNOWN, pad_id=PAD)

    def borrowed(self) -> AbstractContextManager[None]:
        """There is nothing to freeze."""
        return nullcontext()
