import csv
import gzip
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.data.tables import Chain, Derived, choose_split, open_table
from rationales.errors import DataError, InputError


def read(path, **options):
    return [(record.row, record.problem or dict(record.values)) for record in open_table(path, **options).rows()]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_csv_with_mark_quotes_commas_and_line_breaks(tmp_path):
    content = '\ufefftext,label\r\n"He said ""no"", twice",1\r\n\r\n"two\nlines",0\r\n'
    assert read(write(tmp_path / "a.csv", content)) == [
        (1, {"text": 'He said "no", twice', "label": "1"}),
        (2, {"text": "two\nlines", "label": "0"}),
    ]


def test_tsv(tmp_path):
    content = 'text\tlabel\n"a\tb"\t1\n'
    assert read(write(tmp_path / "a.tsv", content)) == [(1, {"text": "a\tb", "label": "1"})]
    assert read(write(tmp_path / "a.tsv", 'text\tlabel\n"Oh no\t1\n'), quotes=False) == [
        (1, {"text": '"Oh no', "label": "1"})
    ]


def test_bad_csv_rows_keep_their_numbers(tmp_path):
    content = b'text,label\ngood,1\nragged\nbad \xff,1\n"x"y,1\nfine,0\n"never closed,1\n'
    rows = read(write(tmp_path / "a.csv", content))
    assert [row for row, _ in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0][1] == {"text": "good", "label": "1"}
    assert rows[1][1] == "1 fields under 2 columns"
    assert rows[2][1] == "line 4: bytes that are not UTF-8; save the file as UTF-8"
    assert rows[3][1].startswith("lines 5 to 5: ")
    assert rows[4][1] == {"text": "fine", "label": "0"}
    assert rows[5][1].startswith("lines 7 to 7: unexpected end of data; if quotes are plain characters")


def test_a_long_field_is_read_and_the_limit_of_the_csv_module_stays(tmp_path):
    limit = csv.field_size_limit()
    ((_, values),) = read(write(tmp_path / "a.csv", "text\n" + "x" * 200_000 + "\n"))
    assert len(values["text"]) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"text,text\na,b\n", "names the column 'text' twice"),
        ("text,label\na,1\n".encode("utf-16"), "in UTF-16 or UTF-32; save it as UTF-8"),
    ],
)
def test_csv_files_without_a_usable_header(tmp_path, content, reason):
    with pytest.raises(DataError, match=reason):
        open_table(write(tmp_path / "a.csv", content))


def test_jsonl(tmp_path):
    content = (
        b'\xef\xbb\xbf{"text": "a"}\n\n{"text": "b", "extra": [1]}\n{"text": \n[1]\n{"text": "\xff"}\n' + b"[" * 100_000
    )
    path = write(tmp_path / "a.jsonl", content)
    rows = read(path)
    assert [row for row, _ in rows] == [1, 3, 4, 5, 6, 7]
    assert rows[:2] == [(1, {"text": "a"}), (3, {"text": "b", "extra": [1]})]
    assert rows[2][1].startswith("not JSON: ")
    assert rows[3][1] == "a JSON object is wanted, got list"
    assert rows[4][1] == "bytes that are not UTF-8; save the file as UTF-8"
    assert rows[5][1].startswith("not JSON: ")
    table = open_table(path)
    assert table.columns == ("text", "extra")
    assert dict(list(table.rows(["text"]))[1].values) == {"text": "b"}


@pytest.mark.parametrize("content", ["", '[\n{"text": "a"}\n]\n'.replace('{"text": "a"}', '"a"')])
def test_a_jsonl_file_without_objects(tmp_path, content):
    with pytest.raises(DataError, match="JSON objects, one a line, are wanted"):
        open_table(write(tmp_path / "a.jsonl", content))


def test_plain_lines(tmp_path):
    rows = read(write(tmp_path / "a.txt", b"one\r\n\n two \n\xff\n"))
    assert rows[:2] == [(1, {"text": "one"}), (3, {"text": " two "})]
    assert "not UTF-8" in rows[2][1]


def test_parquet_over_row_groups_with_only_the_wanted_columns(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"text {number}" for number in range(1000)]
    pq.write_table(pa.table({"text": texts, "label": range(1000), "other": range(1000)}), path, row_group_size=300)
    table = open_table(path)
    assert table.columns == ("text", "label", "other")
    records = list(table.rows(["label", "text"]))
    assert [record.row for record in records] == list(range(1, 1001))
    assert dict(records[650].values) == {"text": "text 650", "label": 650}


def test_parquet_with_a_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "a.parquet"
    texts = pa.array([b"good", b"bad \xff", None, b"fine"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": texts}), path)
    rows = read(path)
    assert [row for row, _ in rows] == [1, 2, 3, 4]
    assert "not UTF-8" in rows[1][1]
    assert rows[3][1] == {"text": "fine"}


def test_a_damaged_parquet_file(tmp_path):
    with pytest.raises(DataError, match="not a readable Parquet file"):
        open_table(write(tmp_path / "a.parquet", b"PAR1 nothing PAR1"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "txt"])
def test_gzip(tmp_path, suffix):
    content = {"jsonl": '{"text": "a"}\n', "txt": "a\n"}.get(suffix, "text\na\n")
    path = tmp_path / f"a.{suffix}.gz"
    path.write_bytes(gzip.compress(content.encode()))
    assert read(path) == [(1, {"text": "a"})]


def test_a_gzip_file_that_breaks_off(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(
        gzip.compress(b"".join(json.dumps({"text": str(n)}).encode() + b"\n" for n in range(9999)))[:-2000]
    )
    with pytest.raises(DataError, match="the compressed file is damaged"):
        read(path)


def test_a_file_that_cannot_be_opened(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DataError, match=r"a\.csv: cannot be read: "):
        open_table(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz"])
def test_unknown_formats(tmp_path, name):
    with pytest.raises(InputError, match=r"must end in \.csv, \.tsv, \.jsonl"):
        open_table(write(tmp_path / name, b"x"))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_big_file_is_not_held_in_memory(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    text = "word " * 200
    with path.open("w") as file:
        file.write("" if suffix == "jsonl" else "text\n")
        for _ in range(10_000):
            file.write((json.dumps({"text": text}) if suffix == "jsonl" else text) + "\n")
    table = open_table(path)
    tracemalloc.start()
    count = sum(1 for _ in table.rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 1_000_000 < path.stat().st_size


def test_chain_and_derived(tmp_path):
    first = open_table(write(tmp_path / "a.csv", "text,score\na,1\nb,2\n"))
    second = open_table(write(tmp_path / "b.csv", "text,score,id\nc,3,x\nragged\n"))
    chain = Chain([first, second])
    assert chain.columns == ("text", "score", "id")

    def double(row):
        return None if row["score"] == "2" else {**row, "twice": 2 * int(row["score"])}

    derived = Derived(chain, double, needs=("score",), adds=("twice",))
    assert derived.columns == ("text", "score", "id", "twice")
    records = list(derived.rows(["text", "twice"]))
    assert [(record.row, record.values.get("text"), record.values.get("twice")) for record in records] == [
        (1, "a", 2),
        (1, "c", 6),
        (2, None, None),
    ]
    assert records[2].problem
    assert records[2].file.endswith("b.csv")


def test_splits():
    assert choose_split(["train", "validation"], "dev", "x") == "validation"
    assert choose_split(["train", "val"], "validation", "x") == "val"
    assert choose_split(["only"], None, "x") == "only"
    with pytest.raises(InputError, match="x has the splits train, test; choose one with split"):
        choose_split(["train", "test"], None, "x")
    with pytest.raises(InputError, match="x has the splits train, test, but not 'dev'"):
        choose_split(["train", "test"], "dev", "x")
