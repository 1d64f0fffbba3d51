"""Data sets in the files of their first release, under the columns that the Parquet files of `catalogue.py` have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rationales.data.eraser_layout import EraserTable, is_eraser
from rationales.data.tables import Delimited, Derived, JsonLines, Lines, Record, Row, Table
from rationales.errors import InputError

BEER_ASPECTS = ("appearance", "aroma", "palate", "taste", "overall")
"""In the order of their scores."""

_SCORES = tuple(f"score_{aspect}" for aspect in BEER_ASPECTS)
_MARKS = tuple(f"rationale_{aspect}" for aspect in BEER_ASPECTS)
_NUMBERS = tuple(str(number) for number in range(len(BEER_ASPECTS)))


class Numbered(Table):
    """A table with a column `id` of a stem and the row, for files whose names do not tell them from others."""

    def __init__(self, table: Table, stem: str) -> None:
        self.table, self.stem, self.file = table, stem, table.file
        self.columns = (*table.columns, "id")

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        for record in self.table.rows(columns):
            yield replace(record, values={**record.values, "id": f"{self.stem}-{record.row}"})


def beer_reviews(path: Path, stem: str) -> Table:
    """Lei et al. (2016): a line is five scores between spaces, a tab and the text."""
    return Numbered(Derived(Lines(path), _scored, needs=("text",), adds=_SCORES), stem)


def beer_annotations(path: Path) -> Table:
    """Lei et al. (2016): JSON lines of tokens `x`, scores `y` and, under the number of each aspect, spans of tokens."""
    return Derived(JsonLines(path), _annotated, needs=("x", "y", *_NUMBERS), adds=("tokens", *_SCORES, *_MARKS))


def hotel_reviews(path: Path, stem: str) -> Table:
    """Bao et al. (2018), R2A: columns task, label, text and, in `target`, rationale; quotes are plain characters."""
    return Numbered(Delimited(path, "\t", quotes=False), stem)


def eraser_split(path: Path) -> Table:
    """DeYoung et al. (2020), ERASER: the annotations in a file, whose documents lie beside it."""
    if not is_eraser(path.parent):
        raise InputError(f"{path} needs its documents: put docs/ or docs.jsonl of the ERASER release beside it")
    return EraserTable(path.parent, path.stem)


def _scored(row: Row) -> Row:
    scores, tab, text = row["text"].partition("\t")
    if not tab:
        raise InputError(f"{len(_SCORES)} scores, a tab and a text are wanted, but there is no tab in {scores!r:.80}")
    return {"text": text.strip(), **_by_aspect(scores.split(), scores)}


def _annotated(row: Row) -> Row:
    scores, marks = row.get("y"), [row.get(number) or [] for number in _NUMBERS]
    for number, spans in zip(_NUMBERS, marks, strict=True):
        if not isinstance(spans, list):
            raise InputError(f"{number!r} must hold a list of [start, end] pairs, got {spans!r:.80}")
    by_aspect = _by_aspect(scores if isinstance(scores, list) else [scores], scores)
    return {"tokens": row.get("x"), **by_aspect, **dict(zip(_MARKS, marks, strict=True))}


def _by_aspect(scores: Sequence[Any], given: Any) -> dict[str, float]:
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != len(_SCORES) or not all(0 <= number <= 1 for number in numbers):
        raise InputError(f"{len(_SCORES)} scores from 0 to 1 are wanted, got {given!r:.80}")
    return dict(zip(_SCORES, numbers, strict=True))
