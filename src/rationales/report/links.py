"""What is drawn of the links between two texts, in whatever form: words, phrases, and how strong each link is.

Of a method that keeps links, the pairs of phrases are drawn that the kept ones make up; of a method that only weighs
them, the few strongest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rationales.explanation import Alignment, Explanation, Token
from rationales.explanation.phrases import PhrasePair, linked_words, phrase_pairs, sides, strongest_links
from rationales.explanation.types import BoolArray, FloatArray
from rationales.report.figures import counted, signed
from rationales.report.strength import level, shares

STRONGEST = 8
"""So many links are drawn of a method that keeps none."""
MOST_PHRASES = 20
"""Of more pairs of phrases the strongest are drawn."""
KEPT = "kept"


@dataclass(frozen=True)
class Links:
    """The words of both texts, the weights [R, C] of their links, and what is drawn of them.

    `shares` [R, C] are weights as shares of the largest, 0 where a link is too weak to be marked or not kept; `phrases`
    are all that the kept links make up; `pairs` are the links to be drawn as lines, strongest first.
    """

    texts: tuple[str, ...]
    left: Sequence[Token]
    right: Sequence[Token]
    weights: FloatArray
    keep: BoolArray | None
    shares: FloatArray
    phrases: Sequence[PhrasePair]
    pairs: Sequence[PhrasePair]
    about: str

    def said(self, pair: PhrasePair) -> tuple[str, str]:
        """Both phrases."""
        return self.texts[0][slice(*pair.first)], self.texts[1][slice(*pair.second)]

    def strengths(self) -> list[float]:
        """The weight of each pair as a share of the largest, in [-1, 1]."""
        weights = np.array([pair.weight for pair in self.pairs])
        largest = np.abs(weights[np.isfinite(weights)]).max(initial=0.0) or 1.0
        with np.errstate(all="ignore"):
            found: list[float] = np.nan_to_num(np.clip(weights / largest, -1, 1)).tolist()
        return found

    def style(self, share: float) -> str:
        """The class of a link."""
        return KEPT if self.keep is not None else level(share)


def links_of(explanation: Explanation) -> Links:
    """What to draw of an alignment."""
    with np.errstate(all="ignore"):  # weights may be infinite, and infinities may meet
        words = linked_words(explanation)
    body = words.body
    assert isinstance(body, Alignment)
    found = shares(body.weights if body.keep is None else np.where(body.keep, body.weights, 0.0))
    phrases = [] if body.keep is None else sorted(phrase_pairs(words), key=lambda one: -abs(np.nan_to_num(one.weight)))
    pairs, about = _weighed(words, found) if body.keep is None else _kept(phrases, body.keep)
    return Links(words.texts, *sides(words), body.weights, body.keep, found, phrases, pairs, about)


def _weighed(words: Explanation, found: FloatArray) -> tuple[list[PhrasePair], str]:
    pairs = [pair for pair in strongest_links(words, STRONGEST) if found[pair.rows[0], pair.columns[0]]]
    if not pairs:
        return [], "No link stands out."
    if len(pairs) == found.size:
        return pairs, ""
    which = "The strongest" if len(pairs) == 1 else f"The {len(pairs)} strongest"
    return pairs, f"{which} of {counted(found.size, 'link')}."


def _kept(phrases: list[PhrasePair], keep: BoolArray) -> tuple[list[PhrasePair], str]:
    if not phrases:
        return [], "No link is kept."
    about = f"{int(keep.sum()):,} of {counted(keep.size, 'link')} kept, in {counted(len(phrases), 'pair')} of phrases"
    if len(phrases) <= MOST_PHRASES:
        return phrases, f"{about}."
    return phrases[:MOST_PHRASES], f"{about}; the {MOST_PHRASES} strongest are drawn."


def spoken(links: Links) -> str:
    """The links in words, for screen readers; each phrase is isolated, so that its direction stays its own."""
    said = "; ".join(f"{titled(*links.said(pair), pair.weight)}" for pair in links.pairs)
    return f"{links.about} {said}".strip()


def titled(first: str, second: str, weight: float) -> str:
    """One link in words.

    >>> titled("a", "b", 0.5)
    '\\u2068a\\u2069 – \\u2068b\\u2069 +0.5'
    """
    return f"\u2068{first}\u2069 – \u2068{second}\u2069 {signed(weight)}"
