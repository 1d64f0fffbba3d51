"""Files of explanations in Parquet: `ExplanationWriter` writes one, `StoredRows` reads it.

Both hold a few row groups in memory, never the whole, so a million explanations cost no more than a thousand. What the
columns are is said in `rationales.explanation.columns`; JSON Lines are in `rationales.explanation.sequence`.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rationales.errors import FileFormatError, FileVersionError, InputError, WriteError
from rationales.explanation.columns import REPEATING, SCHEMA, decode, dump_params, encode
from rationales.explanation.types import Alignment, Explanation, Sentence

SCHEMA_VERSION = 1
_VERSION_KEY, _WRITER_KEY = b"rationales.schema_version", b"rationales.version"

ROWS_PER_GROUP = 512
CELLS_PER_GROUP = 20_000  # tokens and numbers: a MB or so, however long the texts
GROUPS_IN_MEMORY = 2

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a full disk, a user's quota, a limit on the size of files and a broken disk give."""


def package_version() -> str:
    """The version of this package, for the files it writes."""
    from rationales import __version__

    return __version__


def check_version(found: object, writer: object, where: str) -> None:
    """Refuse a schema version that this package cannot read; `writer` is the package version that wrote it."""
    if type(found) is not int or found < 1:  # True is an int, too
        raise FileFormatError(f"{where}: the schema version must be a positive integer, got {found!r}")
    if found > SCHEMA_VERSION:
        raise FileVersionError(
            f"{where}: written by rationales {writer} with schema version {found}; this is rationales "
            f"{package_version()}, which reads versions up to {SCHEMA_VERSION}. "
            "Upgrade with: pip install --upgrade rationales"
        )


def existing(path: Path | str) -> Path:
    """The path, or an error if no file is there."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory; give the name of a file of explanations")
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file of explanations", str(path))
    return path


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary name beside `path`: it takes the place of `path` when the block ends well, else it is removed."""
    with _beside(path) as (place, beside):
        yield beside
        beside.replace(place)


def check_writable(path: Path | str) -> None:
    """Raise what writing to `path` would raise; better to hear it before hours are spent on what goes there."""
    with _beside(path):
        pass


@contextmanager
def _beside(path: Path | str) -> Iterator[tuple[Path, Path]]:
    """Where `path` really is, and a temporary file beside it that is gone when the block ends."""
    path = Path(os.path.realpath(path))  # a link stays a link, and what it points to is replaced
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")  # a file's name has at most 255 bytes
    try:
        _touch(path, beside)
        yield path, beside
    except OSError as error:  # others may come from what is to be written, and say themselves what they are
        if error.errno not in _DISK:
            raise
        raise WriteError(
            f"{path} could not be written: {os.strerror(error.errno)}. What was there before is as it was"
        ) from error
    finally:
        with suppress(OSError):  # also where nothing could be written
            beside.unlink(missing_ok=True)


def _touch(path: Path, beside: Path) -> None:
    """Make the temporary file, or say why nothing can be written at `path`."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory; give the name of a file to write")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.touch()
    except OSError as error:
        wrong = next((place for place in path.parents if place.exists() and not place.is_dir()), None)
        reason = str(error.strerror) if wrong is None else f"{wrong} is not a directory"
        raise WriteError(f"{path} cannot be written: {reason}") from error


def check_unicode(explanation: Explanation) -> None:
    """Refuse half of a surrogate pair, which no file in UTF-8 can hold."""
    body, made = explanation.body, explanation.provenance
    strings = [explanation.id, *explanation.texts, explanation.target.label, *explanation.checks]
    strings += [token.text for token in explanation.tokens]
    strings += [made.method, made.model, made.version, dump_params(made.params)]
    if isinstance(body, Sentence):
        strings.append(body.text)
    try:
        "\n".join(strings).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"explanation {explanation.id!r} holds the lone surrogate {error.object[error.start]!r}, which is no "
            'Unicode text and cannot be saved; replace it, e.g. by text.encode("utf-8", "replace").decode()'
        ) from error


class ExplanationWriter:
    """Writes explanations to a Parquet file, one after another, in memory that does not grow with their number.

    The file appears when the block ends. If it ends with an exception, a file that was there before stays as it was.

        with ExplanationWriter("explanations.parquet") as writer:
            for explanation in many:
                writer.write(explanation)
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._waiting: list[Explanation] = []
        self._cells = 0
        self._parquet: pq.ParquetWriter | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        metadata = {_VERSION_KEY: str(SCHEMA_VERSION), _WRITER_KEY: package_version()}
        with ExitStack() as stack:  # left from the last to the first: write the rest, close, rename
            beside = stack.enter_context(replacing(self.path))
            self._parquet = stack.enter_context(
                pq.ParquetWriter(
                    str(beside),
                    SCHEMA.with_metadata(metadata),
                    compression="zstd",
                    use_dictionary=REPEATING,
                    write_statistics=["id"],
                    write_page_checksum=True,
                )
            )
            stack.push(self._finish)
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def write(self, explanation: Explanation) -> None:
        """Add one explanation. One that cannot be saved raises `InputError`; the others are not affected."""
        if self._parquet is None:
            raise InputError("an ExplanationWriter writes in its block: with ExplanationWriter(path) as writer: …")
        check_unicode(explanation)
        self._waiting.append(explanation)
        self._cells += _cells(explanation)
        if len(self._waiting) >= ROWS_PER_GROUP or self._cells >= CELLS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        assert self._parquet is not None
        if self._waiting:
            self._parquet.write_batch(encode(self._waiting))
        self._waiting, self._cells = [], 0

    def _finish(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        self._waiting, self._cells, self._parquet = [], 0, None


def _cells(explanation: Explanation) -> int:
    """How much room an explanation takes: its tokens, and the numbers that are not one per token."""
    match explanation.body:
        case Alignment(weights=matrix) | Sentence(steps=np.ndarray() as matrix):
            return len(explanation.tokens) + matrix.size
    return len(explanation.tokens)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside means that the file is damaged."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise FileFormatError(f"{path} is damaged, or no Parquet file of explanations: {error}") from error


class _Groups:
    """The row groups of a file, of which the last few are kept.

    The file stays open, so it can be replaced, even by ourselves, while it is read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            if file.read(1) == b"{":
                raise FileFormatError(f"{path} looks like JSON; read it with Explanations.from_jsonl")
        with _readable(path):
            self._parquet = pq.ParquetFile(path, page_checksum_verification=True)
        metadata = self._parquet.metadata
        notes = {key: value.decode(errors="replace") for key, value in (metadata.metadata or {}).items()}
        if _VERSION_KEY not in notes:
            raise FileFormatError(f"{path} is a Parquet file, but not of explanations: its metadata lack our version")
        found = notes[_VERSION_KEY]
        check_version(int(found) if found.isdecimal() else found, notes.get(_WRITER_KEY, "?"), str(path))
        if not self._parquet.schema_arrow.equals(SCHEMA):
            raise FileFormatError(f"{path} does not have the columns of schema version {found}")
        sizes = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        self.starts = list(accumulate(sizes, initial=0))
        if self.starts[-1] != metadata.num_rows:
            raise FileFormatError(f"{path} is damaged: {metadata.num_rows} rows, but its parts have {self.starts[-1]}")
        self.path = path
        self.group = lru_cache(GROUPS_IN_MEMORY)(self._read)
        self._lock = threading.Lock()  # a reader of Arrow serves one thread at a time

    def _read(self, number: int) -> pa.RecordBatch:
        with self._lock:
            return self._parquet.read_row_group(number).combine_chunks().to_batches()[0]

    def read(self, rows: range) -> Iterator[Explanation]:
        """The explanations of some rows, a row group at a time."""
        while rows:
            number = bisect_right(self.starts, rows[0]) - 1
            first, end = self.starts[number], self.starts[number + 1]
            inside = len(range(rows[0], end if rows.step > 0 else first - 1, rows.step))
            here, rows = rows[:inside], rows[inside:]
            with _readable(self.path):
                batch = self.group(number).take(pa.array([row - first for row in here], pa.int32()))
                explanations = decode(batch)
            yield from explanations


class StoredRows(Sequence[Explanation]):
    """The explanations of a Parquet file, or a slice of them, read when they are asked for."""

    def __init__(self, groups: _Groups, rows: range) -> None:
        self._groups, self._rows = groups, rows

    @classmethod
    def open(cls, path: Path | str, rows: range | None = None) -> StoredRows:
        """Check the file and its version; of the explanations, nothing is read yet."""
        groups = _Groups(existing(path))
        return cls(groups, range(groups.starts[-1]) if rows is None else rows)

    @property
    def path(self) -> Path:
        return self._groups.path

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> StoredRows: ...
    def __getitem__(self, index: int | slice) -> Explanation | StoredRows:
        if isinstance(index, slice):
            return StoredRows(self._groups, self._rows[index])
        row = self._rows[index]
        return next(self._groups.read(range(row, row + 1)))

    def __iter__(self) -> Iterator[Explanation]:
        return self._groups.read(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:  # a worker process opens the file itself
        return StoredRows.open, (str(self.path.absolute()), self._rows)
