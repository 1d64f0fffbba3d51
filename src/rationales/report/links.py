"""What is drawn of the links between two texts, in whatever form: words, phrases, and how strong each link is.

Of a method that keeps links, the pairs of phrases are drawn that the kept ones make up; of a method that only weighs
them, the few strongest. Where all are kept nothing is drawn: one line from text to text would say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rationales.explanation import Alignment, Explanation, Token
from rationales.explanation.phrases import PhrasePair, linked_words, phrase_pairs, sides, strongest_links
from rationales.explanation.types import BoolArray, FloatArray
from rationales.report.figures import counted, number, numbers
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
    are all that the kept links make up; `pairs` are the links to be drawn as lines, strongest first. `directed` tells
    whether weights have a sign; `about` is how much is shown, and `notes` are what the method knows of its links.
    """

    texts: tuple[str, ...]
    left: tuple[Token, ...]
    right: tuple[Token, ...]
    weights: FloatArray
    keep: BoolArray | None
    shares: FloatArray
    phrases: Sequence[PhrasePair]
    pairs: Sequence[PhrasePair]
    directed: bool
    about: str
    notes: Sequence[str]

    @property
    def beneath(self) -> list[str]:
        """The lines below a picture."""
        return [line for line in (self.about, *self.notes) if line]

    @cached_property
    def said(self) -> list[tuple[str, str, str]]:
        """Of each pair both phrases and the weight."""
        figures = self.figures([pair.weight for pair in self.pairs])
        phrases = [(self.texts[0][slice(*pair.first)], self.texts[1][slice(*pair.second)]) for pair in self.pairs]
        return [(*both, figure) for both, figure in zip(phrases, figures, strict=True)]

    def strengths(self) -> list[float]:
        """The weight of each pair as a share of the largest, in [-1, 1]."""
        weights = [0.0 if math.isnan(pair.weight) else pair.weight for pair in self.pairs]
        largest = max([abs(weight) for weight in weights if math.isfinite(weight)], default=0.0) or 1.0
        return [max(-1.0, min(1.0, weight / largest)) for weight in weights]

    def style(self, share: float) -> str:
        """The class of a link."""
        return KEPT if self.keep is not None else level(share)

    def against(self, share: float) -> bool:
        """Whether a link is shown as one that speaks against the label; what is kept is not, whatever its weight."""
        return self.keep is None and share < 0

    def figures(self, weights: Sequence[float]) -> list[str]:
        """Weights as text, with a plus only where others have a minus."""
        said = numbers(weights)
        if not self.directed:
            return said
        return [f"+{one}" if weight > 0 else one for weight, one in zip(weights, said, strict=True)]


def has_signs(links: Alignment) -> bool:
    """Whether weights tell a direction: of a method without one, such as attention, none is negative."""
    return bool((links.weights < 0).any())


def links_of(explanation: Explanation) -> Links:
    """What to draw of an alignment."""
    with np.errstate(all="ignore"):  # weights may be infinite, and infinities may meet
        words = linked_words(explanation)
    given, body = explanation.body, words.body
    assert isinstance(given, Alignment)
    assert isinstance(body, Alignment)
    found = shares(body.weights if body.keep is None else np.where(body.keep, body.weights, 0.0))
    phrases = [] if body.keep is None else sorted(phrase_pairs(words), key=_size, reverse=True)
    joined = given.weights.shape != body.weights.shape
    if given.keep is None or body.keep is None:
        pairs, about = _weighed(words, found, joined)
    elif body.keep.all() and phrases:
        pairs, about = [], _all_kept(given.keep, explanation.checks)
    else:
        pairs, about = _kept(phrases, body.keep, joined)
    left, right = map(tuple, sides(words))
    return Links(
        texts=words.texts,
        left=left,
        right=right,
        weights=body.weights,
        keep=body.keep,
        shares=found,
        phrases=phrases,
        pairs=pairs,
        directed=has_signs(given),
        about=about,
        notes=_notes(given.keep, explanation.checks),
    )


def _size(pair: PhrasePair) -> float:
    return 0.0 if math.isnan(pair.weight) else abs(pair.weight)


def _weighed(words: Explanation, found: FloatArray, joined: bool) -> tuple[list[PhrasePair], str]:
    """`joined` if words were put together from pieces: then it is said how their weights were."""
    pairs = [pair for pair in strongest_links(words, STRONGEST) if found[pair.rows[0], pair.columns[0]]]
    if not pairs:
        return [], "No link stands out."
    if len(pairs) == found.size:
        return pairs, "A word pair has the sum of the links between its pieces." if joined else ""
    which = "The strongest" if len(pairs) == 1 else f"The {len(pairs)} strongest"
    if not joined:
        return pairs, f"{which} of {counted(found.size, 'link')}."
    all_pairs = counted(found.size, "word pair")
    return pairs, f"{which} of {all_pairs}; each has the sum of the links between its pieces."


def _kept(phrases: list[PhrasePair], keep: BoolArray, joined: bool) -> tuple[list[PhrasePair], str]:
    if not phrases:
        return [], "No link is kept."
    all_pairs = counted(keep.size, "word pair" if joined else "link")
    about = f"{int(keep.sum()):,} of {all_pairs} kept, in {counted(len(phrases), 'pair')} of phrases"
    if len(phrases) <= MOST_PHRASES:
        return phrases, f"{about}."
    return phrases[:MOST_PHRASES], f"{about}; the {MOST_PHRASES} strongest are drawn."


def _all_kept(keep: BoolArray, checks: Mapping[str, float]) -> str:
    """What is said where every pair of words has a kept link: `keep` are those of the pieces."""
    if not keep.all():
        return "All word pairs are kept, but not all links between their pieces."
    if "fidelity" in checks:
        return "All links are kept: the method found no fewer that bring the logits near enough."
    return "All links are kept."


def _notes(keep: BoolArray | None, checks: Mapping[str, float]) -> list[str]:
    """What the kept links alone give, unless they are all, and whether a guide had left some out before."""
    notes = []
    if keep is not None and not (keep.size and keep.all()):
        notes.append(_alone(bool(keep.any()), checks))
    if checks.get("guided", 0.0) > 0:
        notes.append("Guided: not all links were allowed.")
    return [note for note in notes if note]


def _alone(some: bool, checks: Mapping[str, float]) -> str:
    """How good the kept links are, or how far the model needs none, as far as the method knows it."""
    same, distance = checks.get("same_answer", math.nan), checks.get("fidelity", math.nan)
    moved = "" if math.isnan(distance) else f"the logits move by {number(distance, 2)}"
    if math.isnan(same):
        return f"{'With these alone' if some else 'Without any'} {moved}." if moved else ""
    if same:
        answer = "These alone give the same answer" if some else "Without any the answer is the same"
        return f"{answer}{moved and f'; {moved}'}."
    answer = "These alone give another answer" if some else "Without any the answer is another"
    return f"{answer}{moved and f' ({moved})'}: do not take {'them' if some else 'this'} for the reason."


def spoken(links: Links) -> str:
    """Both texts and the links in words, for screen readers, to which a picture is nothing else.

    Each phrase is isolated, so that its direction stays its own.
    """
    texts = [
        f"{which} text: \u2068{text.strip()}\u2069."
        for which, text in zip(("First", "Second"), links.texts, strict=False)
    ]
    said = "; ".join(
        [f"“\u2068{first}\u2069” with “\u2068{second}\u2069”, {figure}" for first, second, figure in links.said]
    )
    return " ".join(filter(None, (*texts, links.about, f"Linked: {said}." if said else "")))


def titled(first: str, second: str, figure: str) -> str:
    """One link in words.

    >>> titled("a", "b", "+0.5")
    '\\u2068a\\u2069 – \\u2068b\\u2069 +0.5'
    """
    return f"\u2068{first}\u2069 – \u2068{second}\u2069 {figure}"
