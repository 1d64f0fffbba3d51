"""Networks that compare two texts word by word: Decomposable Attention and ESIM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rationales.models.turning import taken, turned_columns

FAR = -1e4
"""The similarity of what is not there; far enough, and half precision knows it too."""


class Side(NamedTuple):
    """One text of each pair: its word vectors [B, N, d], and which of them are words and no padding, [B, N]."""

    vectors: Tensor
    there: Tensor


class CoAttention(NamedTuple):
    """Attention between two texts, [B, P, H]: of each word of the first (rows add up to 1), and of the second."""

    of_first: Tensor
    of_second: Tensor

    def scaled(self, alignment: Tensor | None) -> CoAttention:
        """Both multiplied by `alignment`; what is left does not add up to 1 any more."""
        if alignment is None:
            return self
        factors = alignment.to(self.of_first)
        return CoAttention(self.of_first * factors, self.of_second * factors)


class PairNetwork(nn.Module, ABC):
    """Reads two texts, links their words by attention, and classifies what it then knows of them."""

    @abstractmethod
    def read(self, side: Side) -> Tensor:
        """What is known of each word before the texts meet, [B, N, h]."""

    @abstractmethod
    def similarity(self, first: Tensor, second: Tensor) -> Tensor:
        """How well words go together, [B, P, H]."""

    @abstractmethod
    def judge(self, sides: tuple[Side, Side], others: tuple[Tensor, Tensor]) -> Tensor:
        """Logits [B, C] from the words of both texts and what each is linked with in the other, [B, N, h]."""

    def links(self, first: Side, second: Side) -> CoAttention:
        """Attention between the words of two texts that were read."""
        scores = self.similarity(first.vectors, second.vectors)
        there = first.there[:, :, None] & second.there[:, None, :]
        scores = scores.masked_fill(~there, FAR)
        return CoAttention(scores.softmax(2) * there, scores.softmax(1) * there)

    def forward(self, first: Side, second: Side, alignment: Tensor | None = None) -> Tensor:
        """Logits, [B, C]; `alignment` [B, P, H] multiplies attention in both directions."""
        first, second = (Side(self.read(side), side.there) for side in (first, second))
        links = self.links(first, second).scaled(alignment)
        others = links.of_first @ second.vectors, links.of_second.transpose(1, 2) @ first.vectors
        return self.judge((first, second), others)

    def coattention(self, first: Side, second: Side) -> Tensor:
        """The mean of both directions of attention, [B, P, H]."""
        links = self.links(*(Side(self.read(side), side.there) for side in (first, second)))
        return (links.of_first + links.of_second) / 2


def feed_forward(size: int, hidden: int, dropout: float) -> nn.Sequential:
    """Two layers with ReLU."""
    layers = (nn.Dropout(dropout), nn.Linear(size, hidden), nn.ReLU())
    return nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU())


class DecomposableAttention(PairNetwork):
    """Words are compared one by one, and the comparisons added up; the order of words plays no part.

    e_ij = F(p_i)·F(h_j); v = Σ_i G([p_i; p̄_i]), and so for the second text; logits = H([v₁; v₂]). Parikh et al. (2016),
    without attention inside the texts.
    """

    def __init__(self, size: int, classes: int, hidden: int = 200, dropout: float = 0.2) -> None:
        super().__init__()
        self.project = nn.Linear(size, hidden, bias=False)
        self.attend = feed_forward(hidden, hidden, dropout)
        self.compare = feed_forward(2 * hidden, hidden, dropout)
        self.aggregate = feed_forward(2 * hidden, hidden, dropout)
        self.classify = nn.Linear(hidden, classes)

    def read(self, side: Side) -> Tensor:
        projected: Tensor = self.project(side.vectors)
        return projected

    def similarity(self, first: Tensor, second: Tensor) -> Tensor:
        scores: Tensor = self.attend(first) @ self.attend(second).transpose(1, 2)
        return scores

    def judge(self, sides: tuple[Side, Side], others: tuple[Tensor, Tensor]) -> Tensor:
        sums = [
            (self.compare(torch.cat([side.vectors, other], -1)) * side.there.unsqueeze(-1)).sum(1)
            for side, other in zip(sides, others, strict=True)
        ]
        logits: Tensor = self.classify(self.aggregate(torch.cat(sums, -1)))
        return logits


class Esim(PairNetwork):
    """Words are read in their order before the texts meet, and after.

    a = BiLSTM(p); e_ij = a_i·b_j; m = ReLU([a; ā; a - ā; a ⊙ ā]); v = BiLSTM(m); logits from the mean and the maximum
    of v over both texts. Chen et al. (2017).
    """

    def __init__(self, size: int, classes: int, hidden: int = 300, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.reader = BiLstm(size, hidden)
        self.combine = nn.Sequential(nn.Linear(8 * hidden, hidden), nn.ReLU())
        self.composer = BiLstm(hidden, hidden)
        self.classify = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(8 * hidden, hidden),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def read(self, side: Side) -> Tensor:
        states: Tensor = self.reader(self.dropout(side.vectors), side.there)
        return states

    def similarity(self, first: Tensor, second: Tensor) -> Tensor:
        return first @ second.transpose(1, 2)

    def judge(self, sides: tuple[Side, Side], others: tuple[Tensor, Tensor]) -> Tensor:
        pooled = []
        for side, other in zip(sides, others, strict=True):
            own, there = side.vectors, side.there.unsqueeze(-1)
            combined = self.combine(torch.cat([own, other, own - other, own * other], -1))
            states = self.composer(self.dropout(combined), side.there)
            pooled.append((states * there).sum(1) / there.sum(1).clamp(min=1))
            pooled.append(states.masked_fill(~there, FAR).amax(1) * there.any(1))
        logits: Tensor = self.classify(torch.cat(pooled, -1))
        return logits


class BiLstm(nn.Module):
    """An LSTM in both directions, [B, N, d] → [B, N, 2 · hidden].

    The second direction begins at each text's own last word, so that padding changes nothing and no lengths have to be
    known to the processor.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(size, hidden, batch_first=True)
        self.back = nn.LSTM(size, hidden, batch_first=True)

    def forward(self, inputs: Tensor, there: Tensor) -> Tensor:
        turned = turned_columns(there)
        with _with_a_way_back(self.onward, self.back):
            onward, _ = self.onward(inputs)
            back, _ = self.back(taken(inputs, turned))
        return torch.cat([onward, taken(back, turned)], -1)


@contextmanager
def _with_a_way_back(*layers: nn.LSTM) -> Iterator[None]:
    """cuDNN computes no gradients of an LSTM in evaluation mode; one layer without dropout is the same in both."""
    modes = [layer.training for layer in layers]
    for layer in layers:
        layer.training = True
    try:
        yield
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
