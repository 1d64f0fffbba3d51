"""Several data sets side by side, ready to be drawn: methods in rows, data sets and models in columns, by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rationales.comparison.types import FLOORS, Answers, Contrast, Figure, Measure, Standing, Summary
from rationales.report.figures import fixed


@dataclass(frozen=True)
class Column:
    """One model on one data set; `first` of the models there, which `contrasts` hold it against."""

    data: str
    model: str
    first: bool
    texts: int
    answers: Answers | None
    standings: dict[str, Standing]
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True)
class Row:
    """One method by one metric: a figure for each column, None where there is none; `best` says where it is first.

    Nothing is best where all methods have the same figure. `beside` has what is known of the difference to the first
    model on the same data.
    """

    method: str
    figures: tuple[Figure | None, ...]
    best: tuple[bool, ...]
    beside: tuple[Contrast | None, ...]

    @property
    def is_floor(self) -> bool:
        return self.method in FLOORS

    def cells(self, columns: Sequence[Column]) -> Iterator[tuple[Column, Figure | None, bool, Contrast | None]]:
        """The figures with their columns, whether they are the best there, and how they differ from the first."""
        return zip(columns, self.figures, self.best, self.beside, strict=True)


@dataclass(frozen=True)
class GridView:
    """The whole table; `sections` has the rows of each metric, and `key` makes its ids unique."""

    key: str
    columns: tuple[Column, ...]
    sections: tuple[tuple[Measure, tuple[Row, ...]], ...]

    @property
    def data(self) -> list[tuple[str, int, int]]:
        """The data sets, each with its texts and its number of columns."""
        groups = (list(columns) for _, columns in groupby(self.columns, lambda column: column.data))
        return [(columns[0].data, columns[0].texts, len(columns)) for columns in groups]

    @property
    def answered(self) -> bool:
        """Whether it is known of any model how often it is right."""
        return any(column.answers for column in self.columns)

    @property
    def contrasted(self) -> bool:
        """Whether models stand beside others."""
        return any(column.contrasts for column in self.columns)


def view(summaries: Sequence[Summary], prefix: str = "") -> GridView | None:
    """The table, if a model was looked at on several data sets; `prefix` begins the ids of its elements."""
    names = list(dict.fromkeys(summary.data for summary in summaries))
    seen = {(model, summary.data) for summary in summaries for model in summary.models}
    if len(seen) == len({model for model, _ in seen}):
        return None
    columns = tuple(
        Column(
            summary.data,
            model,
            model == summary.models[0],
            summary.texts,
            summary.answers.get(model),
            {standing.method: standing for standing in summary.of(model)},
            tuple(contrast for contrast in summary.contrasts if contrast.other == model),
        )
        for summary in sorted(summaries, key=lambda summary: names.index(summary.data))
        for model in summary.models
    )
    measures = {measure.name: measure for summary in summaries for measure in summary.measures}
    ranked_by = summaries[0].ranked_by
    ordered = sorted(measures.values(), key=lambda measure: measure.name != ranked_by)
    methods = list(dict.fromkeys(method for column in columns for method in column.standings))
    methods.sort(key=lambda method: method in FLOORS)
    return GridView(f"{prefix}grid", columns, tuple((measure, _rows(measure, methods, columns)) for measure in ordered))


def _rows(measure: Measure, methods: Sequence[str], columns: Sequence[Column]) -> tuple[Row, ...]:
    found = {method: tuple(_figure(column, method, measure.name) for column in columns) for method in methods}
    rivals = [figures for method, figures in found.items() if method not in FLOORS]
    tops = [_top(measure, [own.mean for figures in rivals if (own := figures[place])]) for place in range(len(columns))]
    return tuple(
        Row(
            method,
            figures,
            tuple(
                own is not None and method not in FLOORS and own.mean == top
                for own, top in zip(figures, tops, strict=True)
            ),
            tuple(_beside(column, method, measure.name) for column in columns),
        )
        for method, figures in found.items()
        if any(figures)
    )


def _top(measure: Measure, means: Sequence[float]) -> float | None:
    """The best of some means; None where all read the same, as those of a metric that is saturated do."""
    if len(set(map(fixed, means))) < 2:
        return None
    return max(means) if measure.best == "high" else min(means)


def _figure(column: Column, method: str, metric: str) -> Figure | None:
    """What was found, if anything."""
    standing = column.standings.get(method)
    figure = standing.figures.get(metric) if standing is not None else None
    return figure if figure is not None and figure.count else None


def _beside(column: Column, method: str, metric: str) -> Contrast | None:
    known = (item for item in column.contrasts if (item.method, item.metric) == (method, metric))
    return next(known, None)
