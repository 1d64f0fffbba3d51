"""Several data sets side by side, ready to be drawn: methods in rows, data sets and models in columns, by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rationales.comparison.types import FLOORS, Answers, Contrast, Figure, Measure, Standing, Summary
from rationales.report.figures import fixed, options_line


@dataclass(frozen=True)
class Column:
    """One model on one data set; `first` of the models there, which `contrasts` hold it against."""

    data: str
    model: str
    first: bool
    texts: int
    answers: Answers | None
    measures: tuple[Measure, ...]
    standings: dict[str, Standing]
    contrasts: tuple[Contrast, ...]

    def measured(self, measure: Measure) -> bool:
        """Whether its figures of a metric were measured in this way."""
        return any(_alike(measure, other) for other in self.measures)


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
    """The whole table; `sections` has the rows of each metric, and `key` makes its ids unique.

    A metric that was measured with several options has a section for each of them.
    """

    key: str
    columns: tuple[Column, ...]
    sections: tuple[tuple[Measure, tuple[Row, ...]], ...]

    @property
    def data(self) -> list[tuple[str, int, int]]:
        """The data sets, each with its texts and its number of columns."""
        groups = groupby(self.columns, lambda column: (column.data, column.texts))
        return [(data, texts, len(list(columns))) for (data, texts), columns in groups]

    def options(self, measure: Measure) -> str:
        """What tells this section from others of the same metric, if there are any."""
        alike = [other for other, _ in self.sections if other.name == measure.name]
        return options_line(measure.options) if len(alike) > 1 else ""

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
    sets = list(dict.fromkeys((summary.data, summary.texts) for summary in summaries))
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
            summary.measures,
            {standing.method: standing for standing in summary.of(model)},
            tuple(contrast for contrast in summary.contrasts if contrast.other == model),
        )
        for summary in sorted(summaries, key=lambda summary: sets.index((summary.data, summary.texts)))
        for model in summary.models
    )
    measures: list[Measure] = []
    for measure in (each for summary in summaries for each in summary.measures):
        if not any(_alike(measure, other) for other in measures):
            measures.append(measure)
    names = [summaries[0].ranked_by, *(measure.name for measure in measures)]
    ordered = sorted(measures, key=lambda measure: names.index(measure.name))
    methods = list(dict.fromkeys(method for column in columns for method in column.standings))
    methods.sort(key=lambda method: method in FLOORS)
    return GridView(f"{prefix}grid", columns, tuple((measure, _rows(measure, methods, columns)) for measure in ordered))


def _rows(measure: Measure, methods: Sequence[str], columns: Sequence[Column]) -> tuple[Row, ...]:
    found = {method: tuple(_figure(column, method, measure) for column in columns) for method in methods}
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
            tuple(_beside(column, method, measure) for column in columns),
        )
        for method, figures in found.items()
        if any(figures)
    )


def _top(measure: Measure, means: Sequence[float]) -> float | None:
    """The best of some means; None where all read the same, as those of a metric that is saturated do."""
    if len(set(map(fixed, means))) < 2:
        return None
    return max(means) if measure.best == "high" else min(means)


def _alike(one: Measure, other: Measure) -> bool:
    """Whether figures of the two may stand in one row."""
    return (one.name, one.options) == (other.name, other.options)


def _figure(column: Column, method: str, measure: Measure) -> Figure | None:
    """What was found, if anything."""
    standing = column.standings.get(method)
    figure = standing.figures.get(measure.name) if standing is not None and column.measured(measure) else None
    return figure if figure is not None and figure.count else None


def _beside(column: Column, method: str, measure: Measure) -> Contrast | None:
    known = (item for item in column.contrasts if (item.method, item.metric) == (method, measure.name))
    return next(known, None) if column.measured(measure) else None
