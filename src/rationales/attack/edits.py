"""The edits that an attack may make in a text or pair, by kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Literal, TypeAlias

from rationales.attack.contractions import contractions
from rationales.attack.entities import names, numbers, places
from rationales.attack.spans import Found, cased

Sides: TypeAlias = Literal["both", "first", "second"]
Finder: TypeAlias = Callable[[str], Iterator[Found]]

KINDS: Mapping[str, Finder] = MappingProxyType(
    {"contractions": contractions, "names": names, "places": places, "numbers": numbers}
)
"""How each kind finds its places."""

SPARE = 100
"""More are drawn than are tried, since some may stand in the texts; all of a list."""

_ONE_BY_ONE = ("contractions",)


@dataclass(frozen=True)
class Change:
    """Characters [start, end) of text `segment` (0 or 1), what stands there, and what comes in its place."""

    segment: int
    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True)
class Edit:
    """One step of an attack: of a name, place or number all that a text or pair has of it changes at once."""

    kind: str
    changes: tuple[Change, ...]

    def excludes(self, other: Edit) -> bool:
        """Whether the two change some of the same characters, or would make two people, places or numbers one."""
        return any(
            (own.segment == its.segment and own.start < its.end and its.start < own.end)
            or (self.kind == other.kind not in _ONE_BY_ONE and own.new.casefold() == its.new.casefold())
            for own in self.changes
            for its in other.changes
        )


def candidates(
    texts: Sequence[str], kinds: Sequence[str] = tuple(KINDS), *, most: int = 5, sides: Sides = "both", seed: int = 0
) -> list[Edit]:
    """Every edit of these kinds.

    Of each name, place and number at most `most` others are tried, drawn by the seed and the texts; none of them is in
    the texts already. Of a pair only the `sides` wanted change; what is in both texts changes in both or in none.
    """
    wanted = range(len(texts)) if sides == "both" or len(texts) == 1 else (("first", "second").index(sides),)
    edits = []
    for kind in dict.fromkeys(kinds):
        by_word: dict[str | tuple[int, int, int], list[tuple[int, Found]]] = {}
        for segment, text in enumerate(texts):
            for found in KINDS[kind](text):
                word = text[found.start : found.end].casefold()
                own = (segment, found.start, found.end)
                by_word.setdefault(own if kind in _ONE_BY_ONE else word, []).append((segment, found))
        for key, same in by_word.items():
            if all(segment in wanted for segment, _ in same):
                options = same[0][1].options
                new = options if kind in _ONE_BY_ONE else _drawn(options, texts, most, f"{seed} {kind} {key}")
                edits += [_edit(kind, texts, same, word) for word in new]
    return edits


def applied(texts: Sequence[str], edits: Sequence[Edit]) -> tuple[str, ...]:
    """The texts after edits of which none excludes another."""
    after = list(texts)
    changes = [change for edit in edits for change in edit.changes]
    for change in sorted(changes, key=lambda each: each.start, reverse=True):
        text = after[change.segment]
        after[change.segment] = text[: change.start] + change.new + text[change.end :]
    return tuple(after)


def words_changed(texts: Sequence[str], edits: Sequence[Edit]) -> tuple[int, int]:
    """How many of the words of the texts the edits touch, and how many words there are."""
    words = [(segment, *match.span()) for segment, text in enumerate(texts) for match in re.finditer(r"\S+", text)]
    changes = [change for edit in edits for change in edit.changes]
    touched = sum(
        any(change.segment == segment and change.start < end and start < change.end for change in changes)
        for segment, start, end in words
    )
    return touched, len(words)


def _drawn(options: Sequence[str], texts: Sequence[str], most: int, about: str) -> list[str]:
    """Some of the options that do not stand in the texts, the same ones for the same texts."""
    whole = "\n".join(texts)
    lower = whole.casefold()
    some = Random(f"{about}\n{whole}").sample(options, min(len(options), most + SPARE))
    return [word for word in some if word.casefold() not in lower][:most]


def _edit(kind: str, texts: Sequence[str], places: Sequence[tuple[int, Found]], word: str) -> Edit:
    changes = []
    for segment, found in places:
        old = texts[segment][found.start : found.end]
        new = word if kind in _ONE_BY_ONE else cased(word, old)
        changes.append(Change(segment, found.start, found.end, old, new))
    return Edit(kind, tuple(changes))
