"""Who does what to whom: predicates of a text and the words that take part in them, as some labeller finds them.

A labeller is any function from a text to `Labelled`: the dependency parse of `rationales.guidance.SpacyLabeller`, a
semantic role labeller, or somebody's own annotations. Words are the labeller's own, told by their characters, so that
any of them meets any model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from rationales.data.example import Span
from rationales.errors import InputError


@dataclass(frozen=True, slots=True)
class Frame:
    """A predicate, its lemma, and its roles: the name of each and the numbers of the words that fill it."""

    predicate: int
    lemma: str
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "roles", MappingProxyType(dict(self.roles)))

    @property
    def words(self) -> frozenset[int]:
        """All words that take part."""
        return frozenset((self.predicate, *(word for words in self.roles.values() for word in words)))


@dataclass(frozen=True, slots=True)
class Labelled:
    """The words of a text, as spans of its characters, and its frames."""

    words: tuple[Span, ...]
    frames: tuple[Frame, ...]

    def __post_init__(self) -> None:
        for frame in self.frames:
            if unknown := [word for word in frame.words if not 0 <= word < len(self.words)]:
                raise InputError(
                    f"the frame of {frame.lemma!r} names word {unknown[0]}, and there are {len(self.words)} words, "
                    "counted from 0"
                )


class Labeller(Protocol):
    """Finds the frames of a text."""

    def __call__(self, text: str) -> Labelled: ...
