"""Charts of training runs as inline SVG: lines over updates with a band over seeds, and groups of bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rationales.report import svg
from rationales.report.charts import BOTTOM, GAP, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart
from rationales.report.figures import fixed, number
from rationales.report.svg import Look, Scale

KEPT = 1.8
"""Pixels of a bar's side that stay free."""


@dataclass(frozen=True)
class Spread:
    """The mean of some runs, the lowest and the highest of them."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Of those that can be drawn, if there are any.

        >>> Spread.of([0.25, 0.75, float("nan")])
        Spread(mean=0.5, low=0.25, high=0.75)
        """
        known = [value for value in values if svg.drawable(value)]
        return cls(math.fsum(known) / len(known), min(known), max(known)) if known else None


@dataclass(frozen=True)
class Words:
    """What a chart says beside its numbers: its title, how to read it, and what its axes are."""

    title: str
    note: str
    across: str
    up: str


@dataclass(frozen=True)
class Line:
    """What is drawn of one kind of runs: points in the order of x."""

    name: str
    look: Look
    points: tuple[tuple[float, Spread], ...]


def trend(
    name: str, words: Words, lines: Sequence[Line], *, turn: float | None = None, from_zero: bool = True
) -> Chart | None:
    """Lines over x, each in a band from its lowest to its highest run; an upright line at `turn`.

    None if there is nothing to draw. The scale is that of the values, and begins at 0 unless it need not.
    """
    lines = [line for line in lines if line.points]
    if not lines:
        return None
    places = sorted({x for line in lines for x, _ in line.points})
    across = Scale(0.0, places[-1], LEFT, RIGHT)
    heights = [end for line in lines for _, y in line.points for end in (y.low, y.high)]
    up = svg.fitted(heights, BOTTOM, TOP)
    if from_zero and up.high > 0 and min(heights) >= 0:
        up = Scale(0.0, up.high, BOTTOM, TOP)
    ends = [line.points[-1] for line in lines]
    names = svg.apart([up(y.mean) for _, y in ends], GAP, TOP, BOTTOM)
    parts = [svg.axes(across, up, words.across, words.up)]
    if turn is not None:
        parts.append(svg.line(across(turn), BOTTOM, across(turn), TOP, "turn"))
    parts += [_band(line, across, up) for line in lines]
    for line, (x, y), name_at in zip(lines, ends, names, strict=True):
        parts.append(svg.curve([(across(x), up(y.mean)) for x, y in line.points], line.look))
        parts += [
            svg.marker(across(x), up(y.mean), line.look, f"{line.name}: {fixed(y.mean)} after {number(x)} updates")
            for x, y in line.points
        ]
        parts.append(svg.line(across(x) + 6, up(y.mean), RIGHT + 12, name_at, "leader"))
        parts.append(svg.text(RIGHT + 16, name_at + 4, svg.shortened(line.name), f"name {line.look.style}"))
    said = ", ".join(f"{line.name} {fixed(y.mean)}" for line, (_, y) in zip(lines, ends, strict=True))
    rows = [(line.name, *(_said(dict(line.points).get(x)) for x in places)) for line in lines]
    return Chart(
        words.title,
        words.note,
        svg.picture(name, WIDTH, HEIGHT, words.title, f"{words.note} At the right end: {said}.", parts),
        (words.across, *map(number, places)),
        tuple(rows),
    )


def _band(line: Line, across: Scale, up: Scale) -> Markup:
    above = [(across(x), up(y.high)) for x, y in line.points]
    below = [(across(x), up(y.low)) for x, y in reversed(line.points)]
    where = "L".join(f"{x} {y}" for x, y in (*above, *below))
    return Markup('<path d="M{}z" class="band {}"/>').format(where, line.look.style)


def bars(
    name: str,
    words: Words,
    groups: Mapping[str, Mapping[str, Spread | None]],
    looks: Mapping[str, Look],
) -> Chart | None:
    """A group of bars for each name on the axis, in it one for each look, with a line from lowest to highest run."""
    drawn = [spread for group in groups.values() for spread in group.values() if spread is not None]
    if not drawn:
        return None
    top = max(*(spread.high for spread in drawn), 1e-9)
    up = Scale(min(0.0, *(spread.low for spread in drawn)), top * 1.05, BOTTOM, TOP)
    room = (RIGHT - LEFT) / len(groups)
    parts = [_bar_axes(words, list(groups), up)]
    for place, (group, spreads) in enumerate(groups.items()):
        wide = min(room * 0.8 / len(looks), 44.0)
        start = LEFT + (place + 0.5) * room - wide * len(looks) / 2
        for number_, (kind, look) in enumerate(looks.items()):
            spread = spreads.get(kind)
            if spread is not None:
                parts.append(_bar(start + number_ * wide, wide, spread, up, look, f"{group}, {kind}"))
    for place, (kind, look) in enumerate(looks.items()):
        y = TOP + 12 + place * (GAP + 5)
        parts.append(svg.marker(RIGHT + 20, y - 4, look, ""))
        parts.append(svg.text(RIGHT + 32, y, svg.shortened(kind), f"name {look.style}"))
    rows = [(group, *(_said(spreads.get(kind)) for kind in looks)) for group, spreads in groups.items()]
    said = "; ".join(
        f"{group}: " + ", ".join(f"{kind} {value}" for kind, value in zip(looks, values, strict=True))
        for group, *values in rows
    )
    return Chart(
        words.title,
        words.note,
        svg.picture(name, WIDTH, HEIGHT, words.title, f"{words.note} {said}.", parts),
        (words.across, *looks),
        tuple(rows),
    )


def _bar(left: float, wide: float, spread: Spread, up: Scale, look: Look, about: str) -> Markup:
    x, y = round(left + KEPT / 2, 1), up(spread.mean)
    middle = round(left + wide / 2, 1)
    parts = [
        Markup('<rect x="{}" y="{}" width="{}" height="{}" class="bar {}"/>').format(
            x, min(y, up(0.0)), round(wide - KEPT, 1), round(abs(up(0.0) - y), 1), look.style
        ),
        svg.line(middle, up(spread.low), middle, up(spread.high), "spread"),
        svg.marker(middle, y, look, f"{about}: {_said(spread)}"),
    ]
    return Markup("").join(parts)


def _bar_axes(words: Words, groups: Sequence[str], up: Scale) -> Markup:
    room = (RIGHT - LEFT) / len(groups)
    parts = [svg.upright(up, LEFT, RIGHT)]
    for place, group in enumerate(groups):
        parts.append(svg.text(round(LEFT + (place + 0.5) * room, 1), BOTTOM + 18, group, "tick", "middle"))
    parts.append(svg.line(LEFT, up(0.0), RIGHT, up(0.0), "axis"))
    parts.append(svg.text((LEFT + RIGHT) / 2, BOTTOM + 38, words.across, "label", "middle"))
    parts.append(svg.text(11, (TOP + BOTTOM) / 2, words.up, "label", "middle", turned=True))
    return Markup("").join(parts)


def _said(spread: Spread | None) -> str:
    """The mean, and the lowest and the highest where they differ."""
    if spread is None:
        return "–"
    if spread.low == spread.high:
        return fixed(spread.mean)
    return f"{fixed(spread.mean)} ({fixed(spread.low)} to {fixed(spread.high)})"
