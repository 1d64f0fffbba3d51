"""One row of a table → one `Example`, or a `DataError` that says file, row and reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TypeGuard

from rationales.data.columns import Columns, RationaleFormat, split
from rationales.data.example import Example
from rationales.data.labels import read_answer, read_choices, read_label
from rationales.data.spans import Tokenised, align_tokens, fitting, join_tokens, merge, split_tokens, to_links, to_spans
from rationales.data.tables import Record, Row
from rationales.errors import DataError, InputError

_SAMPLE = 200  # rationales that decide what their format is


@dataclass(frozen=True)
class Converter:
    """Makes examples of rows, given the resolved columns and, where known, the class names."""

    columns: Columns
    labels: tuple[str, ...] | None = None

    def __call__(self, record: Record) -> Example:
        if record.problem:
            raise DataError(record.problem, file=record.file, row=record.row)
        try:
            return self._example(record)
        except InputError as error:
            raise DataError(str(error), file=record.file, row=record.row) from error

    def _example(self, record: Record) -> Example:
        columns, row = self.columns, record.values
        label, id = row.get(columns.label or ""), row.get(columns.id or "")
        choices, keys = _choices(row, split(columns.choices)) if columns.choices else ((), ())
        rationale = None
        if any(self.marks(row)):
            rationale = tuple(
                merge([span for value in values for span in to_spans(value, given, columns.rationale_format)])
                for given, values in self.marked(row)
            )
        return Example(
            id=f"{_stem(record.file)}-{record.row}" if id is None or id == "" else _sound(str(id)),
            texts=tuple(_text(row, column) for column in (columns.text, columns.pair) if column),
            label=read_answer(label, choices, keys, columns.label_format)
            if choices
            else read_label(label, self.labels, columns.label_format),
            choices=choices,
            rationale=rationale,
            alignment=None if (links := row.get(columns.alignment)) in (None, "") else to_links(links),
            sentences=tuple(_sentences(row, split(columns.explanation))),
            meta={name: row.get(name) for name in split(columns.meta)},
        )

    def marks(self, row: Row) -> tuple[list[Any], list[Any]]:
        """What is in the rationale columns of the two texts, empty cells left out."""
        first, second = (
            [row[name] for name in split(names) if row.get(name) not in (None, "")]
            for names in (self.columns.rationale, self.columns.pair_rationale)
        )
        return first, second

    def marked(self, row: Row) -> list[tuple[Tokenised, list[Any]]]:
        """Each text with the tokens that rationales count, and its marks."""
        columns = ((self.columns.text, self.columns.tokens), (self.columns.pair, self.columns.pair_tokens))
        return [
            (_tokenised(row, column, tokens), values)
            for (column, tokens), values in zip(columns, self.marks(row), strict=True)
            if column
        ]


def detect_format(records: Iterable[Record], convert: Converter) -> RationaleFormat:
    """The one format that fits the rationales of the first rows; `auto` where there are none.

    A row decides if one format alone makes sense for it: flags are as many as tokens, indices are distinct and lie in
    the text, spans end within its tokens or only within its characters.
    """
    decided: set[RationaleFormat] = set()
    possible: set[RationaleFormat] = set()
    seen = 0
    for record in records:
        if record.problem or not any(convert.marks(record.values)):
            continue
        try:
            marked = convert.marked(record.values)
        except InputError:  # a bad row, which is reported when its turn comes
            continue
        for fits in (fitting(value, given) for given, values in marked for value in values):
            seen += bool(fits)
            possible |= fits
            decided |= fits if len(fits) == 1 else set()
        if seen >= _SAMPLE:
            break
    if len(decided) == 1:
        return decided.pop()
    if not possible:
        return "auto"
    raise InputError(
        f"the rationales could be {' or '.join(sorted(decided or possible))}; "
        "say which with rationale_format (--rationale-format)"
    )


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    if value is None:
        raise InputError(f"no text in column {column!r}")
    if _strings(value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise InputError(f"column {column!r} must hold a text, got {type(value).__name__}")
    if not value.strip():
        raise InputError(f"empty text in column {column!r}")
    return _sound(value)


def _tokenised(row: Row, column: str, tokens: str) -> Tokenised:
    text, value = _text(row, column), row[column]
    if tokens:
        given = row.get(tokens)
        if not (isinstance(given, str) or _strings(given)):
            raise InputError(f"column {tokens!r} must hold tokens, got {type(given).__name__}")
        return Tokenised(text, align_tokens(text, given.split() if isinstance(given, str) else given))
    return Tokenised(text, split_tokens(text) if isinstance(value, str) else join_tokens(value)[1])


def _strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _sound(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can spell half of a surrogate pair
        raise InputError(f"{text!r:.80} holds a character that does not exist: {error}") from error
    return text


def _choices(row: Row, columns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    choices, keys = read_choices(row.get(columns[0]) if len(columns) == 1 else [row.get(name) for name in columns])
    return tuple(map(_sound, choices)), keys


def _sentences(row: Row, columns: tuple[str, ...]) -> Iterable[str]:
    for name in columns:
        value = row.get(name)
        for sentence in value if isinstance(value, list) else [value]:
            if sentence is not None and not isinstance(sentence, str):
                raise InputError(f"column {name!r} must hold reasons in words, got {type(sentence).__name__}")
            if sentence and sentence.strip():
                yield _sound(sentence)


@lru_cache(maxsize=64)
def _stem(file: str) -> str:
    return PurePath(file).name.partition(".")[0]
