"""Text files as lines: unpacked, in UTF-8, whatever ends a line."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from rationales.errors import DataError

NOT_UTF8 = "bytes that are not UTF-8; save the file as UTF-8"

_BLOCK = 1 << 16
_UNDECODED = re.compile("[\udc80-\udcff]")
_UTF16 = "the file is in UTF-16 or UTF-32; save it as UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW)"
_FIRST_BYTES: Mapping[bytes, str] = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x00\x00\xfe\xff": _UTF16,
    b"\x1f\x8b": "the file is packed by gzip; then its name must end in .gz",
    b"PK\x03\x04": "the file is a zip archive or an Excel workbook; unpack it, or save it as CSV in UTF-8",
    b"PAR1": "the file is Parquet; then its name must end in .parquet",
}
"""What a file is not, by how it begins."""


@contextlib.contextmanager
def text_lines(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file with their ends, without the byte order mark.

    Bytes that are not UTF-8 become lone surrogates, which `undecoded` finds: one bad line does not end the reading. A
    file that is not text at all raises `DataError`.
    """
    with _opened(path) as file:
        _check(file.read(_BLOCK), path)
        file.seek(0)
        end = _line_end(file)
        file.seek(0)
        yield io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=end)


def undecoded(text: str) -> bool:
    """Whether a text holds bytes that are not UTF-8."""
    return not text.isascii() and _UNDECODED.search(text) is not None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is gzipped."""
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the compressed file is damaged: {error}", file=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error


def _check(head: bytes, path: Path) -> None:
    for first, problem in _FIRST_BYTES.items():
        if head.startswith(first):
            raise DataError(problem, file=path)
    if head.count(0) > len(head) // 4:  # every second byte of Latin letters in UTF-16
        raise DataError("the file is in UTF-16, or no text: many of its bytes are zero; save it as UTF-8", file=path)


def _line_end(file: BinaryIO) -> str:
    """What ends a line; a carriage return only if the file has no line feed at all, as old programs write it."""
    returns = False
    while block := file.read(_BLOCK):
        if b"\n" in block:
            return "\n"
        returns = returns or b"\r" in block
    return "\r" if returns else "\n"
