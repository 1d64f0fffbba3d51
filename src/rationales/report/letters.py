"""How wide text is, and which way it runs, for pictures whose text is placed before anyone knows the font."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

_WIDTHS: Mapping[str, int] = {
    letter: width
    for width, letters in {
        191: "'",
        222: "ijl",
        260: "|",
        278: " !,./:;I[\\]ft",
        333: "()-`r",
        334: "{}",
        355: '"',
        389: "*",
        469: "^",
        500: "Jcksvxyz",
        556: "#$0123456789?L_abdeghnopqu",
        584: "+<=>~",
        611: "FTZ",
        667: "&ABEKPSVXY",
        722: "CDHNRUw",
        778: "GOQ",
        833: "Mm",
        889: "%",
        944: "W",
        1015: "@",
    }.items()
    for letter in letters
}
"""Thousandths of the font's size, in Arial and in the fonts that are made to its measure."""
_OTHER, _FULL, _PICTURE = 680, 1000, 1300
"""Letters of other scripts, those as wide as high, and emoji."""


@lru_cache(maxsize=4096)  # words and numbers come again and again
def width(text: str) -> float:
    """About how wide a text is, as a multiple of the size of its font. Accents and joiners take no room.

    >>> width("il"), width("é") == width("e"), width("好的")
    (0.444, True, 2.0)
    """
    return sum(map(_width, unicodedata.normalize("NFD", text))) / 1000


def _width(letter: str) -> int:
    known = _WIDTHS.get(letter)
    if known is not None:
        return known
    category = unicodedata.category(letter)
    if category in ("Mn", "Me", "Cf"):
        return 0
    if category == "So":
        return _PICTURE
    return _FULL if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def is_measured(text: str) -> bool:
    """Whether there is something to see, and the widths of all letters are known, none of them a guess.

    >>> is_measured("naïve"), is_measured("Straße")
    (True, False)
    """
    return width(text) > 0 and all(
        letter in _WIDTHS or not _width(letter) for letter in unicodedata.normalize("NFD", text)
    )


def right_to_left(text: str) -> bool:
    """Whether a text runs from right to left: its first letter that has a direction says it.

    >>> right_to_left("12 שלום"), right_to_left("a שלום"), right_to_left("")
    (True, False, False)
    """
    directions = map(unicodedata.bidirectional, text)
    return next((direction != "L" for direction in directions if direction in ("L", "R", "AL")), False)
