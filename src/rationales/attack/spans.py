"""Places in a text and what may stand there instead, as every kind of edit finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Characters [start, end) of a text, and what may stand there instead."""

    start: int
    end: int
    options: Sequence[str]


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where the pattern, which takes capitals for small letters, matches English letters: not ı for i, nor ſ for s."""
    return (match for match in pattern.finditer(text) if match[0].replace("’", "'").isascii())


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
