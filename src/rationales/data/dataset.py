"""`load`: any source of data as a stream of examples."""

from __future__ import annotations

import copy
import logging
import shlex
import statistics
import warnings
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rationales.data import eraser_layout, hub, named
from rationales.data.catalogue import named_sets
from rationales.data.columns import Columns, resolve
from rationales.data.example import Example
from rationales.data.planted.table import PLANTED, PlantedTable, Ready
from rationales.data.rows import Converter, detect_format
from rationales.data.tables import FORMATS, Table, choose_split, file_format, open_table
from rationales.errors import DataError, InputError, NoSuchSplit

OnError: TypeAlias = Literal["fail", "skip"]

logger = logging.getLogger("rationales.data")

GUESSED = Columns()
"""Nothing given: every column is guessed by its name."""

_REMEMBERED = 20  # bad rows that are kept; all are counted
_SNIFFED = 10_000  # rows in which the format of rationales is looked for
_PEEKED = 20  # rows in which texts are looked for that are not read
_SEVERAL = 3  # words in a text; names and dates have fewer


class Dataset:
    """Examples from a source, read from it anew on each iteration, one at a time.

    `labels` are the class names in order, where the source has them; then `Example.label` is an index into them.
    After an iteration, `skipped` says which rows were bad (the first of them) and `skipped_count` how many.
    """

    def __init__(
        self,
        name: str,
        table: Table,
        convert: Converter | Ready,
        *,
        on_error: OnError = "fail",
        limit: int | None = None,
    ) -> None:
        if on_error not in ("fail", "skip"):
            raise InputError(f"on_error must be fail or skip, got {on_error!r}")
        if limit is not None and limit < 0:
            raise InputError(f"limit must not be negative, got {limit}")
        self.name = name
        self.labels = convert.labels
        self.columns = convert.columns
        self.skipped: list[DataError] = []
        self.skipped_count = 0
        self._table, self._convert, self._on_error, self._limit = table, convert, on_error, limit
        self._folds: frozenset[int] | None = None

    def folds(self, numbers: Collection[int]) -> Dataset:
        """The examples whose texts fall into these of ten folds: a fixed way to set some aside.

        `data.folds(range(9))` and `data.folds([9])` share no text, on any machine and in any order of the rows.
        """
        if not numbers or not set(numbers) <= set(range(10)):
            raise InputError(f"folds are numbers from 0 to 9, got {sorted(numbers)}")
        part = copy.copy(self)
        part.skipped, part.skipped_count = [], 0
        part._folds = frozenset(numbers) if self._folds is None else self._folds & frozenset(numbers)
        return part

    def __iter__(self) -> Iterator[Example]:
        return islice(self._examples(), self._limit)

    def _examples(self) -> Iterator[Example]:
        skipped: list[DataError] = []
        self.skipped, self.skipped_count = skipped, 0
        good = 0
        try:
            for record in self._table.rows(self.columns.named()):
                try:
                    example = self._convert(record)
                except DataError as error:
                    if self._on_error == "fail":
                        raise
                    self.skipped_count += 1
                    if len(skipped) < _REMEMBERED:
                        skipped.append(error)
                    continue
                good += 1
                if self._folds is None or named.fold("\n".join(example.texts)) in self._folds:
                    yield example
            if skipped and not good:
                raise DataError(f"all {self.skipped_count} rows are bad; the first: {skipped[0]}")
        finally:  # also when the reader has had enough
            if self.skipped_count:
                first = "; ".join(str(error) for error in skipped[:3])
                logger.warning("%s: skipped %d bad rows, such as: %s", self.name, self.skipped_count, first)


def load(
    source: str | Path,
    *,
    split: str | None = None,
    columns: Columns = GUESSED,
    data_dir: str | Path | None = None,
    on_error: OnError = "fail",
    limit: int | None = None,
    quotes: bool = True,
) -> Dataset:
    """Examples from a file, a directory, a named set or a data set on the Hugging Face hub.

    Args:
        source: a file (.csv, .tsv, .jsonl, .txt, also with .gz behind it; .parquet), a directory (ERASER layout,
            `save_to_disk` of the package datasets, or one file per split), a name of `named_sets`, "planted-reviews" or
            "planted-pairs", or a hub name (`owner/name` or `owner/name:config`). A name goes before a file of the same
            name: write `./imdb`.
        split: which part, where the source has several; "dev", "val" and "validation" are the same.
        columns: which column holds what; what is not given is guessed.
        data_dir: where the files of named sets are; else the environment variable RATIONALES_DATA says it.
        on_error: "fail" at the first bad row, or "skip" bad rows, count them and log a summary.
        limit: no more examples than this.
        quotes: whether quotation marks enclose fields of CSV and TSV files; False: they are characters like others.
    """
    name = str(source)
    if name in PLANTED:
        return Dataset(name, PlantedTable(name, split), Ready(PLANTED[name][1]), on_error=on_error, limit=limit)
    labels: tuple[str, ...] | None = None
    known = isinstance(source, str) and named.find(source) is not None
    if known:
        if columns != GUESSED:
            raise InputError(f"the columns of {source} are known; give the path of its file to choose others")
        table, columns, labels = named.open_named(name, split, data_dir)
    else:
        table = _open(name, split, quotes)
        if isinstance(table, eraser_layout.EraserTable):
            columns = table.complete(columns)
        name = Path(name).name.partition(".")[0] if Path(name).exists() else name
    guessing = not known and columns.pair is None
    columns = resolve(columns, table.columns, table.file)
    if guessing and not columns.pair and not columns.choices:
        _warn_of_left_out(table, columns)
    if labels is None and columns.label:
        labels = table.classes.get(columns.label)
    if columns.rationale_format == "auto" and (columns.rationale or columns.pair_rationale):
        try:
            found = detect_format(islice(table.rows(columns.named()), _SNIFFED), Converter(columns))
        except InputError as error:
            raise InputError(f"{table.file}: {error}") from None
        columns = replace(columns, rationale_format=found)
    logger.debug("%s: columns %s", name, columns)
    return Dataset(name, table, Converter(columns, labels), on_error=on_error, limit=limit)


def _warn_of_left_out(table: Table, columns: Columns) -> None:
    """Say which columns are read, if another one holds texts too: it may be the second of a pair."""
    others = tuple(name for name in table.columns if name not in columns.named())
    texts = [name for name, values in _first_values(table, others).items() if _are_texts(values)]
    if texts:
        label = f" and the label from {columns.label!r}" if columns.label else ""
        warnings.warn(
            f"the text is read from the column {columns.text!r}{label}; left out: {', '.join(map(repr, texts))}, where "
            "there are texts too. If they make pairs, name the second text with pair (--pair-column "
            f"{shlex.quote(texts[0])}); if not, give it an empty name",
            stacklevel=1,  # of several splits or files that are alike, it is said once
        )


def _first_values(table: Table, columns: tuple[str, ...]) -> dict[str, list[Any]]:
    """What stands first in some columns; without those that cannot be read, which nobody asked for."""
    try:
        records = list(islice(table.rows(columns), _PEEKED)) if columns else []
    except Exception:  # such as a picture that cannot be decoded here: then each by itself
        parts = [_first_values(table, (column,)) for column in columns] if len(columns) > 1 else []
        return {name: values for part in parts for name, values in part.items()}
    return {column: [record.values.get(column) for record in records] for column in columns}


def _are_texts(values: list[Any]) -> bool:
    """Whether they are strings, most of them of several words."""
    given = [value for value in values if value not in (None, "")]
    words = [sum(any(map(str.isalpha, word)) for word in value.split()) for value in given if isinstance(value, str)]
    return bool(given) and len(words) == len(given) and statistics.median(words) >= _SEVERAL


def _open(source: str, split: str | None, quotes: bool) -> Table:
    path = Path(source)
    if path.is_dir():
        return _open_directory(path, split, quotes)
    if path.is_file():
        if split is not None:
            raise NoSuchSplit(f"{path} is one file and has no splits; leave out split (--split), which is {split!r}")
        return open_table(path, quotes=quotes)
    owner, slash, rest = source.partition("/")
    looks_like_file = file_format(path) is not None or owner in ("", ".", "..", "~") or "/" in rest
    if looks_like_file:
        raise InputError(f"no file or directory is at {source}")
    if not slash:
        names = ", ".join([*named_sets, *PLANTED])
        raise InputError(
            f"{source!r} is no file, no directory and no named data set, and a hub name has the form owner/name. "
            f"Files end in {', '.join(FORMATS)}. Named sets: {names}"
        )
    hub_name, _, config = source.partition(":")
    return hub.open_hub(hub_name, split, config or None)


def _open_directory(path: Path, split: str | None, quotes: bool) -> Table:
    if hub.is_saved(path):
        return hub.open_saved(path, split)
    if eraser_layout.is_eraser(path):
        return eraser_layout.EraserTable(path, split)
    files = {file.name.partition(".")[0]: file for file in sorted(path.iterdir()) if file_format(file)}
    if not files:
        raise InputError(
            f"the directory {path} holds no data: wanted are files ending in {', '.join(FORMATS)}, the ERASER layout "
            "(docs/ or docs.jsonl beside train.jsonl), or what save_to_disk of the package datasets writes"
        )
    return open_table(files[choose_split(tuple(files), split, str(path))], quotes=quotes)
