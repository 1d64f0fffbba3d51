"""A greedy search for edits that turn a classifier's right answer into a wrong one, many texts at once.

    x₀ = x,   xₖ₊₁ = argmin over edits e of xₖ of p_y(e(xₖ)),   until argmax p(xₖ) ≠ y

In each step every edit of every text that still stands is tried, all of them in full batches. A text keeps the edit
that lowers the probability of its true class most (one that turns the answer goes before all others), and is given up
where none lowers it, or where it has had its share of edits. What was edited is not edited again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

import torch

from rationales.attack.edits import KINDS, Edit, Sides, applied, candidates, words_changed
from rationales.data import Example
from rationales.errors import InputError, UnknownName
from rationales.models import Encoded, Model, pick, predict, rounds
from rationales.registry import option

Status: TypeAlias = Literal["flipped", "survived", "no_edits", "wrong"]
"""How it ended: the answer turned; it stood; there was nothing to edit; it was wrong before."""

LEAST = 1e-4
"""What the log-odds must fall by to count; less may be the arithmetic of another batch."""
EQUAL = 1e-6
"""Edits whose log-odds are as near as this are equally good, and the first is kept."""
CERTAIN = 1e-12
"""Probabilities nearer to 0 and 1 than this are not told apart."""


@dataclass(frozen=True)
class Search:
    """What is tried."""

    edits: tuple[str, ...] = option(tuple(KINDS), "kinds of edits, with commas")
    max_edits: int = option(5, "edits in a text, at most; 0: any number")
    alternatives: int = option(5, "others tried for each name, place and number")
    sides: Sides = option("both", "which text of a pair changes: both, first or second")
    seed: int = option(0, "seed by which the others are drawn")

    def __post_init__(self) -> None:
        if not self.edits:
            raise InputError(f"edits are one or more of {', '.join(KINDS)}, got {self.edits!r}")
        if unknown := [kind for kind in self.edits if kind not in KINDS]:
            raise UnknownName(f"no kind of edit is called {unknown[0]!r}. Known: {', '.join(KINDS)}")
        if self.max_edits < 0:
            raise InputError(f"max_edits must be at least 1, or 0 for any number; got {self.max_edits}")
        if self.alternatives < 1:
            raise InputError(f"alternatives must be at least 1, got {self.alternatives}")
        if self.sides not in get_args(Sides):
            raise InputError(f"sides is one of {', '.join(get_args(Sides))}, got {self.sides!r}")


@dataclass(frozen=True)
class Outcome:
    """One text or pair under attack. Probabilities are those of the true label, before and after.

    `attacked` is the text with the edits that were kept, also where the answer stood; `words_changed` of the original's
    `words` were touched by an edit. `queries` are the texts that the model was asked, the original among them.
    """

    id: str
    texts: tuple[str, ...]
    label: str
    status: Status
    attacked: tuple[str, ...]
    edits: tuple[Edit, ...]
    predicted: str
    predicted_after: str
    probability: float
    probability_after: float
    words: int
    words_changed: int
    queries: int


class Answer(NamedTuple):
    """The class a model predicts (-1: it answers with NaN or infinity), and how likely it finds the true one."""

    predicted: int
    probability: float
    odds: float  # their logarithm


@dataclass(eq=False)
class _Text:
    """A text while it is attacked."""

    example: Example
    target: int
    before: Answer
    open: list[Edit]
    kept: list[Edit] = field(default_factory=list)
    queries: int = 1

    def __post_init__(self) -> None:
        self.now = self.before
        self.editable = bool(self.open)

    def stands(self, most: int) -> bool:
        """Whether the answer is still right and there is an edit to try."""
        return self.now.predicted == self.target and bool(self.open) and (not most or len(self.kept) < most)

    def step(self, answers: Sequence[Answer]) -> None:
        """Keep the best of the open edits, given the answer to each; or close them all where none is of use."""
        self.queries += len(answers)
        turning = [number for number, answer in enumerate(answers) if answer.predicted not in (self.target, -1)]
        useful = turning or range(len(answers))
        lowest = min(answers[number].odds for number in useful)
        if not turning and lowest > self.now.odds - LEAST:
            self.open = []
            return
        number = next(number for number in useful if answers[number].odds <= lowest + EQUAL)
        best = self.open[number]
        self.now = answers[number]
        self.kept.append(best)
        self.open = [edit for edit in self.open if not edit.excludes(best)]

    def outcome(self, labels: Sequence[str]) -> Outcome:
        """What came of it."""
        status: Status = "survived" if self.editable else "no_edits"
        if self.now.predicted != self.target:
            status = "flipped" if self.kept else "wrong"
        changed, words = words_changed(self.example.texts, self.kept)
        return Outcome(
            self.example.id,
            self.example.texts,
            labels[self.target],
            status,
            applied(self.example.texts, self.kept),
            tuple(self.kept),
            _named(self.before, labels),
            _named(self.now, labels),
            self.before.probability,
            self.now.probability,
            words,
            changed,
            self.queries,
        )


def searched(
    model: Model,
    examples: Sequence[Example],
    targets: Sequence[int],
    before: Sequence[Answer],
    sources: Sequence[Encoded],
    search: Search,
    done: Callable[[int], None] = lambda _: None,
) -> list[Outcome]:
    """Attack examples whose true classes are `targets`; `before` and `sources` are what `ask` said of them.

    `done` is told how many more texts are finished.
    """
    texts = [
        _Text(example, target, answer, _seen(search, example, source) if answer.predicted == target else [])
        for example, target, answer, source in zip(examples, targets, before, sources, strict=True)
    ]
    standing = [text for text in texts if text.stands(search.max_edits)]
    done(len(texts) - len(standing))
    while standing:
        tries = (
            Example(text.example.id, applied(text.example.texts, [*text.kept, edit]))
            for text in standing
            for edit in text.open
        )
        answers, _ = ask(model, tries, [text.target for text in standing for _ in text.open])
        remaining = iter(answers)
        for text in standing:
            text.step([next(remaining) for _ in text.open])
        still = [text for text in standing if text.stands(search.max_edits)]
        done(len(standing) - len(still))
        standing = still
    return [text.outcome(model.labels) for text in texts]


def ask(model: Model, examples: Iterable[Example], targets: Sequence[int]) -> tuple[list[Answer], list[Encoded]]:
    """What the model answers, in full batches, and what it saw of the texts."""
    answers: list[Answer] = []
    sources: list[Encoded] = []
    with model.borrowed(), torch.no_grad():
        for some in rounds(model, examples):
            batch = model.encode(some, warn=False)
            probabilities = model.probabilities(predict(model, batch).cpu().double())
            wanted = torch.tensor(targets[len(answers) : len(answers) + len(some)])
            true = pick(probabilities, wanted)
            predicted = probabilities.argmax(-1).masked_fill(~probabilities.isfinite().all(-1), -1)
            odds = torch.logit(true, eps=CERTAIN).nan_to_num(nan=float("inf"))
            answers += map(Answer, predicted.tolist(), true.tolist(), odds.tolist())
            sources += batch.sources
    return answers, sources


def _seen(search: Search, example: Example, source: Encoded) -> list[Edit]:
    """The edits of what the model sees: where a text is cut, no more of it is tried."""
    edits = candidates(example.texts, search.edits, most=search.alternatives, sides=search.sides, seed=search.seed)
    if not source.cut:
        return edits
    ends = [max((token.end for token in source.tokens if token.segment == side), default=0) for side in (0, 1)]
    return [edit for edit in edits if any(change.start < ends[change.segment] for change in edit.changes)]


def _named(answer: Answer, labels: Sequence[str]) -> str:
    return labels[answer.predicted] if answer.predicted >= 0 else ""
