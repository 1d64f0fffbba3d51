"""Property tests: readers, files of explanations and the terminal, fed with arbitrary text and arbitrary bytes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import unicodedata
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from anything import any_explanations, any_text, bounded, broken_text, written_text
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from rationales.data import Example, load
from rationales.errors import InputError, RationalesError
from rationales.explanation import Explanations
from rationales.explanation.sequence import to_json
from rationales.report import coloured, plain
from rationales.report.terminal import printable

LONG = "enough letters that the file is no block of zeros, whatever the texts are; that would be taken for UTF-16" * 2
some_texts = st.lists(written_text, min_size=1, max_size=5)


def read(path: Path, **options) -> list[str]:
    return [example.texts[0] for example in load(path, **options)]


# ---------------------------------------------------------------------------------------------------------------------
# Readers


@bounded(60)
@given(some_texts, st.sampled_from([(".csv", ","), (".tsv", "\t")]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_csv_and_tsv_come_back(tmp_path, texts, kind, line_end, packed):
    ending, delimiter = kind
    buffer = io.StringIO(newline="")
    # a carriage return is quoted for its own sake only if it is part of what ends a line
    quoting = csv.QUOTE_MINIMAL if "\r" in line_end else csv.QUOTE_ALL
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows([["text", LONG], *([text, "yes"] for text in texts)])
    path = tmp_path / f"rows{ending}{'.gz' if packed else ''}"
    content = buffer.getvalue().encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read(path) == texts


@bounded(30)
@given(st.lists(written_text.map(lambda text: text.replace("\n", " ")).filter(str.strip), min_size=1, max_size=5))
def test_csv_with_carriage_returns_comes_back(tmp_path, texts):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r")
    writer.writerows([["text", LONG], *([text, "yes"] for text in texts)])
    path = tmp_path / "rows.csv"
    path.write_bytes(buffer.getvalue().encode())
    assert read(path) == texts


@bounded(60)
@given(some_texts, st.booleans())
def test_jsonl_comes_back(tmp_path, texts, escaped):
    path = tmp_path / "rows.jsonl"
    path.write_bytes("".join(json.dumps({"text": text}, ensure_ascii=escaped) + "\n" for text in texts).encode())
    assert read(path) == texts


@bounded(30)
@given(some_texts)
def test_parquet_comes_back(tmp_path, texts):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": texts}), path)
    assert read(path) == texts


@bounded(40)
@given(some_texts)
def test_plain_lines_come_back(tmp_path, texts):
    lines = [text.replace("\n", " ").replace("\r", " ").lstrip("\ufeff") for text in texts]
    path = tmp_path / "rows.txt"
    path.write_bytes("".join(line + "\n" for line in [LONG, *lines]).encode())
    assert read(path) == [LONG, *(line for line in lines if line.strip())]


@bounded(40)
@given(broken_text)
def test_half_a_character_is_a_bad_row(tmp_path, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "good"}) + "\n" + json.dumps({"text": text}) + "\n")
    with pytest.raises(RationalesError, match=r"row 2: .* holds a character that does not exist"):
        read(path)
    assert read(path, on_error="skip") == ["good"]
    with pytest.raises(InputError, match="is not Unicode that can be written"):
        Example("0", (text,))


RECORDS = b'text,label\n"good, very",1\nbad,0\n'
LINES = b'{"text": "good", "label": 1}\n{"text": "bad", "label": 0}\n'


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with a few bytes changed, taken out or put in, or cut."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        content[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "txt", "csv.gz", "parquet"])
@bounded(60)
@given(st.one_of(st.binary(max_size=60), damaged(RECORDS), damaged(LINES)), st.sampled_from(["fail", "skip"]))
def test_whatever_a_file_holds_is_read_or_refused_in_our_words(tmp_path, ending, content, on_error):
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(content)
    try:
        texts = read(path, on_error=on_error)
    except RationalesError as error:
        assert "rows" in str(error)  # noqa: PT017 - that it may be raised, and not must, is the point
    else:
        assert all(text.strip() for text in texts)


# ---------------------------------------------------------------------------------------------------------------------
# Files of explanations


@bounded(60)
@given(st.lists(any_explanations(), max_size=4))
def test_explanations_of_anything_come_back(tmp_path, explanations):
    path = tmp_path / "found.parquet"
    Explanations(explanations).save(path)
    assert [to_json(one) for one in Explanations.load(path)] == [to_json(one) for one in explanations]
    Explanations.load(path).to_jsonl(tmp_path / "found.jsonl")
    assert [to_json(one) for one in Explanations.from_jsonl(tmp_path / "found.jsonl")] == list(
        map(to_json, explanations)
    )


@bounded(40)
@given(any_explanations(), any_explanations(), broken_text)
def test_what_utf8_cannot_hold_is_refused_and_the_file_of_before_stays(tmp_path, good, other, text):
    bad = replace(other, id=text)
    for path, write in ((tmp_path / "a.parquet", Explanations.save), (tmp_path / "a.jsonl", Explanations.to_jsonl)):
        path.write_text("of before")
        with pytest.raises(InputError, match="lone surrogate"):
            write(Explanations([good, bad]), path)
        assert path.read_text() == "of before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.parquet"]


# ---------------------------------------------------------------------------------------------------------------------
# The terminal


def steers(text: str) -> bool:
    """Whether a terminal would do something else than show it."""
    joiners = "\u200c\u200d"
    return any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in joiners + "\n" for sign in text)


@bounded(100)
@given(st.one_of(any_text, broken_text))
def test_printable_text_keeps_its_length_and_steers_nothing(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert not steers(shown)
    assert "\n" not in shown


@bounded(80)
@given(any_explanations(), st.integers(20, 200))
def test_any_explanation_can_be_printed(explanation, width):
    lines = plain(explanation)
    assert not steers(lines)
    for text in explanation.texts:
        assert printable(text) in lines
    screen = io.StringIO()
    Console(file=screen, force_terminal=True, width=width, color_system="truecolor").print(coloured(explanation))
    shown = Text.from_ansi(screen.getvalue()).plain  # without the colours, which are ours
    assert not steers(shown)
