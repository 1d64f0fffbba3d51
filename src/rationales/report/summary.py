"""The figures of a comparison, ready to be drawn: a view for each model; and by themselves, for a notebook."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rationales.comparison.types import FLOORS, Agreement, Summary
from rationales.report import charts, grid, palette, ranking, stability, svg
from rationales.report.figures import answered, counted, fixed
from rationales.report.safe import asset, environment, escaped
from rationales.report.svg import Look


@dataclass(frozen=True)
class ModelView:
    """The figures of one model; `key` makes the ids of its elements unique."""

    key: str
    name: str
    summary: Summary
    advice: Markup
    columns: list[ranking.Column]
    rows: list[ranking.Row]
    charts: list[charts.Chart]
    agreement: Agreement | None
    matrix: list[tuple[str, list[ranking.Agreed]]]


def page_looks(summaries: Sequence[Summary]) -> Mapping[str, Look]:
    """How each method is drawn: the same in every chart of all comparisons."""
    methods = (standing.method for summary in summaries for standing in summary.standings)
    return svg.looks(methods, FLOORS, palette.SERIES)


def views(summary: Summary, looks: Mapping[str, Look], prefix: str = "") -> list[ModelView]:
    """One view for each model."""
    return [_view(summary, model, f"{prefix}{place}", looks) for place, model in enumerate(summary.models)]


def _view(summary: Summary, model: str, key: str, looks: Mapping[str, Look]) -> ModelView:
    standings = summary.of(model)
    columns = ranking.columns(summary.measures, standings, summary.ranked_by)
    ranks_by = next((measure for measure in summary.measures if measure.name == summary.ranked_by), None)
    cost = charts.cost(f"cost-{key}", standings, ranks_by, looks) if ranks_by else None
    agreement = next((agreement for agreement in summary.agreements if agreement.model == model), None)
    return ModelView(
        key,
        model,
        summary,
        prose(summary.advice.get(model, "")),
        columns,
        list(ranking.rows(columns, standings, looks)),
        charts.curves(f"curves-{key}", standings, looks) + ([] if cost is None else [cost]),
        agreement,
        ranking.matrix(agreement) if agreement else [],
    )


def stability_views(
    summaries: Sequence[Summary], looks: Mapping[str, Look], prefix: str = ""
) -> list[stability.StabilityView]:
    """A view for each comparison that asked for stability."""
    found = (stability.view(summary, f"{prefix}{place}", looks) for place, summary in enumerate(summaries))
    return [view for view in found if view is not None]


def prose(text: str) -> Markup:
    """A paragraph in which names stand between backticks.

    >>> prose("Use `lime`, not <b>.")
    Markup('Use <code><bdi>lime</bdi></code>, not &lt;b&gt;.')
    """
    plain, *rest = text.split("`")
    if len(rest) % 2:  # one that nobody closed is only a character
        return escaped(text)
    parts = [escaped(plain)]
    for name, between in zip(rest[::2], rest[1::2], strict=True):
        parts.append(Markup("<code><bdi>{}</bdi></code>{}").format(escaped(name), escaped(between)))
    return Markup("").join(parts)


def summary_html(summary: Summary) -> str:
    """The advice, the ranked table and the charts as HTML that brings its own style, as a notebook shows them."""
    prefix, looks = _prefix(summary), page_looks([summary])
    return _alone(models=views(summary, looks, prefix), stability=stability_views([summary], looks, prefix), grid=None)


def grid_html(summaries: Sequence[Summary]) -> str:
    """The table of several data sets, in the same way."""
    return _alone(models=[], stability=[], grid=grid.view(summaries, _prefix(summaries)))


def _prefix(content: object) -> str:
    """Of ids: several may be in one notebook."""
    return hashlib.sha256(repr(content).encode(errors="replace")).hexdigest()[:6] + "-"


def _alone(**parts: object) -> str:
    style = Markup(palette.css() + asset("highlights.css") + asset("figures.css"))
    template = environment().get_template("summary.html")
    return template.render(style=style, **parts, **WRITING)


WRITING = {
    "answered": answered,
    "breakable": ranking.breakable,
    "counted": counted,
    "fixed": fixed,
    "prose": prose,
    "verdict": ranking.verdict,
}
"""How templates write figures and words."""
