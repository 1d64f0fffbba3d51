"""Files as rows under named columns, one row in memory at a time: CSV, TSV, JSONL, Parquet and plain lines.

A row that cannot be read is a record with a `problem` and does not end the reading; a file that cannot be read at
all raises `DataError`.
"""

from __future__ import annotations

import contextlib
import csv
import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from rationales.data.text_files import NOT_UTF8, text_lines, undecoded
from rationales.errors import DataError, InputError, NoSuchSplit

Row: TypeAlias = Mapping[str, Any]

_FIELD = 1 << 24  # characters in a CSV field; the module's own limit of 128 Ki is less than a long document
_PEEK = 1000  # rows of a JSONL file whose keys are its columns
_BATCH = 256  # rows of a Parquet file decoded at once


@dataclass(frozen=True, slots=True)
class Record:
    """Row number `row`, counted from 1, of a file: its values, or the problem that kept them from being read."""

    file: str
    row: int
    values: Row = field(default_factory=dict)
    problem: str = ""


class Table(ABC):
    """Rows under named columns, which can be read again and again.

    `file` is what errors name; `classes` are the class names of those columns for which the file has them.
    """

    file: str
    columns: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @abstractmethod
    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        """All rows; no more than these columns are needed (None: all)."""


class Delimited(Table):
    """CSV or TSV: the first row names the columns; fields are quoted as in RFC 4180, or not at all (`quotes`)."""

    def __init__(self, path: Path, delimiter: str, *, quotes: bool = True) -> None:
        self.path, self.file, self.delimiter, self.quotes = path, str(path), delimiter, quotes
        with contextlib.closing(self._fields()) as rows:
            header = next(rows, None)
        if header is None:
            raise DataError("the file is empty; its first row must name the columns", file=path)
        if isinstance(header, str):
            raise DataError(f"the first row must name the columns: {header}", file=path)
        self.columns = tuple(name.strip() for name in header)
        twice = sorted({name for name in self.columns if self.columns.count(name) > 1})
        if twice:
            raise DataError(f"the first row names the column {twice[0]!r} twice", file=path)

    def _fields(self) -> Generator[list[str] | str]:
        """The fields of each row, or what is wrong with them."""
        with text_lines(self.path) as lines:
            reader = csv.reader(
                lines,
                delimiter=self.delimiter,
                quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE,
                strict=True,
            )
            while True:
                first = reader.line_num + 1
                limit = csv.field_size_limit(_FIELD)  # the limit is global, so it is ours for one row only
                try:
                    fields = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield f"lines {first} to {reader.line_num}: {self._problem(error)}"
                    continue
                finally:
                    csv.field_size_limit(limit)
                if undecoded("".join(fields)):
                    yield f"line {first}: {NOT_UTF8}"
                elif fields:
                    yield fields

    def _problem(self, error: csv.Error) -> str:
        """What the csv module says, in words that fit a file."""
        if "new-line character" in str(error):
            return "a carriage return stands in a field without quotes"
        large = f"a field has more than {_FIELD:,} characters" if "field limit" in str(error) else str(error)
        hint = "; if quotes are plain characters in this file, read it with quotes=False (--no-quotes)"
        return large + (hint if self.quotes else "")

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        wanted = [(place, name) for place, name in enumerate(self.columns) if columns is None or name in columns]
        for row, fields in enumerate(islice(self._fields(), 1, None), start=1):
            if isinstance(fields, str):
                yield Record(self.file, row, problem=fields)
            elif len(fields) != len(self.columns):
                yield Record(self.file, row, problem=f"{len(fields)} fields under {len(self.columns)} columns")
            else:
                yield Record(self.file, row, {name: fields[place] for place, name in wanted})


class Lines(Table):
    """Plain text: one text a line; blank lines are no rows, but count."""

    columns = ("text",)

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, str(path)

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:  # noqa: ARG002
        with text_lines(self.path) as lines:
            for row, line in enumerate(lines, start=1):
                if undecoded(line):
                    yield Record(self.file, row, problem=NOT_UTF8)
                elif line.strip():
                    yield Record(self.file, row, {"text": line.rstrip("\r\n")})


class JsonLines(Table):
    """One JSON object a line; the keys of the first rows are the columns. Blank lines are no rows, but count."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, str(path)
        names: dict[str, None] = {}
        problem = "the file is empty"
        with contextlib.closing(self.rows()) as records:
            for record in islice(records, _PEEK):
                names |= dict.fromkeys(record.values)
                problem = record.problem or problem
        if not names:
            raise DataError(f"JSON objects, one a line, are wanted: {problem}", file=path)
        self.columns = tuple(names)

    def rows(self, columns: Collection[str] | None = None) -> Generator[Record]:
        with text_lines(self.path) as lines:
            for row, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                if undecoded(line):
                    yield Record(self.file, row, problem=NOT_UTF8)
                    continue
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield Record(self.file, row, problem=f"not JSON: {error}")
                    continue
                if isinstance(values, dict):
                    wanted = values if columns is None else {name: values[name] for name in columns if name in values}
                    yield Record(self.file, row, wanted)
                else:
                    yield Record(self.file, row, problem=f"a JSON object is wanted, got {type(values).__name__}")


class Parquet(Table):
    """A Parquet file; only the wanted columns are decoded, some rows at a time."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, str(path)
        with self._open() as parquet:
            self.columns = tuple(parquet.schema_arrow.names)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as parquet:  # else it reads far ahead into memory
                yield parquet
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"not a readable Parquet file: {error}", file=self.path) from error

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        wanted = [name for name in self.columns if columns is None or name in columns]
        row = 0
        with self._open() as parquet:
            for batch in parquet.iter_batches(batch_size=_BATCH, columns=wanted):
                yield from self._records(batch, row + 1)
                row += batch.num_rows

    def _records(self, batch: Any, first: int) -> Iterator[Record]:
        try:
            for row, values in enumerate(batch.to_pylist(), start=first):
                yield Record(self.file, row, values)
        except UnicodeDecodeError as error:
            if batch.num_rows == 1:
                yield Record(self.file, first, problem=f"bytes that are not UTF-8: {error}")
                return
            for offset in range(batch.num_rows):  # find the row
                yield from self._records(batch.slice(offset, 1), first + offset)


class Chain(Table):
    """Several tables, one after the other; a column that one of them lacks is empty there."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tables
        self.file = ", ".join(table.file for table in tables)
        self.columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        for table in self.tables:
            yield from table.rows(columns)


class Derived(Table):
    """A table whose rows are changed, or left out (None), by a function that `needs` some columns and `adds` others.

    An `InputError` of the function is the row's problem.
    """

    def __init__(
        self,
        table: Table,
        derive: Callable[[Row], Row | None],
        *,
        needs: tuple[str, ...] = (),
        adds: tuple[str, ...] = (),
    ) -> None:
        self.table, self.derive, self.needs, self.file = table, derive, needs, table.file
        self.columns = tuple(dict.fromkeys((*table.columns, *adds)))

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        for record in self.table.rows(None if columns is None else {*columns, *self.needs}):
            if record.problem:
                yield record
                continue
            try:
                values = self.derive(record.values)
            except InputError as error:
                yield Record(record.file, record.row, problem=str(error))
                continue
            if values is not None:
                yield replace(record, values=values)


class Balanced(Table):
    """A table with as many rows of each class as the rarest has, drawn by a seed; the order stays.

    The classes are drawn from the last to the first with Python's own generator, and the rows counted anew each time.
    """

    def __init__(self, table: Table, label: str, seed: int) -> None:
        self.table, self.label, self.seed, self.file = table, label, seed, table.file
        self.columns = table.columns

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        kept, seen = self._kept(), Counter[Any]()
        for record in self.table.rows(None if columns is None else {*columns, self.label}):
            if record.problem:
                yield record
                continue
            label = record.values[self.label]
            if seen[label] in kept[label]:
                yield record
            seen[label] += 1

    def _kept(self) -> Mapping[Any, Collection[int]]:
        """Of each class, which of its rows stay, counted from 0."""
        rows = (record for record in self.table.rows((self.label,)) if not record.problem)
        counts = Counter(record.values[self.label] for record in rows)
        fewest = min(counts.values(), default=0)
        generator = random.Random(self.seed)
        return {
            label: frozenset(generator.sample(range(counts[label]), fewest))
            if counts[label] > fewest
            else range(fewest)
            for label in sorted(counts, reverse=True)
        }


_OPENERS: Mapping[str, Callable[[Path, bool], Table]] = {
    ".csv": lambda path, quotes: Delimited(path, ",", quotes=quotes),
    ".tsv": lambda path, quotes: Delimited(path, "\t", quotes=quotes),
    ".jsonl": lambda path, _: JsonLines(path),
    ".ndjson": lambda path, _: JsonLines(path),
    ".parquet": lambda path, _: Parquet(path),
    ".txt": lambda path, _: Lines(path),
}
FORMATS = tuple(_OPENERS)


def file_format(path: Path) -> str | None:
    """The suffix that tells a file's format, if it is one of ours; `.gz` behind it does not count."""
    suffix = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    packable = path.suffix.lower() != ".gz" or suffix.lower() != ".parquet"
    return suffix.lower() if suffix.lower() in FORMATS and packable else None


def stem(path: Path) -> str:
    """The name of a file of data without what tells its format.

    >>> stem(Path("reviews.2023.csv.gz")), stem(Path("reviews.2023"))
    ('reviews.2023', 'reviews.2023')
    """
    suffix = file_format(path)
    packed = ".gz" if path.suffix.lower() == ".gz" else ""
    return path.name if suffix is None else path.name[: -len(suffix + packed)]


def open_table(path: Path, *, quotes: bool = True) -> Table:
    """The table in a file; its suffix tells the format."""
    suffix = file_format(path)
    if suffix is None:
        raise InputError(f"{path}: the file's name must end in {', '.join(FORMATS)}, to tell its format")
    return _OPENERS[suffix](path, quotes)


_SYNONYMS = ("dev", "val", "valid", "validation")
SPLITS = ("train", "test", *_SYNONYMS)
"""What parts of a data set are called; a file in a directory may have any other name."""


def choose_split(available: Sequence[str], wanted: str | None, what: str) -> str:
    """The split that is meant: "dev", "val" and "validation" are the same; None means the only one."""
    choices = f"{what} has the splits {', '.join(available)}"
    if wanted is None:
        if len(available) == 1:
            return available[0]
        raise InputError(f"{choices}; choose one with split (--split)")
    names: tuple[str, ...] = (wanted, *_SYNONYMS) if wanted in _SYNONYMS else (wanted,)
    for name in names:
        if name in available:
            return name
    raise NoSuchSplit(f"{choices}, but not {wanted!r}", [name for name in available if name in SPLITS])
