"""The parts of a chart: scales with their ticks, markers, axes, labels that keep clear of each other.

Colours come from the classes of the page's style, never from here, so that a chart follows the theme.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from rationales.report.figures import aligned, number
from rationales.report.safe import escaped

FLOOR = "floor"
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2")
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",  # circle
    "M-3.6-3.6h7.2v7.2h-7.2z",  # square
    "M0-4.6L4.4 3.4H-4.4z",  # triangle
    "M0-5L4.4 0L0 5L-4.4 0z",  # diamond
    "M0 4.6L4.4-3.4H-4.4z",  # triangle, upside down
    "M-1.4-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z",  # plus
    "M-4.6-1.4L-1.4-4.6L0-2.6L1.4-4.6L4.6-1.4L2.6 0L4.6 1.4L1.4 4.6L0 2.6L-1.4 4.6L-4.6 1.4L-2.6 0z",  # cross
)


@dataclass(frozen=True)
class Look:
    """How a method is drawn in every chart: a colour, a dash and a marker, so that no two share all three."""

    style: str
    dash: str
    marker: str


def looks(methods: Iterable[str], floors: Collection[str], colours: int) -> Mapping[str, Look]:
    """A look for each method; that of floors is a thin grey one."""
    others = [method for method in dict.fromkeys(methods) if method not in floors]
    found = {
        method: Look(f"s{place % colours}", _DASHES[place % len(_DASHES)], _MARKERS[place % len(_MARKERS)])
        for place, method in enumerate(others)
    }
    return {**found, **dict.fromkeys(floors, Look(FLOOR, "1 4", _MARKERS[0]))}


@dataclass(frozen=True)
class Scale:
    """Values [low, high] → pixels [start, end]: evenly, by square root, or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    how: Literal["even", "root", "log"] = "even"

    def __call__(self, value: float) -> float:
        bend = {"even": float, "root": math.sqrt, "log": math.log}[self.how]
        low, high, at = bend(self.low), bend(self.high), bend(value)
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Round values inside the scale, some four to seven of them."""
        if self.how == "log":
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            many = len(powers) > 4
            candidates = [base * 10.0**power for power in powers for base in ((1,) if many else (1, 2, 5))]
            inside = [tick for tick in candidates if self.low <= tick <= self.high]
            return inside[:: math.ceil(len(inside) / 7)]
        step = _round_step((self.high - self.low) / 5)
        return [
            place * step for place in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        ]

    def said(self, ticks: Sequence[float]) -> list[str]:
        """The ticks as they are written: with equal decimals, unless they go over many powers of ten."""
        return list(map(number, ticks)) if self.how == "log" and self.high > 1e4 * self.low else aligned(ticks)


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return min((base * size for base in (1, 2, 2.5, 5, 10)), key=lambda step: abs(step - rough))


def drawable(*values: float) -> bool:
    """Whether numbers can be on a scale: finite, and not so large that differences between them are not.

    >>> drawable(0.5, -3), drawable(float("nan")), drawable(1e308)
    (True, False, False)
    """
    return all(abs(value) < 1e100 for value in values)


def fitted(values: Iterable[float], start: float, end: float, *, log: bool = False) -> Scale:
    """A scale with a little room around the values."""
    given = list(values)
    low, high = min(given), max(given)
    if log:
        return Scale(low / 1.6, high * 1.6, start, end, "log")
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low - room, high + room, start, end)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in the same order, at least a gap from each other and inside [low, high].

    >>> apart([10, 11, 50], gap=5, low=0, high=60)
    [8.0, 13.0, 50.0]
    """
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    groups: list[list[int]] = []  # neighbours that touch are moved together, around their common middle

    def start(group: list[int]) -> float:
        middle = sum(wanted[place] for place in group) / len(group)
        return min(max(middle - gap * (len(group) - 1) / 2, low), high - gap * (len(group) - 1))

    for place in order:
        groups.append([place])
        while len(groups) > 1 and start(groups[-2]) + gap * len(groups[-2]) > start(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = [0.0] * len(wanted)
    for group in groups:
        for offset, place in enumerate(group):
            found[place] = round(start(group) + offset * gap, 1)
    return found


@dataclass(frozen=True)
class Box:
    """A rectangle that a label should keep clear of."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)


LETTER, LINE = 7.2, 14.0
"""About the size of a letter and of a line of a label, in pixels of the chart."""


def beside(points: Sequence[tuple[Box, str]], taken: Sequence[Box], frame: Box) -> list[tuple[float, float, str]]:
    """Where the names of points go, as (x, y, anchor): beside each, where it covers least of what is there already."""
    covered = [*taken, *(box for box, _ in points)]
    found = []
    for box, name in points:
        places = _around(box)
        boxes = [_label_box(place, len(name) * LETTER) for place in places]
        best = min(range(len(places)), key=[_badness(each, covered, frame) for each in boxes].__getitem__)
        covered.append(boxes[best])
        found.append(places[best])
    return found


def _around(box: Box) -> list[tuple[float, float, str]]:
    """The places for a label around a box, the best first: right, left, above, below, and the corners."""
    middle, centre = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + 4
    above, below = box.top - 4, box.bottom + LINE
    corners = [(x, y, anchor) for y in (above, below) for x, anchor in ((box.right, "start"), (box.left, "end"))]
    sides = [(box.right + 3, centre, "start"), (box.left - 3, centre, "end")]
    return [*sides, (middle, above, "middle"), (middle, below, "middle"), *corners]


def _label_box(place: tuple[float, float, str], width: float) -> Box:
    x, y, anchor = place
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return Box(left, y - LINE + 3, left + width, y + 3)


def _badness(box: Box, covered: Iterable[Box], frame: Box) -> float:
    """The area covered twice; what is outside of the frame is not seen at all and counts more."""
    outside = (box.right - box.left) * (box.bottom - box.top) - box.overlap(frame)
    return sum(map(box.overlap, covered)) + 10 * max(0.0, outside)


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start", turned: bool = False) -> Markup:
    """A line of text; `turned` reads from bottom to top."""
    turn = Markup(' transform="rotate(-90 {} {})"').format(x, y) if turned else ""
    return Markup('<text x="{}" y="{}" class="{}" text-anchor="{}"{}>{}</text>').format(
        x, y, style, anchor, turn, escaped(words)
    )


def line(x0: float, y0: float, x1: float, y1: float, style: str) -> Markup:
    """A straight line."""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(x0, y0, x1, y1, style)


def curve(points: Iterable[tuple[float, float]], look: Look) -> Markup:
    """A line through points, dashed as its method's are."""
    where = "L".join(f"{x} {y}" for x, y in points)
    return Markup('<path d="M{}" class="curve {}" stroke-dasharray="{}"/>').format(where, look.style, look.dash)


def marker(x: float, y: float, look: Look, about: str) -> Markup:
    """The sign of a method at a point; pointing at it says what it is."""
    said = Markup("<title>{}</title>").format(escaped(about)) if about else ""
    return Markup('<path d="{}" transform="translate({} {})" class="dot {}">{}</path>').format(
        look.marker, x, y, look.style, said
    )


def shortened(name: str, most: int = 22) -> str:
    """A name that fits beside a chart.

    >>> shortened("integrated_gradients"), shortened("a" * 30)
    ('integrated_gradients', 'aaaaaaaaaaaaaaaaaaaaa…')
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def upright(up: Scale, left: float, right: float) -> Markup:
    """The numbers of the upright axis, and a faint line at each."""
    parts = []
    ticks = up.ticks()
    for tick, said in zip(ticks, up.said(ticks), strict=True):
        parts.append(line(left, up(tick), right, up(tick), "grid"))
        parts.append(text(left - 8, up(tick) + 4, said, "tick", "end"))
    return Markup("").join(parts)


def axes(across: Scale, up: Scale, across_label: str, up_label: str, shares: Sequence[float] = ()) -> Markup:
    """Both axes with ticks, faint lines at the ticks of the upright one, and labels; shares are ticks in percent."""
    parts = [upright(up, across.start, across.end)]
    ticks = shares or across.ticks()
    percent = [f"{share} %" for share in aligned([tick * 100 for tick in shares], digits=3)]
    for tick, said in zip(ticks, percent or across.said(ticks), strict=True):
        parts.append(line(across(tick), up.start, across(tick), up.start + 5, "axis"))
        parts.append(text(across(tick), up.start + 18, said, "tick", "middle"))
    parts.append(line(across.start, up.start, across.end, up.start, "axis"))
    parts.append(text((across.start + across.end) / 2, up.start + 38, across_label, "label", "middle"))
    parts.append(text(12, (up.start + up.end) / 2, up_label, "label", "middle", turned=True))
    return Markup("").join(parts)


def picture(name: str, width: int, height: int, title: str, about: str, parts: Iterable[Markup]) -> Markup:
    """An image with a title and a description for screen readers; `name` makes their ids unique."""
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{}-t {}-d" class="chart">'
        '<title id="{}-t">{}</title><desc id="{}-d">{}</desc>{}</svg>'
    ).format(width, height, name, name, name, escaped(title), name, escaped(about), Markup("").join(parts))
