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


def cased(word: str, like: str) -> str:
    """The word in capitals, in small letters, or with a capital, as `like` is.

    >>> cased("will not", "WON'T"), cased("will not", "Won't"), cased("Hong Kong", "paris"), cased("Hong Kong", "Paris")
    ('WILL NOT', 'Will not', 'hong kong', 'Hong Kong')
    """
    if like.isupper():
        return word.upper()
    if like.islower():
        return word.lower()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
