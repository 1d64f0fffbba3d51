"""The ranked table and the matrix of agreement, row by row, as a template wants them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rationales.comparison.types import FLOORS, Agreement, Figure, Measure, Standing
from rationales.report import charts, svg
from rationales.report.figures import counted, fixed, number, options_line
from rationales.report.safe import escaped
from rationales.report.strength import level
from rationales.report.svg import Look

NO_FIGURE = Figure(math.nan, math.nan, math.nan, 0, 0)


@dataclass(frozen=True)
class Cell:
    """One figure: as text, as a number to sort by, as a picture, and how it compares with random."""

    mean: str
    interval: Markup
    value: float
    verdict: str
    sign: str
    picture: Markup
    count: str
    note: str


@dataclass(frozen=True)
class Row:
    """One method of the ranked table; `place` is what is shown as its rank."""

    standing: Standing
    name: Markup
    place: str
    options: str
    sample: Markup
    cells: tuple[Cell, ...]
    cost: str

    @property
    def is_floor(self) -> bool:
        return self.standing.method in FLOORS


@dataclass(frozen=True)
class Column:
    """One metric of the ranked table, and what random reaches in it."""

    measure: Measure
    name: Markup
    options: str
    floor: str
    ranks: bool


def columns(measures: Sequence[Measure], standings: Sequence[Standing], ranked_by: str) -> list[Column]:
    """The metrics, the one that ranks first."""
    ordered = sorted(measures, key=lambda measure: measure.name != ranked_by)
    floors = _floors(standings)
    return [
        Column(
            measure,
            breakable(measure.name),
            options_line(measure.options),
            fixed(floor.mean) if (floor := floors.get(measure.name, NO_FIGURE)).count else "",
            measure.name == ranked_by,
        )
        for measure in ordered
    ]


def rows(heads: Sequence[Column], standings: Sequence[Standing], looks: Mapping[str, Look]) -> Iterator[Row]:
    """The methods in the order of their ranks; those that failed come last."""
    floors = _floors(standings)
    ranges = {head.measure.name: _range(standings, head.measure.name) for head in heads}
    for standing in sorted(standings, key=lambda s: (bool(s.failure), s.rank)):
        look = looks[standing.method]
        yield Row(
            standing,
            breakable(standing.method),
            "–" if standing.failure else str(standing.rank),
            options_line(standing.params),
            charts.sample(look),
            tuple(
                _cell(standing.figures.get(name, NO_FIGURE), floors.get(name, NO_FIGURE), span, look, standing.method)
                for name, span in ranges.items()
            ),
            number(standing.seconds_per_1000_tokens, 2),
        )


def _floors(standings: Sequence[Standing]) -> Mapping[str, Figure]:
    return next((standing.figures for standing in standings if standing.method in FLOORS), {})


def _range(standings: Sequence[Standing], metric: str) -> tuple[float, float]:
    figures = [standing.figures[metric] for standing in standings if metric in standing.figures]
    bounds = [x for figure in figures for x in (figure.mean, figure.low, figure.high) if svg.drawable(x)]
    return (min(bounds), max(bounds)) if bounds else (math.nan, math.nan)


def _cell(figure: Figure, floor: Figure, span: tuple[float, float], look: Look, method: str) -> Cell:
    said, sign = ("the floor", "") if method in FLOORS else verdict(figure)
    total = figure.count + figure.undefined
    return Cell(
        fixed(figure.mean),
        bounds(figure),
        figure.mean,
        said,
        sign,
        charts.interval(figure, floor.mean, *span, look),
        f"{figure.count:,}",
        f"undefined for {figure.undefined:,} of {counted(total, 'text')}" if figure.undefined else "",
    )


def bounds(figure: Figure) -> Markup:
    """The interval of a figure; the style shortens the word in it where there is little room."""
    if not math.isfinite(figure.low + figure.high):
        return Markup("")
    low, high = fixed(figure.low), fixed(figure.high)
    return Markup('<span class="bounds">{}<span> to </span>{}</span>').format(low, high)


def breakable(name: str) -> Markup:
    """A name that may go on in another line behind each underscore.

    >>> breakable("token_f1 <b>")
    Markup('token_<wbr>f1 &lt;b&gt;')
    """
    return Markup("_<wbr>").join(map(escaped, name.split("_")))


def verdict(figure: Figure) -> tuple[str, str]:
    """How a figure compares with random on the same texts, in words and as a sign."""
    low, high = figure.gain
    if math.isnan(low) or math.isnan(high):
        return "", ""
    if low > 0:
        return "better than random", "▲"
    return ("worse than random", "▼") if high < 0 else ("no better than random", "≈")


@dataclass(frozen=True)
class Agreed:
    """One cell of the matrix: a rank correlation and its shade."""

    value: str
    style: str
    own: bool


def matrix(agreement: Agreement) -> list[tuple[str, list[Agreed]]]:
    """The rows of the matrix, each with its method."""
    return [
        (
            method,
            [Agreed(fixed(value, 2), _shade(value), column == row) for column, value in enumerate(values)],
        )
        for row, (method, values) in enumerate(zip(agreement.methods, agreement.matrix, strict=True))
    ]


def _shade(value: float) -> str:
    return level(max(-1.0, min(1.0, value))) if math.isfinite(value) else ""
