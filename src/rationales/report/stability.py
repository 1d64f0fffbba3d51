"""How alike models are explained, ready to be drawn: a table of the methods, and a matrix of the models for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from rationales.comparison.types import Likeness, Overlap, Stability, Summary
from rationales.report import charts
from rationales.report.charts import Chart
from rationales.report.figures import fixed
from rationales.report.ranking import bounds
from rationales.report.safe import escaped
from rationales.report.strength import level
from rationales.report.svg import Look

_LESS = "less than trained models"


@dataclass(frozen=True)
class Cell:
    """One mean over pairs of models: as text, as a number to sort by, as a picture, and how it compares."""

    mean: str
    interval: Markup
    value: float
    verdict: str
    picture: Markup


@dataclass(frozen=True)
class Row:
    """One method of the table."""

    method: str
    sample: Markup
    cells: tuple[Cell, ...]
    chance: str
    chance_value: float


@dataclass(frozen=True)
class StabilityView:
    """The section of one comparison; `key` makes its ids unique, `heads` are the columns of means."""

    key: str
    data: str
    stability: Stability
    texts: int
    heads: tuple[str, ...]
    rows: list[Row]
    charts: list[Chart]


def view(summary: Summary, key: str, looks: Mapping[str, Look]) -> StabilityView | None:
    """What there is to show, if stability was asked for."""
    stability = summary.stability
    if stability is None:
        return None
    trained = any(item.trained for item in stability.methods)
    heads = (("between trained models",) if trained else ()) + (
        ("with the untrained model",) if stability.untrained else ()
    )
    rows = [_row(item, looks[item.method], trained, bool(stability.untrained)) for item in stability.methods]
    matrices = [_chart(stability, item) for item in stability.methods]
    return StabilityView(key, summary.data, stability, summary.texts, heads, rows, matrices)


def _row(item: Likeness, look: Look, trained: bool, untrained: bool) -> Row:
    cells = []
    if trained:
        cells.append(_cell(item.trained, _beyond_chance(item.trained), look))
    if untrained:
        said = "" if math.isnan(item.gap[0]) else _LESS if item.tells_training else f"! not clearly {_LESS}"
        cells.append(_cell(item.untrained, said or _beyond_chance(item.untrained), look))
    chances = [overlap.chance for overlap in (item.trained, item.untrained) if overlap is not None]
    chance = sum(chances) / len(chances) if chances else math.nan
    return Row(item.method, charts.sample(look), tuple(cells), fixed(chance), chance)


def _cell(overlap: Overlap | None, verdict: str, look: Look) -> Cell:
    if overlap is None or not overlap.count:
        return Cell("–", Markup(""), math.nan, "", Markup(""))
    picture = charts.interval(overlap, overlap.chance, 0.0, 1.0, look)
    return Cell(fixed(overlap.mean), bounds(overlap), overlap.mean, verdict, picture)


def _beyond_chance(overlap: Overlap | None) -> str:
    if overlap is None or math.isnan(overlap.gain[0]):
        return ""
    return "more than chance" if overlap.beats_random else "no more than chance"


def _chart(stability: Stability, item: Likeness) -> Chart:
    """The matrix of one method, and the same with intervals as a table."""
    rows = [
        (
            f"{pair.one} – {pair.other}",
            fixed(pair.overlap.mean),
            f"{fixed(pair.overlap.low)} to {fixed(pair.overlap.high)}",
            fixed(pair.overlap.chance),
            "–" if math.isnan(pair.overlap.same_label) else f"{100 * pair.overlap.same_label:.0f} %",
        )
        for pair in item.pairs
    ]
    note = "The stronger the colour, the more alike. Columns are the models of the rows, by their numbers."
    heads = ("models", "overlap", "95 % interval", "chance", "same label")
    return Chart(item.method, note, _matrix(stability, item), heads, tuple(rows))


def _matrix(stability: Stability, item: Likeness) -> Markup:
    """Models × models, with numbers, shaded by them."""
    models = [model for model in stability.models if any(model in (pair.one, pair.other) for pair in item.pairs)]
    means = {frozenset((pair.one, pair.other)): pair.overlap.mean for pair in item.pairs}
    heads = Markup("").join(
        Markup(
            '<th scope="col"><span aria-hidden="true">{}</span><span class="unseen"><bdi>{}</bdi></span></th>'
        ).format(number, escaped(model))
        for number, model in enumerate(models, 1)
    )
    rows = Markup("").join(
        Markup('<tr{}><th scope="row"><bdi>{}</bdi> <span aria-hidden="true">{}</span></th>{}</tr>').format(
            Markup(' class="untrained"') if model == stability.untrained else "",
            escaped(model),
            number,
            Markup("").join(
                Markup('<td class="own">{}</td>').format(fixed(1, 2))
                if other == model
                else _shaded(means[frozenset((model, other))])
                for other in models
            ),
        )
        for number, model in enumerate(models, 1)
    )
    return Markup(
        '<table class="agreement"><caption class="unseen">Overlap of the models in rows with those in columns, by {}'
        "</caption><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>"
    ).format(escaped(item.method), heads, rows)


def _shaded(mean: float) -> Markup:
    style = level(mean) if math.isfinite(mean) else ""
    return Markup('<td class="{}">{}</td>').format(style, fixed(mean, 2))
