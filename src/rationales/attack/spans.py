"""Places in a text and what may stand there instead, as every kind of edit finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Characters [start, end) of a text, and what may stand there instead."""

    start: int
    end: int
    options: Sequence[str]


def cased(word: str, like: str, *, single: bool = True) -> str:
    """The word in capitals, with a capital, or in small letters, as `like` is.

    A single capital letter is taken for capitals only where it cannot be the beginning of a word (`single`).

    >>> cased("will not", "Won't"), cased("will not", "WON'T"), cased("London", "paris"), cased("London", "Paris")
    ('Will not', 'WILL NOT', 'london', 'London')
    """
