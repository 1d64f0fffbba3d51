"""Comparisons in a terminal: the ranked table, how methods agree, the advice; and several data sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rationales.comparison import Comparison
from rationales.comparison.types import FLOORS, Agreement, Figure, Measure, Overlap, Stability, Standing, Summary
from rationales.report.blocks import EDGES, abreast, directed, grid_blocks, grid_width
from rationales.report.figures import answered
from rationales.report.grid import view
from rationales.report.terminal import printable

CORRELATION = 5
"""Characters of a correlation."""


def print_summary(summary: Summary, console: Console) -> None:
    """Everything a terminal can show of it. In a pipe columns keep their width, however wide the table gets."""
    terminal = console.is_terminal
    if not terminal:
        console.width = max(console.width, 60 + 30 * len(summary.measures))
    for model in summary.models:
        console.print(ranked_table(summary, model))
        for agreement in summary.agreements:
            if agreement.model == model and len(agreement.methods) > 1:
                console.print(*agreement_tables(agreement, console.width))
        for standing in summary.of(model):
            failure = (f"could not run: {standing.failure}",) if standing.failure else ()
            for note in (*standing.notes, *failure):
                console.print(printable(f"{standing.method}: {note}"), markup=False, highlight=False)
        console.print(f"\n{printable(summary.advice[model])}\n", markup=False, highlight=False, soft_wrap=not terminal)
    if summary.stability is not None:
        console.print(stability_table(summary.stability))
        said = f"\n{printable(summary.stability.advice)}\n"
        console.print(said, markup=False, highlight=False, soft_wrap=not terminal)


def print_grid(grid: Mapping[str, Comparison], console: Console) -> None:
    """What was found on each data set, and all of it side by side."""
    summaries = [found.summary for found in grid.values()]
    for summary in summaries:
        print_summary(summary, console)
    found = view(summaries)
    assert found is not None
    if not console.is_terminal:
        console.width = max(console.width, grid_width(found))
    console.print(grid_blocks(found, console.width))


def ranked_table(summary: Summary, model: str) -> Table:
    """One row for each method, best first; an equals sign marks those within noise of the first."""
    title = f"{printable(model)}: {summary.texts:,} texts of {printable(summary.data)}, ranked by {summary.ranked_by}"
    if model in summary.answers:
        title += f"\n{answered(summary.answers[model])}"
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("method", no_wrap=True)
    floor = next((item.figures for item in summary.of(model) if item.method in FLOORS), {})
    for measure in summary.measures:
        table.add_column(_heading(measure, floor.get(measure.name)), justify="right", overflow="fold")
    table.add_column("s per 1,000\ntokens", justify="right")
    for standing in summary.of(model):
        table.add_row(*_row(standing, summary.measures, floor), style="dim" if standing.method in FLOORS else None)
    table.caption = (
        "Mean [95 % interval]. = within noise of the first. ○ not clearly better than random on the same texts."
    )
    table.caption_justify = "left"
    return table


def _heading(measure: Measure, floor: Figure | None) -> str:
    name = directed(measure)
    return name if floor is None or _unknown(floor) else f"{name}\nrandom: {floor.mean:z.3f}"


def _row(standing: Standing, measures: tuple[Measure, ...], floor: Mapping[str, Figure]) -> list[Text | str]:
    name = Text(printable(standing.method))
    if standing.failure:
        return ["–", name, "could not run"]
    unrivalled = [standing.method in FLOORS or _unknown(floor.get(measure.name)) for measure in measures]
    cells = [_cell(standing.figures[each.name], alone) for each, alone in zip(measures, unrivalled, strict=True)]
    tied = "=" if standing.tied and standing.rank > 1 else " "
    return [f"{standing.rank}{tied}", name, *cells, f"{standing.seconds_per_1000_tokens:.2g}"]


def _unknown(figure: Figure | None) -> bool:
    """Whether something was tried, and could not be measured."""
    return figure is not None and not figure.count


def _cell(figure: Figure, floor: bool) -> str:
    if not figure.count:
        return "–"
    interval = "" if math.isnan(figure.low) else f" [{figure.low:z.3f}, {figure.high:z.3f}]"
    return f"{figure.mean:z.3f}{interval}{'  ' if floor or figure.beats_random else ' ○'}"


def agreement_tables(agreement: Agreement, room: int) -> Iterator[Table]:
    """Mean rank correlation of every two methods; columns that have no room beside the others go on beneath."""
    names = [f"{number} {printable(method)}" for number, method in enumerate(agreement.methods, 1)]
    title: str | None = f"How far methods rank the {agreement.unit} alike (Spearman)"
    for places in abreast([CORRELATION + 1] * len(names), room - max(map(cell_len, names)) - EDGES):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
        table.add_column("", no_wrap=True)
        for place in places:
            table.add_column(str(place + 1), justify="right", width=CORRELATION)
        for name, row in zip(names, agreement.matrix, strict=True):
            table.add_row(Text(name), *("–" if math.isnan(row[place]) else f"{row[place]:z.2f}" for place in places))
        yield table
        title = None


def stability_table(stability: Stability) -> Table:
    """One row for each method: means over pairs of models, and what chance would give."""
    title = f"How far the best {100 * stability.share:g} % of the {stability.unit} overlap between models (Jaccard)"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("method", no_wrap=True)
    for head in ("between trained\nmodels", "with the\nuntrained model", "chance"):
        table.add_column(head, justify="right")
    for item in stability.methods:
        found = [overlap for overlap in (item.trained, item.untrained) if overlap is not None and overlap.count]
        chance = f"{found[0].chance:z.3f}" if found else "–"
        blind = " ○" if item.gap[0] <= 0 else "  "
        between, beside = _overlap(item.trained, ""), _overlap(item.untrained, blind)
        table.add_row(Text(printable(item.method)), between, beside, chance)
    table.caption = "Mean [95 % interval]. ○ not clearly less alike than trained models are."
    table.caption_justify = "left"
    return table


def _overlap(overlap: Overlap | None, mark: str) -> str:
    return "–" if overlap is None else _cell(overlap, floor=True).rstrip() + mark
