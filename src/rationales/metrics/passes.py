"""What metrics ask of a model about texts without some of their tokens or links: each version once, in full batches.

Inside a block of `shared_passes` metrics find the answers that others got before them, and `Passes.together` asks for
all that several of them want at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rationales.data.example import Example
from rationales.explanation.types import BoolArray, Explanation
from rationales.metrics.on_tokens import OnTokens
from rationales.models import Batch, CoAttentive, Erasure, Model, erased_logits, over

T = TypeVar("T")
Texts: TypeAlias = tuple[str, ...]

How: TypeAlias = Erasure | Literal["links"]
"""What a version of a text lacks: tokens, erased in one of these ways, or links between its two parts."""

Question: TypeAlias = tuple[int, How | None, bytes]
"""A row of a batch, how its version is made, and the erased tokens or the kept links, a bit for each.

That decides the logits. Nothing is done to a whole text; where several rows have the same text, and links that are
guided in the same way, the first stands for all.
"""

WHOLE = b""
"""In place of the kept links of a pair that keeps all of them."""


class Answers:
    """What a model was asked about the texts of one batch, and what it said."""

    def __init__(self, model: Model, batch: Batch) -> None:
        self.model, self.batch = model, batch
        first: dict[tuple[Texts, bytes], int] = {}
        asked = zip([source.example.texts for source in batch.sources], _guidance(batch), strict=True)
        self._rows = [first.setdefault(own, row) for row, own in enumerate(asked)]
        self._given: dict[tuple[Explanation, ...], OnTokens] = {}
        self._waiting: dict[Question, How] = {}
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
        return self._noted(list(zip(rows, hows, bits, strict=True)), erasure)

    def note_links(self, kept: Sequence[Sequence[BoolArray]]) -> list[Question]:
        """The questions about each whole pair, followed by its versions with only the links `kept` [P, H] of each."""
        questions: list[Question] = []
        for row, versions in zip(self._rows, kept, strict=True):
            questions.append((row, None, WHOLE))
            for keep in versions:
                questions.append((row, None, WHOLE) if keep.all() else (row, "links", np.packbits(keep).tobytes()))
        return self._noted(questions, "links")

    def _noted(self, questions: list[Question], how: How) -> list[Question]:
        for question in questions:
            if question not in self._numbers:
                self._waiting.setdefault(question, how)
        return questions

    def ask(self) -> None:
        """Ask the model all that was noted and is not known; the device is waited for once."""
        waiting, self._waiting = self._waiting, {}
        asked: list[Question] = []
        found: list[Tensor] = []
        if not waiting:
            return
        with self.model.borrowed(), torch.no_grad():
            for how in dict.fromkeys(waiting.values()):
                alike = [question for question, own in waiting.items() if own == how]
                found.append(self._linked(alike) if how == "links" else self._erased(alike, how))
                asked += alike
            self._logits.append(torch.cat(found).cpu())
        self._numbers.update({question: number for number, question in enumerate(asked, start=len(self._numbers))})

    def _erased(self, alike: Sequence[Question], erasure: Erasure) -> Tensor:
        """Logits [n, C] of texts without some of their tokens."""
        rows = torch.tensor([row for row, _, _ in alike])
        bits = np.frombuffer(b"".join(bits for _, _, bits in alike), dtype=np.uint8).reshape(len(alike), -1)
        drops = np.unpackbits(bits, axis=1, count=self.batch.width).view(np.bool_)
        return erased_logits(self.model, self.batch, rows, torch.from_numpy(drops), erasure)

    def _linked(self, alike: Sequence[Question]) -> Tensor:
        """Logits [n, C] of pairs with some of the links between their texts."""
        model, device, batch = self.model, self.batch.ids.device, self.batch.to("cpu")
        assert isinstance(model, CoAttentive)
        rows = np.array([row for row, _, _ in alike])

        def compute(part: Batch, numbers: Tensor) -> Tensor:
            some = numbers.tolist()
            own = self._sizes[rows[some]]
            factors = np.zeros((len(some), *own.max(0).clip(min=1)), dtype=np.float32)
            for place, (number, (first, second)) in enumerate(zip(some, own.tolist(), strict=True)):
                factors[place, :first, :second] = _kept(alike[number][2], first, second)
            return model.logits(part.to(device), alignment=torch.from_numpy(factors).to(device))

        return over(model, batch, torch.from_numpy(rows), compute)

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """The tokens of the first and of the second text, [B, 2]."""
        segments = [[token.segment for token in source.tokens] for source in self.batch.sources]
        return np.array([[own.count(0), own.count(1)] for own in segments], dtype=np.int64)

    def logits(self, questions: Sequence[Question]) -> Tensor:
        """The answers to what was noted, [Q, C] on the processor."""
        numbers = torch.tensor([self._numbers[question] for question in questions])
        return torch.cat(self._logits)[numbers]


def _guidance(batch: Batch) -> list[bytes]:
    """The factors of each row's links, which a guide may choose by more than its texts; nothing without a guide."""
    if batch.alignment is None:
        return [b""] * len(batch)
    return [factors.tobytes() for factors in batch.alignment.detach().cpu().double().numpy()]


def _kept(bits: bytes, first: int, second: int) -> BoolArray:
    """The links that a question keeps, [first, second]."""
    if bits == WHOLE:
        return np.ones((first, second), dtype=np.bool_)
    unpacked = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=first * second)
    return unpacked.reshape(first, second).view(np.bool_)


class _Noted(BaseException):
    """Leaves a metric at the point where it asks; no error, so that no `except Exception` on the way keeps it."""


@dataclass(eq=False)
class Passes:
    """What models said of some texts and their versions: whoever asks again gets the same answer.

    `cut` counts the texts that were too long for the model.
    """

    cut: int = 0
    _answers: dict[tuple[tuple[str, Texts], ...], Answers] = field(default_factory=dict)
    _noting: bool = False

    def about(self, model: Model, explanations: Sequence[Explanation]) -> Answers:
        """What is known of the explained texts, which are encoded once."""
        key = tuple((item.id, item.texts) for item in explanations)  # a guide may go by the id
        if key not in self._answers:
            batch = model.encode([Example(item.id, item.texts) for item in explanations], warn=False)
            self.cut += sum(source.cut for source in batch.sources)
            self.encoded(model, batch)
        return self._answers[key]

    def encoded(self, model: Model, batch: Batch) -> None:
        """Take over texts that are encoded already."""
        examples = [source.example for source in batch.sources]
        self._answers[tuple((example.id, example.texts) for example in examples)] = Answers(model, batch)

    def logits(self, answers: Answers, versions: BoolArray, erasure: Erasure) -> Tensor:
        """Logits of each whole text and of its V versions without the tokens `versions` [B, V, T], [B, 1 + V, C]."""
        found = self._answered(answers, answers.note(versions, erasure))
        return found.view(len(answers.batch), -1, found.shape[-1])

    def linked_logits(self, answers: Answers, kept: Sequence[Sequence[BoolArray]]) -> list[Tensor]:
        """Logits of each whole pair and of its versions with only the links `kept` [P, H] of each, [1 + V, C] each."""
        found = self._answered(answers, answers.note_links(kept))
        ends = np.cumsum([1 + len(versions) for versions in kept]).tolist()
        return list(found.tensor_split(ends[:-1]))

    def _answered(self, answers: Answers, questions: Sequence[Question]) -> Tensor:
        """The answers to what was noted, [Q, C]; asked at once, unless others are to be asked along with them."""
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
