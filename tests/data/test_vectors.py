from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.data.vectors import read_vectors
from rationales.errors import DataError

LINES = "the 0.5 -1 2\nsoup 1e-2 0 3\nthe 9 9 9\n. 0 0 1\n"


@pytest.fixture(params=["glove.txt", "word2vec.txt", "glove.txt.gz", "vectors.parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        vectors = pa.array([[0.5, -1, 2], [0.01, 0, 3], [9, 9, 9], [0, 0, 1]], pa.list_(pa.float16(), 3))
        pq.write_table(pa.table({"word": ["the", "soup", "the", "."], "vector": vectors}), path)
    else:
        text = ("4 3\n" if "word2vec" in path.name else "") + LINES
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_words_and_vectors_the_first_of_equals(file: Path) -> None:
    found = read_vectors(file)
    assert found.words == ["the", "soup", "."]
    assert found.values.dtype == np.float32
    assert found.values == pytest.approx(np.array([[0.5, -1, 2], [0.01, 0, 3], [0, 0, 1]]), rel=1e-3)


def test_only_those_that_are_wanted(file: Path) -> None:
    assert read_vectors(file, ["soup", "unknown"]).words == ["soup"]
    with pytest.raises(DataError, match="none of the words"):
        read_vectors(file, ["unknown"])


def test_the_beginning_is_read_whether_wanted_or_not(file: Path) -> None:
    assert read_vectors(file, ["."], beginning=1).words == ["the", "."]
    assert read_vectors(file, ["unknown"], beginning=2).words == ["the", "soup"]
    assert read_vectors(file, [], beginning=100).words == ["the", "soup", "."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", "line 2 is not a word and its numbers"),
        ("a 1 2\nb 1 x\n", "line 2 is not a word and its numbers"),
        ("a 1 2\nb 1 nan\n", "some vectors hold NaN or infinity"),
    ],
)
def test_what_is_no_file_of_vectors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_vectors(path)


def test_words_with_spaces_and_tabs_between(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\n. . . 3 4\nb\t5\t6\n")
    assert read_vectors(path).words == ["a", ". . .", "b"]


def test_a_table_needs_both_columns(tmp_path: Path) -> None:
    path = tmp_path / "vectors.parquet"
    pq.write_table(pa.table({"word": ["a"], "n": [1]}), path)
    with pytest.raises(DataError, match="a column of words and one of lists"):
        read_vectors(path)
    with pytest.raises(DataError, match="no such file"):
        read_vectors(tmp_path / "none.txt")
