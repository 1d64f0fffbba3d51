"""What metrics ask of a model about texts with some of their tokens erased: each version once, in full batches.

Inside a block of `shared_passes` metrics find the answers that others got before them, and `Passes.together` asks for
all that several of them want at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from rationales.data.example import Example
from rationales.explanation.types import BoolArray, Explanation
from rationales.metrics.on_tokens import OnTokens
from rationales.models import Batch, Erasure, Model, erased_logits

T = TypeVar("T")
Texts: TypeAlias = tuple[str, ...]

Question: TypeAlias = tuple[int, Erasure | None, bytes]
"""A row of a batch, an erasure, and the erased tokens, a bit for each: what decides the logits.

A version with nothing erased has no erasure; where several rows have the same text, the first stands for all.
"""


class Answers:
    """What a model was asked about the texts of one batch, and what it said."""

    def __init__(self, model: Model, batch: Batch) -> None:
        self.model, self.batch = model, batch
        first: dict[Texts, int] = {}
        self._rows = [first.setdefault(source.example.texts, row) for row, source in enumerate(batch.sources)]
        self._given: dict[tuple[Explanation, ...], OnTokens] = {}
        self._waiting: dict[Question, Erasure] = {}
        self._numbers: dict[Question, int] = {}
        self._logits: list[Tensor] = []

    def on_tokens(self, explanations: Sequence[Explanation]) -> OnTokens:
        """Explanations of the texts on the model's tokens; metrics that ask for the same ones share them."""
        given = tuple(explanations)
        if given not in self._given:
            self._given[given] = OnTokens.of(given, self.batch)
        return self._given[given]

    def note(self, versions: BoolArray, erasure: Erasure) -> list[Question]:
        """The questions about each whole text and its V versions without the tokens `versions` [B, V, T]."""
        size, several, width = versions.shape
        drops = np.concatenate([np.zeros((size, 1, width), dtype=np.bool_), versions], axis=1).reshape(-1, width)
        rows = np.repeat(self._rows, 1 + several).tolist()
        hows = [erasure if some else None for some in np.any(drops, axis=1).tolist()]
        bits = [row.tobytes() for row in np.packbits(drops, axis=1)]
        questions = list(zip(rows, hows, bits, strict=True))
        for question in questions:
            if question not in self._numbers:
                self._waiting.setdefault(question, erasure)
        return questions

    def ask(self) -> None:
        """Ask the model all that was noted and is not known; the device is waited for once."""
        waiting, self._waiting = self._waiting, {}
        asked: list[Question] = []
        found: list[Tensor] = []
        if not waiting:
            return
        with self.model.borrowed(), torch.no_grad():
            for erasure in dict.fromkeys(waiting.values()):
                alike = [question for question, how in waiting.items() if how == erasure]
                rows = torch.tensor([row for row, _, _ in alike])
                bits = np.frombuffer(b"".join(bits for _, _, bits in alike), dtype=np.uint8).reshape(len(alike), -1)
                drops = np.unpackbits(bits, axis=1, count=self.batch.width).view(np.bool_)
                found.append(erased_logits(self.model, self.batch, rows, torch.from_numpy(drops), erasure))
                asked += alike
            self._logits.append(torch.cat(found).cpu())
        self._numbers.update({question: number for number, question in enumerate(asked, start=len(self._numbers))})

    def logits(self, questions: Sequence[Question]) -> Tensor:
        """The answers to what `note` gave, [B, 1 + V, C] on the processor."""
        numbers = torch.tensor([self._numbers[question] for question in questions])
        return torch.cat(self._logits)[numbers].view(len(self.batch), -1, len(self.model.labels))


class _Noted(BaseException):
    """Leaves a metric at the point where it asks; no error, so that no `except Exception` on the way keeps it."""


@dataclass(eq=False)
class Passes:
    """What models said of some texts and their erased versions: whoever asks again gets the same answer.

    `cut` counts the texts that were too long for the model.
    """

    cut: int = 0
    _answers: dict[tuple[Texts, ...], Answers] = field(default_factory=dict)
    _noting: bool = False

    def about(self, model: Model, texts: tuple[Texts, ...]) -> Answers:
        """What is known of the texts, which are encoded once."""
        if texts not in self._answers:
            batch = model.encode([Example("", sides) for sides in texts], warn=False)
            self.cut += sum(source.cut for source in batch.sources)
            self.encoded(model, batch)
        return self._answers[texts]

    def encoded(self, model: Model, batch: Batch) -> None:
        """Take over texts that are encoded already."""
        self._answers[tuple(source.example.texts for source in batch.sources)] = Answers(model, batch)

    def logits(self, answers: Answers, versions: BoolArray, erasure: Erasure) -> Tensor:
        """Logits of each whole text and of its V versions without the tokens `versions` [B, V, T], [B, 1 + V, C]."""
        questions = answers.note(versions, erasure)
        if self._noting:
            raise _Noted
        answers.ask()
        return answers.logits(questions)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """What some calls of metrics give; what all of them ask the model is asked at once.

        A call goes as far as its first question. When all questions are answered, it is made again, from the start.
        """
        finished: dict[int, T] = {}  # those that asked nothing
        self._noting = True
        try:
            for place, call in enumerate(calls):
                with suppress(_Noted):
                    finished[place] = call()
        finally:
            self._noting = False
        for answers in self._answers.values():
            answers.ask()
        return [finished[place] if place in finished else call() for place, call in enumerate(calls)]

    def forget(self) -> None:
        """Make room: the next texts are others."""
        self._answers.clear()


_shared: ContextVar[Passes | None] = ContextVar("passes that metrics share", default=None)


def passes_in_use() -> Passes | None:
    """Those of the innermost block of `shared_passes`, if there is one."""
    return _shared.get()


@contextmanager
def shared_passes() -> Iterator[Passes]:
    """Inside this block metrics of one model ask it only once about the same version of a text.

    Whoever opens the block passes no more explanations at a time than fit in memory, and calls `forget` on what it
    gives when the texts or the model change.
    """
    passes = Passes()
    token = _shared.set(passes)
    try:
        yield passes
    finally:
        _shared.reset(token)
