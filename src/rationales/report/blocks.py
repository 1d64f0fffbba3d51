"""Several data sets in a terminal: a block for each metric, whose columns go on beneath where they have no room."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rationales.comparison.types import Figure, Measure
from rationales.report.grid import Column, GridView, Row
from rationales.report.terminal import printable

HEAD = 12
"""Characters of a line of the names above a column, at most."""
EDGES = 4
"""Spaces beside the names of methods, and at both ends."""
READ = "Means over the texts. * best of its column. ○ not clearly better than random on the same texts."
BESIDE = " + − clearly better, or worse, than the first model on them."
MARKS = {"better": "+", "worse": "−", "": " "}
"""How a model stands beside the first one."""


def grid_blocks(found: GridView, room: int) -> Group:
    """Methods in rows, data sets and models in columns, metric by metric, in so many characters."""
    parts: list[Text | Table] = [Text("All data sets\n", style="italic")]
    if found.answered:
        known = [column.answers for column in found.columns]
        after = "  " + " " * found.contrasted  # where figures of methods have marks
        shares = [("–" if answers is None else f"{answers.macro_f1:z.3f}") + after for answers in known]
        parts += _tables(found, room, "", [("macro-F1", "", shares)])
    for measure, rows in found.sections:
        lines = [(printable(row.method), "dim" if row.is_floor else "", _cells(found, row)) for row in rows]
        options = found.options(measure)
        parts += _tables(found, room, directed(measure) + (f" ({printable(options)})" if options else ""), lines)
    return Group(*parts, Text(READ + BESIDE * found.contrasted, style="dim italic"))


def grid_width(found: GridView) -> int:
    """The characters that all columns take beside each other."""
    return EDGES + _longest(found) + sum(_widths(found))


def directed(measure: Measure) -> str:
    """A metric as people read it, and which way is better."""
    return f"{measure.name.replace('_', ' ')} {'↑' if measure.best == 'high' else '↓'}"


def abreast(widths: Sequence[int], room: int) -> Iterator[range]:
    """What fits beside each other, from left to right; each line has one at least.

    >>> list(abreast([4, 4, 4, 9, 1], room=8))
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    start = used = 0
    for place, width in enumerate(widths):
        if place > start and used + width > room:
            yield range(start, place)
            start, used = place, 0
        used += width
    yield range(start, len(widths))


def _tables(found: GridView, room: int, title: str, rows: Sequence[tuple[str, str, Sequence[str]]]) -> Iterator[Table]:
    """The tables of one metric; rows have a name, a style and a cell for each column."""
    names = min(_longest(found), room // 2)
    widths = _widths(found)
    for places in _lines(found.columns, widths, room - names - EDGES):
        table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=0)
        table.add_column("", min_width=names, overflow="fold")
        for place in places:
            head = Text(_head(found.columns[place]), justify="right")
            table.add_column(head, width=widths[place] - 1, overflow="fold")
        for name, style, cells in rows:
            # Rich, told to put them to the right, would leave out the spaces behind
            table.add_row(Text(name), *(cells[place].rjust(widths[place] - 1) for place in places), style=style)
        yield table


def _longest(found: GridView) -> int:
    """Of the names that begin the rows."""
    return max(cell_len(printable(row.method)) for _, rows in found.sections for row in rows)


def _lines(columns: Sequence[Column], widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """The places of the columns that stand beside each other: those of one data set together, if it has room."""
    sets = [list(places) for _, places in groupby(range(len(columns)), lambda place: columns[place].data)]
    for line in abreast([sum(widths[place] for place in own) for own in sets], room):
        together = [place for own in line for place in sets[own]]
        for part in abreast([widths[place] for place in together], room):
            yield [together[place] for place in part]


def _widths(found: GridView) -> list[int]:
    """Of the columns, each with the space before it: no figure is folded, whatever its metric."""
    heads = [min(HEAD, max(map(cell_len, _head(column).split("\n")))) for column in found.columns]
    rows = [[len(cell) for cell in _cells(found, row)] for _, given in found.sections for row in given]
    return [1 + max(widths) for widths in zip(heads, *rows, strict=True)]


def _head(column: Column) -> str:
    return "\n".join(folded(printable(name), HEAD) for name in (column.data, column.model))


def folded(name: str, most: int) -> str:
    """A name in lines of so many characters where it can be parted: behind hyphens and the like.

    >>> folded("amazon-reviews-electronics", 12)
    'amazon-\\nreviews-\\nelectronics'
    """
    lines = [""]
    for part in re.findall(r"[^-_/.]*[-_/.]*", name):
        if lines[-1] and cell_len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _cells(found: GridView, row: Row) -> list[str]:
    return [
        _short(figure, row.is_floor, best) + (MARKS[beside.verdict if beside else ""] if found.contrasted else "")
        for _, figure, best, beside in row.cells(found.columns)
    ]


def _short(figure: Figure | None, floor: bool, best: bool) -> str:
    if figure is None:
        return "–  "
    unrivalled = floor or math.isnan(figure.gain[0])
    return f"{'*' if best else ''}{figure.mean:z.3f}{'  ' if unrivalled or figure.beats_random else ' ○'}"
