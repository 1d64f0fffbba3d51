"""The runs of a stack, and the order in which they see their texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rationales.train.rationalizers.game import GameConfig, Table

Rows: TypeAlias = NDArray[np.int64]

_ROUND = 20
"""Steps that are planned together: their texts are sorted by length, so that a batch has little padding."""
_WIDTHS = 32
"""Batches are as wide as a multiple of this."""


@dataclass(frozen=True)
class Member:
    """One run: its config, and the rows of the shared tables that are its training and dev data.

    With `balance`, it sees as many texts of each class as there are of the rarest, others of them in each epoch.
    `post_hoc` is the share of the tokens that is selected after a prediction: see `Architecture`.
    """

    config: GameConfig
    train: Rows
    dev: Rows
    balance: bool = False
    post_hoc: float = 0.0


class Stream:
    """The rows of a run's training data in random order, epoch after epoch."""

    def __init__(self, member: Member, table: Table) -> None:
        self._rng = np.random.default_rng(member.config.seed)
        own = table.targets.cpu().numpy()[member.train]
        groups = [member.train[own == label] for label in np.unique(own)] if member.balance else [member.train]
        self._groups, self._each = groups, min(len(group) for group in groups)
        self.epoch = self._each * len(groups)
        self._left: Rows = np.empty(0, np.int64)

    def take(self, size: int) -> Rows:
        """The next rows."""
        while len(self._left) < size:
            epoch = np.concatenate([self._rng.permutation(group)[: self._each] for group in self._groups])
            self._left = np.concatenate([self._left, self._rng.permutation(epoch)])
        taken, self._left = self._left[:size], self._left[size:]
        return taken


def steps(streams: Sequence[Stream], table: Table, size: int, seed: int) -> Iterator[tuple[int, Tensor]]:
    """The width of each step, and its rows [R, B], the longest texts first; without end.

    Some steps are planned together: a run's texts for them are sorted by length and cut into batches, so that in a step
    all texts of all runs are of like length. They are not more than an epoch has: else copies of a text would meet.
    """
    rng, lengths = np.random.default_rng(seed), np.asarray(table.lengths)
    number = max(1, min(_ROUND, min(stream.epoch for stream in streams) // size))
    while True:
        taken = np.stack([stream.take(number * size) for stream in streams])
        order = np.argsort(-lengths[taken], axis=1, kind="stable")
        rows = np.take_along_axis(taken, order, 1).reshape(len(streams), number, size)
        for step in rng.permutation(number):
            longest = int(lengths[rows[:, step]].max())
            yield math.ceil(longest / _WIDTHS) * _WIDTHS, torch.from_numpy(np.ascontiguousarray(rows[:, step]))
