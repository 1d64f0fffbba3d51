"""Files of explanations: exact round trips, flat memory, no half files, and errors that say what is wrong."""

import doctest
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import ODD, ids, plain, random_explanations, simple, there_and_back

from rationales.errors import FileFormatError, FileVersionError, InputError
from rationales.explanation import (
    Alignment,
    Explanation,
    Explanations,
    ExplanationWriter,
    Provenance,
    Scores,
    Selection,
    Sentence,
    Target,
    Token,
    columns,
    files,
)
from rationales.explanation.views import word_tokens

# Round trips


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_random_explanations_come_back_as_they_were(tmp_path: Path, suffix: str, small_groups: None) -> None:
    before = random_explanations(0, 400)
    after = there_and_back(before, tmp_path / f"a.{suffix}")
    assert [plain(one) for one in after] == [plain(one) for one in before]
    assert [plain(after[number]) for number in range(0, 400, 37)] == [plain(one) for one in before[::37]]


CORNERS = [
    Scores([]),
    Scores([], []),
    Selection([]),
    Alignment(np.zeros((0, 0))),
    Sentence(""),
    Sentence("why", np.zeros((0, 3))),
    Sentence("why", np.zeros((3, 0))),
    Sentence("why", ODD[:6] * np.ones((2, 6))),
]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_empty_bodies_keep_their_shape(tmp_path: Path, suffix: str) -> None:
    before = [Explanation("", ("", ""), (), Target(0, ""), body, Provenance("")) for body in CORNERS]
    for side, shape in enumerate([(2, 0), (0, 2)]):
        tokens = tuple(Token(letter, side, 0, 1) for letter in "ab")
        for keep in (None, np.zeros(shape)):
            body = Alignment(np.zeros(shape), keep)
            before.append(Explanation("", ("ab", "ab"), tokens, Target(0, ""), body, Provenance("")))
    before.append(Explanation("", (), (), Target(0, ""), Selection([]), Provenance("")))
    for explanations in (before, *([one] for one in before), []):  # alone, a column has nothing but nulls
        after = there_and_back(explanations, tmp_path / f"a.{suffix}")
        assert [plain(one) for one in after] == [plain(one) for one in explanations]


def test_parquet_keeps_every_bit_of_a_float(tmp_path: Path) -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 1 << 63, 0, 1, 0], dtype=np.uint64)
    texts = ("a b c d e f g",)
    before = Explanation("", texts, word_tokens(texts), Target(0, ""), Scores(bits.view(float)), Provenance(""))
    body = there_and_back([before] * 3, tmp_path / "a.parquet")[1].body
    assert isinstance(body, Scores)
    assert body.values.view(np.uint64).tolist() == bits.tolist()


def test_offsets_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    token = Token("ab", np.int64(0), np.int32(0), np.int64(2))  # type: ignore[arg-type]
    before = Explanation("a", ("ab",), (token,), Target(0, ""), Scores([1.0]), Provenance(""))
    for suffix in ("parquet", "jsonl"):
        assert there_and_back([before], tmp_path / f"a.{suffix}")[0].tokens == (Token("ab", 0, 0, 2),)


@pytest.mark.parametrize("where", ["id", "texts", "token", "label", "params", "sentence", "check"])
def test_half_a_surrogate_pair_is_refused_and_nothing_else(tmp_path: Path, where: str) -> None:
    text = {
        name: "\ud83d" if name == where else "x" for name in ("id", "texts", "token", "label", "params", "sentence")
    }
    bad = Explanation(
        text["id"],
        (text["texts"],),
        (Token(text["token"], 0, 0, 1),),
        Target(0, text["label"]),
        Sentence(text["sentence"]),
        Provenance("m", {"a": [text["params"]]}),
        {"\udc00": 1.0} if where == "check" else {},
    )
    message = r"explanation '.*' holds the lone surrogate '\\ud[8c]..', which is no Unicode text"
    with ExplanationWriter(tmp_path / "a.parquet") as writer:
        writer.write(simple(0))
        with pytest.raises(InputError, match=message):
            writer.write(bad)
        writer.write(simple(1))
    assert ids(Explanations.load(tmp_path / "a.parquet")) == [0, 1]
    with pytest.raises(InputError, match=message):
        Explanations([simple(0), bad]).to_jsonl(tmp_path / "a.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


# Streaming


def peak(work: Iterable[Any]) -> tuple[int, int]:
    """The most blocks that Python and bytes that Arrow held while something was iterated over."""
    blocks, arrow = sys.getallocatedblocks(), pa.total_allocated_bytes()
    held = [
        (sys.getallocatedblocks() - blocks, pa.total_allocated_bytes() - arrow)
        for number, _ in enumerate(work)
        if number % 50 == 0
    ]
    return max(python for python, _ in held), max(arrow for _, arrow in held)


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_PER_GROUP", 256)
    path, texts = tmp_path / "a.parquet", ("so very good",)

    def write(size: int) -> Iterator[None]:
        tokens, target, made = word_tokens(texts), Target(0, "x"), Provenance("random")
        with ExplanationWriter(path) as writer:
            for number in range(size):
                writer.write(Explanation(str(number), texts, tokens, target, Scores([1.0, 2.0, number]), made))
                yield

    for size in (300, 20_000):  # the first for what is imported only once
        writing = peak(write(size))
        reading = peak(Explanations.load(path))
    blocks = sys.getallocatedblocks()
    everything = list(Explanations.load(path))
    blocks = sys.getallocatedblocks() - blocks
    assert max(writing[0], reading[0]) < blocks / 20
    assert max(writing[1], reading[1]) < pq.read_table(path).nbytes / 10
    assert ids(everything[::5000]) == [0, 5000, 10000, 15000]


def test_row_groups_are_bounded_by_what_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CELLS_PER_GROUP", 100)
    path, texts = tmp_path / "a.parquet", ("a b c d e f g h", "a b c d e f g h")
    wide = Explanation("", texts, word_tokens(texts), Target(0, ""), Alignment(np.ones((8, 8))), Provenance(""))
    Explanations([wide] * 5).save(path)
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [2, 2, 1]
    assert {metadata.row_group(0).column(number).compression for number in range(metadata.num_columns)} == {"ZSTD"}
    assert len(Explanations.load(path)) == len(list(Explanations.load(path))) == 5


# Whole files or none


def test_a_writer_that_fails_leaves_what_was_there(fifty: Explanations, tmp_path: Path) -> None:
    path = tmp_path / "fifty.parquet"

    def fail(target: Path) -> None:
        with ExplanationWriter(target) as writer:
            for number in range(30):
                writer.write(simple(number))
            raise KeyboardInterrupt

    for target in (path, tmp_path / "new.parquet"):
        with pytest.raises(KeyboardInterrupt):
            fail(target)
    assert [file.name for file in tmp_path.iterdir()] == ["fifty.parquet"]
    assert ids(Explanations.load(path)) == list(range(50))


def test_a_writer_whose_last_rows_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(rows: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(files, "encode", full)
    with pytest.raises(OSError, match="no space left"):
        Explanations([simple(0)]).save(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_no_file_of_that_name(fifty: Explanations, tmp_path: Path) -> None:
    script = f"""
import os, signal
from rationales.explanation import Explanations, ExplanationWriter
many = Explanations.load({str(tmp_path / "fifty.parquet")!r})
for name in ("fifty.parquet", "new.parquet"):
    writer = ExplanationWriter(os.path.join({str(tmp_path)!r}, name)).__enter__()
    for explanation in list(many) * 30:
        writer.write(explanation)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".tmp")] == ["fifty.parquet"]
    assert ids(Explanations.load(tmp_path / "fifty.parquet")) == list(range(50))


def test_folders_are_made_links_followed_and_permissions_usual(tmp_path: Path) -> None:
    real, link = tmp_path / "new" / "folder" / "a.parquet", tmp_path / "link"
    Explanations([simple(0)]).save(real)
    link.symlink_to(real)
    Explanations([simple(1)]).save(link)
    assert link.is_symlink()
    assert ids(Explanations.load(real)) == [1]
    umask = os.umask(0)
    os.umask(umask)
    assert real.stat().st_mode & 0o777 == 0o666 & ~umask
    for write in (Explanations().save, Explanations().to_jsonl):
        with pytest.raises(InputError, match=r"folder is a directory; give the name of a file"):
            write(real.parent)


def test_a_writer_writes_in_its_block_only(tmp_path: Path) -> None:
    writer = ExplanationWriter(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="writes in its block"):
        writer.write(simple(0))
    with writer:
        writer.write(simple(0))
    with pytest.raises(InputError, match="writes in its block"):
        writer.write(simple(1))
    assert ids(Explanations.load(tmp_path / "a.parquet")) == [0]


def test_a_writer_that_failed_can_begin_anew(tmp_path: Path) -> None:
    writer = ExplanationWriter(tmp_path / "a.parquet")

    def fail() -> None:
        with writer:
            writer.write(simple(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with writer:
        writer.write(simple(1))
    assert ids(Explanations.load(tmp_path / "a.parquet")) == [1]


# Files that cannot be read


def with_metadata(path: Path, **changes: str) -> None:
    table = pq.read_table(path)
    notes = {f"rationales.{key}".encode(): value for key, value in changes.items()}
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **notes}), path)


def test_the_file_says_who_wrote_it(fifty: Explanations, tmp_path: Path) -> None:
    notes = pq.read_schema(tmp_path / "fifty.parquet").metadata
    assert notes[b"rationales.schema_version"] == b"1"
    assert notes[b"rationales.version"].decode() == files.package_version()


def test_a_later_version_is_named_and_refused(fifty: Explanations, tmp_path: Path) -> None:
    later = r"written by rationales 9.1.0 with schema version 2; .* reads versions up to 1. Upgrade with: pip install"
    with_metadata(tmp_path / "fifty.parquet", schema_version="2", version="9.1.0")
    with pytest.raises(FileVersionError, match=rf"fifty.parquet: {later}"):
        Explanations.load(tmp_path / "fifty.parquet")
    (tmp_path / "a.jsonl").write_text('{"rationales": 2, "version": "9.1.0"}\n{"no": "idea"}\n')
    with pytest.raises(FileVersionError, match=rf"a.jsonl: {later}"):
        Explanations.from_jsonl(tmp_path / "a.jsonl")


def test_a_version_that_is_none_is_refused(fifty: Explanations, tmp_path: Path) -> None:
    with_metadata(tmp_path / "fifty.parquet", schema_version="new")
    with pytest.raises(FileFormatError, match="must be a positive integer, got 'new'"):
        Explanations.load(tmp_path / "fifty.parquet")
    for odd in ("0", "1.0", '"1"', "true"):
        (tmp_path / "a.jsonl").write_text(f'{{"rationales": {odd}}}\n')
        with pytest.raises(FileFormatError, match="must be a positive integer"):
            Explanations.from_jsonl(tmp_path / "a.jsonl")


def test_parquet_of_others_is_refused(fifty: Explanations, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"text": ["a"]}), other)
    with pytest.raises(FileFormatError, match=r"other.parquet is a Parquet file, but not of explanations"):
        Explanations.load(other)
    pq.write_table(pa.table({"text": ["a"]}, metadata={"rationales.schema_version": "1"}), other)
    with pytest.raises(FileFormatError, match="does not have the columns of schema version 1"):
        Explanations.load(other)


def test_damage_is_noticed_wherever_it_is(fifty: Explanations, tmp_path: Path) -> None:
    path, good = tmp_path / "damaged.parquet", (tmp_path / "fifty.parquet").read_bytes()
    for size in (0, 3, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(FileFormatError, match=r"damaged.parquet is damaged, or no Parquet file of explanations: ."):
            Explanations.load(path)
    whole, noticed = [plain(one) for one in fifty], 0
    places = np.linspace(4, len(good) - 5, 80).astype(int)
    for place in places:
        path.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        try:
            assert [plain(one) for one in Explanations.load(path)] == whole  # a byte that says nothing about the rows
        except FileFormatError:
            noticed += 1
    assert noticed > len(places) / 2


def test_rows_that_contradict_themselves_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    Explanations([simple(0), simple(1, Sentence("why"))]).save(path)
    table = pq.read_table(path)
    row = table.to_pylist()[0]
    for change, reason in (
        ({"body": {**row["body"], "values": [1.0]}}, r"scores of shape \(1,\)"),
        ({"body": {**row["body"], "values": None}}, "scores"),
        ({"body": {**row["body"], "kind": "picture"}}, "no body is of the kind 'picture'"),
        ({"provenance": {**row["provenance"], "params": "{"}}, "property name"),
    ):
        pq.write_table(pa.Table.from_pylist([{**row, **change}], schema=table.schema), path)
        with pytest.raises(FileFormatError, match=rf"a.parquet is damaged.*{reason}"):
            list(Explanations.load(path))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for read in (Explanations.load, Explanations.from_jsonl):
        with pytest.raises(FileNotFoundError, match=r"there is no such file of explanations: .*nothing.here"):
            read(tmp_path / "nothing.here")
        with pytest.raises(InputError, match="is a directory; give the name of a file"):
            read(tmp_path)


def test_the_two_formats_are_told_apart(fifty: Explanations, tmp_path: Path) -> None:
    fifty.to_jsonl(tmp_path / "a.jsonl")
    with pytest.raises(FileFormatError, match=r"a.jsonl looks like JSON; read it with Explanations.from_jsonl"):
        Explanations.load(tmp_path / "a.jsonl")
    with pytest.raises(FileFormatError, match=r"fifty.parquet, line 1: .*"):
        Explanations.from_jsonl(tmp_path / "fifty.parquet")


def test_the_page_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "explanations.md"
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0
    for field in columns.SCHEMA:
        assert f"| `{field.name}` |" in page.read_text()
