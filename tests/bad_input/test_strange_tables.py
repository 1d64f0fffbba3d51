"""Files of data as they come from other programs, broken off, or wrongly named: what is said, and what is read."""

from __future__ import annotations

import gzip
import json
import logging
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales import compare, explain
from rationales.data import Columns, Example, load
from rationales.errors import DataError, InputError
from rationales.explanation import Explanations
from tiny import classifier


def parquet(**columns) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


WHOLE = parquet(text=["good", "bad"] * 1000, label=[1, 0] * 1000)
ROWS = "text,label\ncafé good,1\nsoup,0\n"
UTF16 = "is in UTF-16 or UTF-32; save it as UTF-8"

REFUSED = {
    "nothing": ("a.csv", b"", "the file is empty; its first row must name the columns"),
    "blank lines": ("a.csv", b"\n\n\n", "the file is empty"),
    "only a header": ("a.csv", b"text,label\n", "there are no texts in"),
    "no objects": ("a.jsonl", b"\n\n", "JSON objects, one a line, are wanted: the file is empty"),
    "no lines": ("a.txt", b"\n \n", "there are no texts in"),
    "no rows": ("a.parquet", parquet(text=pa.array([], pa.string())), "there are no texts in"),
    "no text column": (
        "a.csv",
        b"a,b\n1,2\n",
        "no column looks like a text; name it with text (--text-column). Columns",
    ),
    "semicolons": ("a.csv", b"text;label\ngood;1\n", "They seem to be separated by ';'; .csv files have commas"),
    "tabs in .csv": ("a.csv", b"text\tlabel\ngood\t1\n", "They seem to be separated by '\\t'"),
    "latin-1": ("a.csv", ROWS.encode("latin-1"), "row 1: line 2: bytes that are not UTF-8; save the file as UTF-8"),
    "latin-1 lines": ("a.txt", "café\n".encode("latin-1"), "row 1: bytes that are not UTF-8"),
    "latin-1 JSON": ("a.jsonl", '{"text": "café"}\n{"text": 1}\n'.encode("latin-1"), "row 1: bytes that are not UTF-8"),
    "UTF-16": ("a.csv", ROWS.encode("utf-16"), UTF16),
    "UTF-16 lines": ("a.txt", "good\n".encode("utf-16"), UTF16),
    "UTF-16 JSON": ("a.jsonl", '{"text": "good"}\n'.encode("utf-16"), UTF16),
    "UTF-16 from the other end": ("a.tsv", b"\xfe\xff" + ROWS.encode("utf-16-be"), UTF16),
    "UTF-32": ("a.csv", ROWS.encode("utf-32"), UTF16),
    "UTF-16 without a mark": ("a.csv", ROWS.encode("utf-16-le"), "is in UTF-16, or no text"),
    "UTF-16 lines without a mark": ("a.txt", "good\nsoup\n".encode("utf-16-be"), "is in UTF-16, or no text"),
    "UTF-16 JSON without a mark": ("a.jsonl", '{"text": "good"}\n'.encode("utf-16-le"), "is in UTF-16, or no text"),
    "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(400), "is in UTF-16, or no text"),
    "a workbook": ("a.csv", b"PK\x03\x04" + bytes(100), "a zip archive or an Excel workbook"),
    "packed": ("a.csv", gzip.compress(ROWS.encode()), "packed by gzip; then its name must end in .gz"),
    "not packed": ("a.csv.gz", ROWS.encode(), "the compressed file is damaged: Not a gzipped file"),
    "packed and broken off": ("a.csv.gz", gzip.compress(ROWS.encode() * 99)[:-12], "the compressed file is damaged"),
    "misnamed Parquet": ("a.csv", WHOLE, "is Parquet; then its name must end in .parquet"),
    "too many fields": ("a.csv", b"text,label\ngood,1,2\n", "row 1: 3 fields under 2 columns"),
    "too few fields": ("a.csv", b"text,label\ngood,1\nsoup\n", "row 2: 1 fields under 2 columns"),
    "an open quote": ("a.csv", b'text,label\n"good,1\n', "unexpected end of data; if quotes are plain characters"),
    "a carriage return": (
        "a.csv",
        b"text,label\ngo\rod,1\n",
        "lines 2 to 2: a carriage return stands in a field without",
    ),
    "a huge field": ("a.csv", b"text\n" + b"good " * 3_400_000, "a field has more than 16,777,216 characters"),
    "a column twice": ("a.csv", b"text,text\na,b\n", "names the column 'text' twice"),
    "NUL in the header": ("a.csv", b"te\0xt,label\ngood,1\n", "Columns found: te\ufffdxt, label"),
    "no JSON": ("a.jsonl", b'{"text": "good"}\n{text: 1}\n', "row 2: not JSON: Expecting property name"),
    "a list": ("a.jsonl", b'{"text": "good"}\n[1]\n', "row 2: a JSON object is wanted, got list"),
    "no object": ("a.jsonl", b"null\n", "JSON objects, one a line, are wanted: a JSON object is wanted, got NoneType"),
    "a number as a text": ("a.jsonl", b'{"text": 5}\n', "column 'text' must hold a text, got int"),
    "no text in a row": ("a.jsonl", b'{"text": "good"}\n{"label": 1}\n', "row 2: no text in column 'text'"),
    "half a character": ("a.jsonl", b'{"text": "\\ud800"}\n', "holds a character that does not exist"),
    "brackets without end": ("a.jsonl", b'{"text": "good"}\n' + b"[" * 100_000, "row 2: not JSON"),
    "a number without end": ("a.jsonl", b'{"text": "good"}\n' + b"9" * 5000, "row 2: not JSON"),
    "white space as a text": ("a.csv", b"text,label\n  ,1\n", "row 1: empty text in column 'text'"),
    "Parquet of nothing": ("a.parquet", b"", "not a readable Parquet file"),
    "Parquet broken off": ("a.parquet", WHOLE[: len(WHOLE) // 2], "not a readable Parquet file"),
    "Parquet without its end": ("a.parquet", WHOLE[:-1], "not a readable Parquet file"),
    "Parquet with a hole": ("a.parquet", WHOLE[:10] + bytes(60) + WHOLE[70:], "not a readable Parquet file"),
    "Parquet of numbers": ("a.parquet", parquet(text=[1, 2]), "column 'text' must hold a text, got int"),
    "Parquet that is none": ("a.parquet", b"text,label\ngood,1\n", "not a readable Parquet file"),
}


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_said(refused, model_directory, tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    if "no texts in" in message:
        assert list(load(file)) == []
    else:
        with pytest.raises((DataError, InputError), match=re.escape(str(file))):
            list(load(file))
    line = refused("explain", "-m", model_directory, "--method", "random", "--data", file)
    assert message in line
    assert str(file) in line


READ = {
    "a byte order mark": ("a.csv", b"\xef\xbb\xbf" + ROWS.encode(), ["café good", "soup"]),
    "a byte order mark in JSON": ("a.jsonl", b'\xef\xbb\xbf{"text": "good"}\n', ["good"]),
    "carriage returns": ("a.csv", ROWS.replace("\n", "\r").encode(), ["café good", "soup"]),
    "carriage returns, packed": ("a.csv.GZ", gzip.compress(ROWS.replace("\n", "\r").encode()), ["café good", "soup"]),
    "carriage returns in TSV": ("a.tsv", b"text\tlabel\rgood\t1\r", ["good"]),
    "carriage returns in lines": ("a.txt", b"good\rsoup\r\rbad", ["good", "soup", "bad"]),
    "carriage returns in JSON": ("a.jsonl", b'{"text": "good"}\r{"text": "soup"}\r', ["good", "soup"]),
    "both": ("a.csv", ROWS.replace("\n", "\r\n").encode(), ["café good", "soup"]),
    "a quoted carriage return": ("a.csv", b'text,label\n"go\rod",1\n', ["go\rod"]),
    "NUL": ("a.csv", b"text,label\ngo\0od,1\n", ["go\0od"]),
    "no line end at the end": ("a.csv", ROWS.strip().encode(), ["café good", "soup"]),
    "the same id twice": ("a.csv", b"id,text\nx,good\nx,soup\n", ["good", "soup"]),
}


@pytest.mark.parametrize(("name", "content", "texts"), READ.values(), ids=READ)
def test_what_can_be_read_is_read(call, model_directory, tmp_path, name, content, texts):
    file = tmp_path / name
    file.write_bytes(content)
    assert [example.texts[0] for example in load(file)] == texts
    status, out, err = call("explain", "-m", model_directory, "--method", "random", "--json", "--data", file)
    assert (status, err) == (0, "")
    assert [json.loads(line)["texts"][0] for line in out.splitlines()] == texts


def test_nothing_is_lost_where_ids_are_the_same(tmp_path):
    model = classifier("bert")
    same = [Example("x", ("good soup",)), Example("x", ("bad waiter",)), Example("y", ("rude",))]
    found = explain(model, same, "gradient", out=tmp_path / "found.parquet")
    assert [(one.id, one.texts[0]) for one in found] == [("x", "good soup"), ("x", "bad waiter"), ("y", "rude")]
    cases = list(compare(model, same, ["gradient"], ["comprehensiveness"]).cases())
    assert [case.texts[0] for case in cases] == ["good soup", "bad waiter", "rude"]
    assert [case.explanations["gradient"].texts for case in cases] == [case.texts for case in cases]


def test_a_label_that_the_model_does_not_have_is_no_matter_to_an_explanation(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,label\ngood soup,nonsense\n")
    [found] = explain(classifier("bert"), load(file), "gradient")
    assert found.target.label.startswith("LABEL_")


BAD = b'text,label\ngood,1\nragged\ncaf\xe9,1\n,0\n"x"y,1\nlast one,0\n'


def test_bad_rows_are_skipped_counted_and_named(call, model_directory, tmp_path, caplog):
    file, out = tmp_path / "rows.csv", tmp_path / "found.parquet"
    file.write_bytes(BAD)
    data = load(file, on_error="skip")
    with caplog.at_level(logging.WARNING, "rationales.data"):
        assert [example.id for example in data] == ["rows-1", "rows-6"]
    assert data.skipped_count == 4
    assert [error.row for error in data.skipped] == [2, 3, 4, 5]
    assert "rows: skipped 4 bad rows, such as: " in caplog.text
    explains = ("explain", "-m", model_directory, "--method", "random", "--data", file, "--out", out)
    assert call(*explains)[0] == 2
    assert not out.exists()
    assert call(*explains, "--on-error", "skip")[0] == 0
    assert [one.id for one in Explanations.load(out)] == ["rows-1", "rows-6"]


def test_a_bad_row_far_down_leaves_the_file_of_before(call, model_directory, tmp_path):
    file, out = tmp_path / "rows.csv", tmp_path / "found.jsonl"
    file.write_text("text,label\n" + "good soup,1\n" * 300 + "ragged\n")
    out.write_text("of before")
    status, _, err = call("explain", "-m", model_directory, "--method", "random", "--data", file, "--out", out)
    assert (status, out.read_text()) == (2, "of before")
    assert "row 301: 1 fields under 2 columns" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.jsonl", "rows.csv"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--text-column", "texxt"], "has no column 'texxt'; did you mean 'text'? Its columns: text, label"),
        (["--label-column", "labels"], "has no column 'labels'; did you mean 'label'?"),
        (["--label-format", "number"], "row 1: the label must be a number, got 'yes'"),
        (["--label-format", "index"], "row 1: the label must be a class index"),
        (["--split", "dev"], "is one file and has no splits"),
    ],
)
def test_columns_that_are_not_there(refused, model_directory, tmp_path, option, message):
    file = tmp_path / "rows.csv"
    file.write_text("text,label\ngood,yes\n")
    for command in (["explain", "-m", model_directory], ["compare", "-m", model_directory, "--out", tmp_path / "out"]):
        assert message in refused(*command, "--data", file, *option)


def test_a_missing_column_is_named_from_python(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,label\ngood,yes\n")
    with pytest.raises(InputError, match=r"has no column 'review'\. Its columns: text, label"):
        load(file, columns=Columns(text="review"))


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_training_and_comparing_say_the_same(refused, model_directory, tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    line = refused("compare", "-m", model_directory, "--data", file, "--out", tmp_path / "compared")
    assert message in line or "there are no texts" in line
    training = ("train", "classifier", "--data", file, "--encoder", model_directory, "--out", tmp_path / "trained")
    line = refused(*training)
    assert message in line or "training data are empty" in line or "has a label" in line
    assert not (tmp_path / "compared").exists()
    assert not (tmp_path / "trained").exists()
