"""The charts of the page as inline SVG: perturbation curves, faithfulness against cost, intervals in a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rationales.comparison.types import FLOORS, RANDOM, Figure, Measure, Standing
from rationales.report import svg
from rationales.report.figures import fixed, number
from rationales.report.svg import Box, Look, Scale

WIDTH, HEIGHT = 620, 380
LEFT, RIGHT, TOP, BOTTOM = 72, 442, 16, 326
GAP = 15.0
"""Between the lines of labels."""
TICK_ROOM = 30.0
"""For a number below an axis."""
FASTEST, SLOWEST = 1e-9, 1e9
"""Seconds per 1,000 tokens beyond which a time is a mistake, not a point on a scale."""


@dataclass(frozen=True)
class Chart:
    """A picture, what it shows, how to read it, and the same numbers as a table."""

    title: str
    note: str
    picture: Markup
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Line = list[tuple[float, float]]


def curves(name: str, standings: Sequence[Standing], looks: Mapping[str, Look]) -> list[Chart]:
    """The probability of the explained class as tokens go: the best first, and all but the best."""
    found = [(standing.method, standing.curves) for standing in standings if standing.curves is not None]
    without = {method: _line(each.fractions, each.without_best) for method, each in found}
    only = {method: _line(each.fractions, each.only_best) for method, each in found}
    charts = [
        _curves(
            f"{name}-without",
            {method: line for method, line in without.items() if line},
            ("Without the best words", "share of the tokens taken out, best first"),
            "The lower the line, the more the words that a method names had mattered to the model.",
            looks,
        ),
        _curves(
            f"{name}-only",
            {method: line for method, line in only.items() if line},
            ("With the best words only", "share of the tokens left in, best first"),
            "The higher the line, the more the words that a method names say by themselves.",
            looks,
        ),
    ]
    return [chart for chart in charts if chart is not None]


def _line(fractions: Sequence[float], values: Sequence[float]) -> Line:
    pairs = zip(fractions, values, strict=True)
    return sorted((x, y) for x, y in pairs if svg.drawable(x, y))


def _before_the_end(line: Line) -> Line:
    """Without the last point if all tokens are in play there: every method is the same then, and names need room."""
    return line[:-1] if len(line) > 1 and line[-1][0] >= 1 else line


def _clear(fractions: Sequence[float], across: Scale) -> list[float]:
    """The fractions that can be ticks without their numbers touching."""
    ticks: list[float] = []
    for x in fractions:
        if x <= across.high and (not ticks or across(x) - across(ticks[-1]) >= TICK_ROOM):
            ticks.append(x)
    return ticks


def _curves(
    name: str, lines: Mapping[str, Line], labels: tuple[str, str], note: str, looks: Mapping[str, Look]
) -> Chart | None:
    if not lines:
        return None
    title, across_label = labels
    fractions = sorted({x for line in lines.values() for x, _ in line})
    drawn = {method: _before_the_end(line) for method, line in lines.items()}
    across = Scale(0.0, max(x for line in drawn.values() for x, _ in line) or 1.0, LEFT, RIGHT, "root")
    up = svg.fitted([y for line in drawn.values() for _, y in line], BOTTOM, TOP)
    ends = [line[-1] for line in drawn.values()]
    names = svg.apart([up(y) for _, y in ends], GAP, TOP, BOTTOM)
    parts = [svg.axes(across, up, across_label, "mean probability of the label", _clear(fractions, across))]
    for (method, line), (x, y), name_at in zip(drawn.items(), ends, names, strict=True):
        look = looks[method]
        parts.append(svg.curve([(across(x), up(y)) for x, y in line], look))
        parts += [svg.marker(across(x), up(y), look, f"{method}: {fixed(y)} at {number(x * 100)} %") for x, y in line]
        parts.append(svg.line(across(x) + 6, up(y), RIGHT + 12, name_at, "leader"))
        parts.append(svg.text(RIGHT + 16, name_at + 4, svg.shortened(method), f"name {look.style}"))
    ranked = sorted(zip(lines, ends, strict=True), key=lambda pair: pair[1][1])
    said = ", ".join(f"{method} {fixed(y)}" for method, (_, y) in ranked)
    rows = [(method, *(fixed(dict(line).get(x, math.nan)) for x in fractions)) for method, line in lines.items()]
    return Chart(
        title,
        note,
        svg.picture(name, WIDTH, HEIGHT, title, f"{note} At the right end, from the bottom up: {said}.", parts),
        ("method", *(f"{number(x * 100)} %" for x in fractions)),
        tuple(rows),
    )


@dataclass(frozen=True)
class _Point:
    """A method in the chart of costs."""

    method: str
    seconds: float
    figure: Figure


def cost(name: str, standings: Sequence[Standing], measure: Measure, looks: Mapping[str, Look]) -> Chart | None:
    """A metric against seconds per 1,000 tokens: one point per method, the random floor as a line."""
    found = [
        _Point(standing.method, standing.seconds_per_1000_tokens, figure)
        for standing in standings
        if (figure := standing.figures.get(measure.name)) is not None and svg.drawable(figure.mean)
    ]
    points = [point for point in found if point.method not in FLOORS and FASTEST < point.seconds < SLOWEST]
    if not points:
        return None
    points.sort(key=lambda point: point.figure.mean)
    floor = next((point.figure.mean for point in found if point.method in FLOORS), math.nan)
    across = svg.fitted([point.seconds for point in points], LEFT, WIDTH - 20, log=True)
    heights = [y for point in points for y in _bounds(point.figure)]
    up = svg.fitted([*heights, *([floor] if svg.drawable(floor) else [])], BOTTOM, TOP)
    better = f"{measure.name} ({'higher' if measure.best == 'high' else 'lower'} is better)"
    parts = [svg.axes(across, up, "seconds per 1,000 tokens", better)]
    taken = []
    if svg.drawable(floor):
        said = f"{RANDOM} {fixed(floor)}"
        parts.append(svg.line(across.start, up(floor), across.end, up(floor), "floorline"))
        parts.append(svg.text(across.end, up(floor) - 6, said, f"name {svg.FLOOR}", "end"))
        taken.append(Box(across.end - len(said) * svg.LETTER, up(floor) - 18, across.end, up(floor) + 2))
    parts += _dots(points, across, up, taken, looks)
    rows = [(p.method, fixed(p.figure.mean), number(p.seconds)) for p in reversed(points)]
    said = ", ".join(f"{method} {mean} for {seconds} s" for method, mean, seconds in rows)
    title = f"{measure.name} against cost"
    note = "Each point is a method, with its 95 % interval. Further to the left is cheaper; the scale is logarithmic."
    return Chart(
        title,
        note,
        svg.picture(name, WIDTH, HEIGHT, title, f"{better}: {said}.", parts),
        ("method", measure.name, "seconds per 1,000 tokens"),
        tuple(rows),
    )


def _dots(
    points: Sequence[_Point], across: Scale, up: Scale, taken: Sequence[Box], looks: Mapping[str, Look]
) -> list[Markup]:
    names = [svg.shortened(point.method) for point in points]
    boxes = [_box(point, across, up) for point in points]
    labels = svg.beside(list(zip(boxes, names, strict=True)), taken, Box(LEFT, 0, WIDTH, BOTTOM))
    parts = []
    for point, name, label in zip(points, names, labels, strict=True):
        look, figure = looks[point.method], point.figure
        x, y = across(point.seconds), up(figure.mean)
        if svg.drawable(figure.low, figure.high):
            parts.append(svg.line(x, up(figure.low), x, up(figure.high), f"whisker {look.style}"))
        about = f"{point.method}: {fixed(figure.mean)} for {number(point.seconds)} s"
        parts.append(svg.marker(x, y, look, about))
        parts.append(svg.text(label[0], label[1], name, f"name {look.style}", label[2]))
    return parts


def _box(point: _Point, across: Scale, up: Scale) -> Box:
    """The marker and the interval of a point."""
    x, heights = across(point.seconds), [up(y) for y in _bounds(point.figure)]
    return Box(x - 7, min(heights) - 5, x + 7, max(heights) + 5)


def _bounds(figure: Figure) -> list[float]:
    return [y for y in (figure.mean, figure.low, figure.high) if svg.drawable(y)]


def interval(figure: Figure, floor: float, low: float, high: float, look: Look) -> Markup:
    """A mean with its interval on the scale of its column [low, high], and the random floor as a tick.

    It repeats numbers that stand beside it, so screen readers pass it over.
    """
    if not svg.drawable(figure.mean) or not low < high:
        return Markup("")
    scale = Scale(low, high, 5, 91)
    parts = [svg.line(5, 8, 91, 8, "grid")]
    if svg.drawable(floor):
        parts.append(svg.line(scale(floor), 1, scale(floor), 15, "floortick"))
    if svg.drawable(figure.low, figure.high):
        parts.append(svg.line(scale(figure.low), 8, scale(figure.high), 8, f"whisker {look.style}"))
    parts.append(Markup('<circle cx="{}" cy="8" r="3.6" class="dot {}"/>').format(scale(figure.mean), look.style))
    drawn = Markup("").join(parts)
    return Markup('<svg viewBox="0 0 96 16" class="interval" aria-hidden="true">{}</svg>').format(drawn)


def sample(look: Look) -> Markup:
    """The line and marker of a method, to stand beside its name."""
    parts = svg.curve([(2, 8), (30, 8)], look) + svg.marker(16, 8, look, "")
    return Markup('<svg viewBox="0 0 32 16" class="sample" aria-hidden="true">{}</svg>').format(parts)
