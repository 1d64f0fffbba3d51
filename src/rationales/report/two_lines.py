"""Two texts, one above the other, with lines between the phrases that are linked: an SVG whose text can be selected.

The thicker a line, the stronger the link; it is dashed where the weight is negative, unless links are kept. Long texts
wrap. Colours come from the style of the page.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache, lru_cache
from typing import NamedTuple

from rationales.explanation import Token
from rationales.explanation.phrases import Span
from rationales.report.letters import is_measured, right_to_left, width
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


class Word(NamedTuple):
    """A word in its place: from `left` to `right`, on the line at the height `base`.

    It is drawn as `before` and `after`, between which its class may stand.
    """

    left: float
    right: float
    base: float
    before: str
    after: str


class Frame(NamedTuple):
    """The part of a phrase that is on one line: `box` is where it is, as attributes."""

    middle: float
    base: float
    box: str


class Side:
    """The words of a text in their places."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.frames = cache(self._frames)  # several links, and several methods, may have the same phrase

    def _frames(self, span: Span) -> list[Frame]:
        """A phrase in its place, a part for each line that it is on."""
        by_line: dict[float, list[Word]] = {}
        for word in self.words[slice(*span)]:
            by_line.setdefault(word.base, []).append(word)
        return [_frame(own[0], own[-1]) for own in by_line.values()]

    def text(self, framed: Set[int]) -> str:
        """An element for each line, so that the text is selected and copied as lines."""
        lines: dict[float, list[str]] = {}
        for place, word in enumerate(self.words):
            style = "" if place in framed else ' class="bare"'
            lines.setdefault(word.base, []).append(f"{word.before}{style}{word.after}")
        return "".join([f'<text y="{base:.1f}">{"".join(own)}</text>' for base, own in lines.items()])


def _frame(first: Word, last: Word) -> Frame:
    """Around the words of a line from the first to the last, whichever of them is further to the left."""
    left, right, base = min(first.left, last.left), max(first.right, last.right), first.base
    wide, high = right - left + 6, ABOVE + BELOW
    box = f'x="{left - 3:.1f}" y="{base - ABOVE:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    return Frame((left + right) / 2, base, box)


class Layout(NamedTuple):
    """Both texts, and how wide and high they are."""

    wide: float
    high: float
    upper: Side
    lower: Side


def fits(links: Links) -> bool:
    """Whether lines between the texts can be followed."""
    return 0 < len(links.left) <= MOST_WORDS and 0 < len(links.right) <= MOST_WORDS


def picture(links: Links, room: int) -> str:
    """The picture, at most `room` pixels wide."""
    layout = _laid_out(links.texts, (links.left, links.right), room)
    wide, high = f"{layout.wide:.0f}", f"{layout.high:.0f}"
    return (
        f'<svg class="pair" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="{escaped(spoken(links))}">{_drawn(links, layout)}</svg>'
    )


@lru_cache(maxsize=4)  # each method of a pair has the same words
def _laid_out(texts: tuple[str, ...], sides: tuple[tuple[Token, ...], ...], room: int) -> Layout:
    first, second = (_lines(side, room) for side in sides)
    wide = max(line[-1].right for line in (*first, *second)) + EDGE
    top = EDGE + ABOVE
    upper = _set(first, wide, top, right_to_left(texts[0]))
    lower = _set(second, wide, upper[-1].base + BELOW + BETWEEN + ABOVE, right_to_left(texts[1]))
    return Layout(wide, lower[-1].base + BELOW + EDGE, Side(upper), Side(lower))


class _Unset(NamedTuple):
    """A word on its line; `gap` is the space behind it, if there is one."""

    text: str
    gap: str
    left: float
    right: float


def _lines(tokens: Sequence[Token], room: int) -> list[list[_Unset]]:
    """The words of a text on as many lines as it takes."""
    lines: list[list[_Unset]] = [[]]
    left = EDGE
    for place, token in enumerate(tokens):
        text = shortened(token.text, MOST_LETTERS)
        wide = max(width(text), NARROW) * SIZE
        if lines[-1] and left + wide > room - EDGE:
            lines.append([])
            left = EDGE
        spaced = place + 1 < len(tokens) and token.end < tokens[place + 1].start
        lines[-1].append(_Unset(text, " " if spaced else "", left, left + wide))
        left += wide + (GAP if spaced else CLOSE)
    return lines


def _set(lines: Sequence[Sequence[_Unset]], wide: float, top: float, mirrored: bool) -> list[Word]:
    """The words where they are drawn; a text from right to left begins at the right."""
    found = []
    for number, line in enumerate(lines):
        for place, word in enumerate(line):
            left, right = (wide - word.right, wide - word.left) if mirrored else (word.left, word.right)
            space = word.gap if place + 1 < len(line) else ""
            middle = (left + right + width(space) * SIZE) / 2  # the space is centred together with its word
            drawn = f'<tspan x="{middle:.1f}"{_squeezed(word.text)}', f">{escaped(word.text)}</tspan>{space}"
            found.append(Word(left, right, top + number * LINE, *drawn))
    return found


def _squeezed(word: str) -> str:
    """Attributes that make a word as wide as its place, in whichever font it is shown."""
    return f' textLength="{width(word) * SIZE:.1f}" lengthAdjust="spacingAndGlyphs"' if is_measured(word) else ""


def _drawn(links: Links, layout: Layout) -> str:
    """Lines, above them the frames of phrases, and above these the words."""
    curves: list[str] = []
    frames: dict[tuple[int, Span], str] = {}  # a phrase may have several links: the strongest comes first and counts
    for pair, said, share in zip(links.pairs, links.said, links.strengths(), strict=True):
        first, second = layout.upper.frames(pair.rows), layout.lower.frames(pair.columns)
        title = f"<title>{escaped(titled(*said))}</title>"
        style = f"{links.style(share)}{' minus' if links.against(share) else ''}"
        curves.append(f'<path class="{style}" {_curve(first[-1], second[0], share)}>{title}</path>')
        for side, span, parts in ((0, pair.rows, first), (1, pair.columns, second)):
            if (side, span) not in frames:
                boxes = [f'<rect class="{style}" {part.box} rx="4">{title}</rect>' for part in parts]
                frames[side, span] = "".join(boxes)
    texts = [
        side.text({place for number, span in frames if number == which for place in range(*span)})
        for which, side in enumerate((layout.upper, layout.lower))
    ]
    return "".join([*curves, *frames.values(), *texts])


def _curve(first: Frame, second: Frame, share: float) -> str:
    """From below the last line of one phrase to above the first line of the other."""
    start, end = first.base + BELOW, second.base - ABOVE
    bend = (start + end) / 2
    where = f"M{first.middle:.1f} {start:.1f}C{first.middle:.1f} {bend:.1f} {second.middle:.1f} {bend:.1f} "
    return f'd="{where}{second.middle:.1f} {end:.1f}" stroke-width="{THIN + (THICK - THIN) * abs(share):.1f}"'
