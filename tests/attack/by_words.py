"""A classifier that anyone can work out by hand: each word adds to the logit of the second class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from rationales.data import Example
from rationales.explanation.types import SPECIAL, Token
from rationales.models import Batch, Encoded, Erasure
from rationales.models.batch import collate


class ByWords:
    """Logits (0, bias + sum of the words' weights); `other`, if given, are weights for a third class."""

    name = "by-words"

    def __init__(
        self,
        weights: Mapping[str, float],
        *,
        bias: float = 0.0,
        other: Mapping[str, float] | None = None,
        max_length: int = 100,
    ) -> None:
        self.weights, self.bias, self.other, self.max_length = weights, bias, other, max_length
        self.labels: tuple[str, ...] = ("bad", "good") if other is None else ("bad", "good", "odd")
        self.regression, self.budget = False, 200
        self.asked: list[tuple[str, ...]] = []
        self.words = ["", ""]
        self.inside = 0

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:
        ids, segments, sources = [], [], []
        for example in examples:
            self.asked.append(example.texts)
            tokens = [Token("[CLS]", SPECIAL, 0, 0)]
            for segment, text in enumerate(example.texts):
                tokens += [Token(match[0], segment, *match.span()) for match in re.finditer(r"\S+", text)]
            cut = len(tokens) > self.max_length
            tokens = tokens[: self.max_length]
            self.words += [token.text for token in tokens if token.text not in self.words]
            ids.append(np.array([1, *(self.words.index(token.text) for token in tokens[1:])]))
            segments.append(np.array([token.segment for token in tokens]))
            sources.append(Encoded(example, tuple(tokens), cut))
        return collate(ids, segments, None, pad_id=0, side="right", sources=tuple(sources))

    def logits(self, batch: Batch) -> Tensor:
        assert self.inside, "a model is borrowed before it is asked"
        rows = [[self.words[number] for number in row] for row in batch.ids.tolist()]
        return torch.tensor([self._of(row) for row in rows])

    def _of(self, words: Sequence[str]) -> list[float]:
        own = self.bias + sum(self.weights.get(word, 0.0) for word in words)
        third = [] if self.other is None else [sum(self.other.get(word, 0.0) for word in words)]
        return [0.0, own, *third]

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        raise NotImplementedError

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
