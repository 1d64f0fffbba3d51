"""Names of people, places and numbers, and others of their kind.

A name is exchanged for one of the same list: a woman's for a woman's, a city for a city. Numbers keep their digits in
number and their separators, years their century. What would change more than the number stays: 0 and 1 (one thing has
another grammar), dates, times, ratings, shares, ordinals, and numbers behind `a` or `an`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from rationales.attack.spans import Found, matches
from rationales.attack.wordlists import NAMES, PLACES

YEARS = range(1000, 2100)
"""Four digits without a separator in this range are taken for a year."""
LATEST = 2025
"""No year becomes a later one than this."""
LONGEST = 12
"""Digits of a number; more are no quantity."""
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    *("december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
)
RATED = ("stars?", "points?", "percent", "per cent", "out", "am", "pm", "a\\.m", "p\\.m", "o['’]clock")
"""Behind a number that is more than a quantity."""

_NUMBER = re.compile(
    r"(?<![\w.,:/'’#@+*^=-])(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.[0-9]+)?(?![\w:/%*^=+-]|[.,][0-9]|['’]\w)"
)
_MONTH = "|".join(MONTHS)
_LEFT_ALONE_BEFORE = re.compile(rf"(?:\b(?:an?|out(?: of)?|number|no\.|(?:{_MONTH})\.?)|[0-9],?|[#/]) $", re.I)
_LEFT_ALONE_BEHIND = re.compile(rf" ?(?:{'|'.join(RATED)}|(?:of )?(?:{_MONTH}))\b| ?[/%]|,? [0-9]", re.I)


def names(text: str) -> Iterator[Found]:
    """First names and surnames, each with the others of its list."""
    return _listed(text, _NAMED)


def places(text: str) -> Iterator[Found]:
    """Cities, countries and states of the USA, each with the others of its list."""
    return _listed(text, _PLACED)


def numbers(text: str) -> Iterator[Found]:
    """Numbers in digits, each with all others that have as many."""
    for match in matches(_NUMBER, text):
        digits = re.sub(r"\D", "", match[0])
        before, behind = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 16]
        alone = digits == "1" or len(digits) > LONGEST
        if not (alone or _LEFT_ALONE_BEFORE.search(before) or _LEFT_ALONE_BEHIND.match(behind)):
            yield Found(match.start(), match.end(), _Alike(match[0]))


class _Alike(Sequence[str]):
    """All numbers that are written like one: as many digits, the separators in their places."""

    def __init__(self, number: str) -> None:
        self.pattern = re.sub("[0-9]", "{}", number)
        digits = re.sub("[^0-9]", "", number)
        if number.isdecimal() and int(number) in YEARS:
            first = int(number) // 100 * 100
            self.values = range(first, min(first + 100, max(LATEST, int(number)) + 1))
        else:
            self.values = range(max(2, 10 ** (len(digits) - 1)), 10 ** len(digits))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.pattern.format(*str(self.values[index]))


def _any_of(lists: Sequence[Sequence[str]]) -> re.Pattern[str]:
    """Any of the words, the longest first, not inside others, addresses and tags; a possessive may follow."""
    words = sorted(chain(*lists), key=len, reverse=True)
    return re.compile(rf"(?<![\w@#./-])(?:{'|'.join(words)})(?![\w@/-]|\.\w)", re.I)


_NAMED, _PLACED = _any_of(NAMES), _any_of(PLACES)
_HOMES = {word.casefold(): alike for alike in (*NAMES, *PLACES) for word in alike}


def _listed(text: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    for match in matches(pattern, text):
        yield Found(match.start(), match.end(), _HOMES[match[0].casefold()])
