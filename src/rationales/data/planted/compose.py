"""What both generators share: the lazy sequence, balanced labels, and sentences with marked words.

A marked sentence holds its marks inline, `the <noun|soup> was <food|bland>`, while words are still being chosen;
`read` takes them out at the end and says where the marked words lie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import overload

from rationales.data.example import Example, Span
from rationales.errors import InputError

_MARK = re.compile(r"<([\w-]+)\|([^>]*)>")
_ARTICLE = re.compile(r"\b([Aa])(?= (?:<[\w-]+\|)?[aeiou])")
_FIRST_LETTER = re.compile(r"^(?:<[\w-]+\|)?[a-z]")


@dataclass(frozen=True, slots=True)
class Planted(Sequence[Example]):
    """Examples that are written when they are asked for; a slice costs nothing until it is read."""

    make: Callable[[int], Example]
    indices: range

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Example]:
        return map(self.make, self.indices)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> Planted: ...
    def __getitem__(self, index: int | slice) -> Example | Planted:
        if isinstance(index, slice):
            return Planted(self.make, self.indices[index])
        return self.make(self.indices[index])


def planted(make: Callable[[int], Example], size: int) -> Planted:
    """The first `size` examples of an endless supply."""
    if size < 0:
        raise InputError(f"size is a number of examples and must not be negative, got {size}")
    return Planted(make, range(size))


def generator(*key: object) -> Random:
    """A generator of its own for each key.

    The standard library's, because it takes a string as its seed and gives the same numbers in every process and
    on every machine; numpy promises that for its bits, but not for its choices.
    """
    return Random("/".join(map(str, key)))


def balanced_label(index: int, classes: int, *key: object) -> int:
    """A label for example `index`: each run of `classes` examples has every label once, in random order."""
    block, place = divmod(index, classes)
    order = list(range(classes))
    generator("labels", *key, block).shuffle(order)
    return order[place]


def sentence(marked: str) -> str:
    """A clause as a sentence: "a" or "an", a capital letter, a full stop.

    >>> sentence("a <noun|omelette> was <food|bland>")
    'An <noun|omelette> was <food|bland>.'
    """
    with_articles = _ARTICLE.sub(r"\1n", marked)
    return _FIRST_LETTER.sub(lambda match: match[0][:-1] + match[0][-1].upper(), with_articles) + "."


def read(marked: str) -> tuple[str, dict[str, Span]]:
    """The plain text, and the characters of each mark.

    >>> read("The <noun|soup> was <food|bland>.")
    ('The soup was bland.', {'noun': (4, 8), 'food': (13, 18)})
    """
    text, spans, done = "", {}, 0
    for mark in _MARK.finditer(marked):
        text += marked[done : mark.start()]
        spans[mark[1]] = (len(text), len(text) + len(mark[2]))
        text += mark[2]
        done = mark.end()
    return text + marked[done:], spans
