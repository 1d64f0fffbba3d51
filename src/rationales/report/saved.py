"""Saved explanations → the cases of a page: what several files say of the same text, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from rationales.comparison.types import Case
from rationales.errors import InputError
from rationales.explanation import Explanation, Explanations, read_jsonl
from rationales.report.cases import HUMAN

Key: TypeAlias = tuple[str, str]
"""A model and the id of an example."""


def cases_of(files: Sequence[Path | str]) -> Iterator[Case]:
    """The explanations of some files (.parquet or .jsonl, one method each), grouped by model and example.

    A file that names no model, as of people or of another tool, goes with every model. Files in the same order are read
    side by side, in memory that does not grow. On the page a file goes by the name of its method. The explained label
    counts as predicted; the true one is known where a file tells what people said.
    """
    sources = [_Source(Path(file)) for file in files]
    names = _names(sources)
    people = [source for source in sources if source.human]
    leading = sorted((source for source in sources if not source.human), key=lambda source: source.of_any_model)
    for place, source in enumerate(leading or people):
        others = [*people, *leading[place + 1 :]]
        for first in source.rest():
            found = {source: first}
            found |= {other: said for other in others if (said := other.take(first)) is not None}
            for other, said in found.items():
                if said.texts != first.texts:
                    raise InputError(
                        f"{source.path} and {other.path} have different texts under the id {first.id!r}; "
                        "files for one page must explain the same data"
                    )
            ordered = {names[one]: found[one] for one in sources if one in found}
            human = next((said for one, said in found.items() if one.human), None)
            target, model = first.target, first.provenance.model
            yield Case(model, first.id, first.texts, _label(first, human), target.label, target.score, ordered)


def _label(first: Explanation, human: Explanation | None) -> str | None:
    """The true label: what people explain. Data that number their labels share the number with the model's target."""
    if human is None or not human.target.label:
        return None
    same = human.target.index == first.target.index >= 0
    return first.target.label if same else human.target.label


class _Source:
    """A file that is read on until what is asked for has come; what came before it waits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream = self._read()
        first = next(self._stream, None)
        if first is None:
            raise InputError(f"there are no explanations in {path}")
        self.method = first.provenance.method
        self.human = self.method == HUMAN
        self.of_any_model = self.human or not first.provenance.model
        self._stream = chain([first], self._stream)
        self._waiting: dict[Key, Explanation] = {}
        self._seen: set[Key] = set()
        self._taken: set[Key] = set()

    def _read(self) -> Iterator[Explanation]:
        if not self.path.exists():
            raise InputError(f"there is no file or directory {self.path}")
        match self.path.suffix:
            case ".parquet":
                return iter(Explanations.load(self.path))
            case ".jsonl":
                return read_jsonl(self.path)
        raise InputError(
            f"explanations are read from .parquet or .jsonl, got {self.path} (rationales explain --out writes them)"
        )

    def _next(self) -> bool:
        """Let one more explanation wait; False at the end of the file."""
        explanation = next(self._stream, None)
        if explanation is None:
            return False
        if explanation.provenance.method != self.method:
            raise InputError(
                f"{self.path} holds explanations by {self.method} and by {explanation.provenance.method}; "
                "save each method to a file of its own"
            )
        key = self._key(explanation)
        if key in self._seen:
            raise InputError(f"{self.path} explains {explanation.id!r} twice; a page has room for one by each method")
        self._seen.add(key)
        self._waiting[key] = explanation
        return True

    def _key(self, explanation: Explanation) -> Key:
        return "" if self.of_any_model else explanation.provenance.model, explanation.id

    def take(self, like: Explanation) -> Explanation | None:
        """What this file says of the same example and model."""
        key = self._key(like)
        while key not in self._seen and self._next():
            pass
        self._taken.add(key)
        return self._waiting.get(key) if self.of_any_model else self._waiting.pop(key, None)

    def rest(self) -> Iterator[Explanation]:
        """Whatever nobody has taken."""
        while self._waiting or self._next():
            key = next(iter(self._waiting))
            explanation = self._waiting.pop(key)
            if key not in self._taken:
                yield explanation


def _names(sources: Sequence[_Source]) -> dict[_Source, str]:
    """A name for each file that no other has: its method, with the file's name or its path where that is not enough."""
    names = {source: source.method for source in sources}
    for longer in (lambda path: path.stem, str):
        uses = Counter(names.values())
        names |= {
            source: f"{source.method} ({longer(source.path)})" for source, name in names.items() if uses[name] > 1
        }
    if repeated := [source.path for source, name in names.items() if Counter(names.values())[name] > 1]:
        raise InputError(f"{repeated[0]} is given twice")
    return names
