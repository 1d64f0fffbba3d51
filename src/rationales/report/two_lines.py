"""Two texts, one above the other, with lines between the phrases that are linked: an SVG whose text can be selected.

The thicker a line, the stronger the link; it is dashed where the weight is negative, unless links are kept. Long texts
wrap. Colours come from the style of the page.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from rationales.explanation import Token
from rationales.explanation.phrases import Span
from rationales.report.letters import right_to_left, width
from rationales.report.links import Links, spoken, titled
from rationales.report.safe import escaped
from rationales.report.svg import shortened

MOST_WORDS = 60
"""Of a text whose lines can still be followed."""
MOST_LETTERS = 32
"""Of a word; the title of a link has it whole."""
SIZE, LINE, BETWEEN, EDGE = 15.0, 33.0, 62.0, 5.0
"""Pixels: size of the font, from line to line, between the texts, around everything."""
GAP, CLOSE = 9.0, 5.0
"""Between words, and between those that no space parts."""
NARROW = 0.3
"""Of the size of the font: the narrowest frame."""
ABOVE, BELOW = 15.0, 6.0
"""How far the frame of a phrase reaches from the line on which letters stand."""
THIN, THICK = 1.5, 6.0


@dataclass(frozen=True)
class Word:
    """A word in its place: from `left` to `right`, on the line at the height `base`; `spaced` if a space follows."""

    text: str
    spaced: bool
    left: float
    right: float
    base: float


@dataclass(frozen=True)
class Frame:
    """The part of a phrase that is on one line."""

    left: float
    right: float
    base: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def fits(links: Links) -> bool:
    """Whether lines between the texts can be followed."""
    return 0 < len(links.left) <= MOST_WORDS and 0 < len(links.right) <= MOST_WORDS


def picture(links: Links, room: int) -> str:
    """The picture, at most `room` pixels wide."""
    sides = [_lines(side, room) for side in (links.left, links.right)]
    wide = max(word.right for side in sides for line in side for word in line) + EDGE
    upper, lower = (
        _set(lines, wide, top, right_to_left(text))
        for lines, top, text in zip(sides, _tops(sides), links.texts, strict=True)
    )
    high = lower[-1].base + BELOW + EDGE
    return (
        f'<svg class="pair" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" role="group" '
        f'aria-label="{escaped(spoken(links))}">{_drawn(links, upper, lower)}</svg>'
    )


def _lines(tokens: Sequence[Token], room: int) -> list[list[Word]]:
    """The words of a text on as many lines as it takes."""
    lines: list[list[Word]] = [[]]
    left = EDGE
    for place, token in enumerate(tokens):
        text = shortened(token.text, MOST_LETTERS)
        wide = max(width(text), NARROW) * SIZE
        if lines[-1] and left + wide > room - EDGE:
            lines.append([])
            left = EDGE
        spaced = place + 1 < len(tokens) and token.end < tokens[place + 1].start
        lines[-1].append(Word(text, spaced, left, left + wide, 0.0))
        left += wide + (GAP if spaced else CLOSE)
    return lines


def _tops(sides: Sequence[Sequence[object]]) -> tuple[float, float]:
    first = EDGE + ABOVE
    return first, first + (len(sides[0]) - 1) * LINE + BELOW + BETWEEN + ABOVE


def _set(lines: Sequence[Sequence[Word]], wide: float, top: float, mirrored: bool) -> list[Word]:
    """The words where they are drawn; a text from right to left begins at the right."""
    found = []
    for number, line in enumerate(lines):
        for word in line:
            sides = (wide - word.right, wide - word.left) if mirrored else (word.left, word.right)
            found.append(Word(word.text, word.spaced, *sides, top + number * LINE))
    return found


def _drawn(links: Links, upper: Sequence[Word], lower: Sequence[Word]) -> str:
    """Lines, above them the frames of phrases, and above these the words."""
    curves: list[str] = []
    frames: dict[tuple[int, Span], str] = {}  # a phrase may have several links: the strongest comes first and counts
    for pair, share in zip(links.pairs, links.strengths(), strict=True):
        first, second = _frames(upper, pair.rows), _frames(lower, pair.columns)
        title = f"<title>{escaped(titled(*links.said(pair), links.figure(pair.weight)))}</title>"
        style = f"{links.style(share)}{' minus' if links.against(share) else ''}"
        curves.append(f'<path class="{style}" {_curve(first[-1], second[0], share)}>{title}</path>')
        for side, span, parts in ((0, pair.rows, first), (1, pair.columns, second)):
            frames.setdefault((side, span), "".join([_box(part, style, title) for part in parts]))
    texts = [
        _text(words, {place for number, span in frames if number == side for place in range(*span)})
        for side, words in enumerate((upper, lower))
    ]
    return "".join([*curves, *frames.values(), *texts])


def _frames(words: Sequence[Word], span: Span) -> list[Frame]:
    """A phrase in its place, a part for each line that it is on."""
    by_line: dict[float, list[Word]] = {}
    for word in words[slice(*span)]:
        by_line.setdefault(word.base, []).append(word)
    return [
        Frame(min(word.left for word in own), max(word.right for word in own), base) for base, own in by_line.items()
    ]


def _curve(first: Frame, second: Frame, share: float) -> str:
    """From below the last line of one phrase to above the first line of the other."""
    start, end = first.base + BELOW, second.base - ABOVE
    bend = (start + end) / 2
    where = f"M{first.middle:.1f} {start:.1f}C{first.middle:.1f} {bend:.1f} {second.middle:.1f} {bend:.1f} "
    return f'd="{where}{second.middle:.1f} {end:.1f}" stroke-width="{THIN + (THICK - THIN) * abs(share):.1f}"'


def _box(frame: Frame, style: str, title: str) -> str:
    wide, high = frame.right - frame.left + 6, ABOVE + BELOW
    where = f'x="{frame.left - 3:.1f}" y="{frame.base - ABOVE:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    return f'<rect class="{style}" {where} rx="4">{title}</rect>'


def _text(words: Sequence[Word], framed: Set[int]) -> str:
    """The words of a text, an element for each line, so that it is selected and copied as lines."""
    lines: dict[float, list[str]] = {}
    for place, word in enumerate(words):
        style = "" if place in framed else ' class="bare"'
        space = " " if word.spaced and words[place + 1].base == word.base else ""
        middle = (word.left + word.right + width(space) * SIZE) / 2  # the space is centred together with its word
        drawn = f'<tspan x="{middle:.1f}"{style}>{escaped(word.text)}</tspan>{space}'
        lines.setdefault(word.base, []).append(drawn)
    return "".join([f'<text y="{base:.1f}">{"".join(own)}</text>' for base, own in lines.items()])
