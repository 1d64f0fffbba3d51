"""Word vectors from files: GloVe and word2vec as text, or Parquet with a column of words and one of vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rationales.data.text_files import text_lines
from rationales.errors import DataError

_ROWS = 8192

_Entry: TypeAlias = tuple[int, str, NDArray[np.float32]]
"""The place of a word in its file, the word, and its vector."""


class Vectors(NamedTuple):
    """Words in the order of the file, and a vector for each, [N, d]."""

    words: list[str]
    values: NDArray[np.float32]


def read_vectors(path: str | Path, wanted: Collection[str] | None = None, *, beginning: int = 0) -> Vectors:
    """The vectors of the words that are `wanted`, or of all; the first of equal words counts.

    The first `beginning` words of the file, which is in order of frequency as a rule, are read whether wanted or not.

    Text files have a word and its numbers on each line, separated by spaces; a first line with two numbers, as word2vec
    writes it, is skipped. They may be gzipped.
    """
    file = Path(path)
    if not file.exists():
        raise DataError("there is no such file of word vectors", file=file)
    chosen = None if wanted is None else set(wanted)
    found: dict[str, NDArray[np.float32]] = {}
    for place, word, values in _parquet(file) if file.suffix == ".parquet" else _text(file, chosen, beginning):
        if (chosen is None or place < beginning or word in chosen) and word not in found:
            found[word] = values
    sizes = {len(values) for values in found.values()}
    if len(sizes) > 1:
        raise DataError(f"vectors of unequal sizes: {sorted(sizes)}", file=file)
    if not found:
        raise DataError("none of the words that are wanted has a vector there", file=file)
    values = np.stack(list(found.values()))
    if not np.isfinite(values).all():
        raise DataError("some vectors hold NaN or infinity", file=file)
    return Vectors(list(found), values)


def _text(path: Path, wanted: Collection[str] | None, beginning: int) -> Iterator[_Entry]:
    """Words may contain spaces, as some of GloVe do: so many numbers as on the first line end each line."""
    size, place = 0, -1
    with text_lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip().split()
            if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                size = int(fields[1])
                continue
            size = size or len(fields) - 1
            word = " ".join(fields[:-size])
            place += 1
            if wanted is not None and word not in wanted and place >= beginning:
                continue
            try:
                yield place, word, np.array(fields[-size:], dtype=np.float32)
            except ValueError:
                raise DataError(f"line {number} is not a word and its numbers: {line[:60]!r}", file=path) from None


def _parquet(path: Path) -> Iterator[_Entry]:
    table = pq.ParquetFile(path)
    schema = table.schema_arrow
    words = next((field.name for field in schema if pa.types.is_string(field.type)), None)
    vectors = next((field.name for field in schema if _is_vector(field.type)), None)
    if words is None or vectors is None:
        raise DataError("there should be a column of words and one of lists of numbers", file=path)
    read = 0
    for part in table.iter_batches(batch_size=_ROWS, columns=[words, vectors]):
        values = part.column(vectors)
        flat = values.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
        if len(flat) % max(len(part), 1):
            raise DataError("not all vectors are of one size", file=path)
        places = range(read, read + len(part))
        yield from zip(places, part.column(words).to_pylist(), flat.reshape(len(part), -1), strict=True)
        read += len(part)


def _is_vector(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed and pa.types.is_floating(kind.value_type))
