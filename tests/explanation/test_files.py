"""Files of explanations: exact round trips, flat memory, no half files, and errors that say what is wrong."""

import doctest
import json
import math
import os
import pickle
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
    read_jsonl,
)
from rationales.explanation.types import Body
from rationales.explanation.views import word_tokens

ODD = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 0.1, -1.7976931348623157e308]
ALPHABET = list('ab "\\\n\t\u2028\x00\x7féß好😀\U000e0001')


def plain(value: Any) -> Any:
    """Everything an explanation holds, as something that compares bit by bit (but for the kinds of NaN)."""
    match value:
        case float():
            return "nan" if math.isnan(value) else value.hex()
        case np.ndarray():
            return str(value.dtype), value.shape, [plain(item) for item in value.ravel().tolist()]
        case str() | bool() | int() | None:
            return value
        case tuple():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case Explanation() | Provenance() | Token() | Target() | Scores() | Selection() | Alignment() | Sentence():
            return type(value).__name__, [plain(getattr(value, name)) for name in value.__dataclass_fields__]
        case _:  # a mapping proxy
            return plain(dict(value))


def random_explanations(seed: int, size: int) -> list[Explanation]:
    rng = np.random.default_rng(seed)

    def word(longest: int = 12) -> str:
        return "".join(rng.choice(ALPHABET, size=rng.integers(0, longest + 1)))

    def floats(*shape: int) -> np.ndarray:
        return np.where(rng.random(shape) < 0.3, rng.choice(ODD, size=shape), rng.normal(size=shape))

    def one() -> Explanation:
        texts = tuple(word(30) for _ in range(rng.integers(1, 3)))
        tokens = (Token("[CLS]", -1, 0, 0), *word_tokens(texts))[rng.integers(2) :]
        sides = [sum(token.segment == side for token in tokens) for side in (0, 1)]
        n, maybe = len(tokens), bool(rng.integers(2))
        body: Body
        match rng.integers(4):
            case 0:
                body = Scores(floats(n), floats(n) if maybe else None)
            case 1:
                body = Selection(rng.random(n) < 0.5)
            case 2:
                body = Alignment(floats(*sides), rng.random(sides) < 0.5 if maybe else None)
            case _:
                body = Sentence(word(), floats(*rng.integers(0, 4, size=2)) if maybe else None)
        params = {word(): word(), "odd": tuple(ODD), "deep": {"a": (1, None, True, "NaN", {"b": math.nan})}}
        seed = None if maybe else int(rng.integers(-(2**63), 2**63))
        made = Provenance(word(), params, word(), seed, word())
        checks = {f"{number}{word()}": float(value) for number, value in enumerate(floats(rng.integers(3)))}
        return Explanation(
            word(), texts, tokens, Target(int(rng.integers(-1, 9)), word(), floats()[()]), body, made, checks
        )

    return [one() for _ in range(size)]


def simple(number: int, body: Body | None = None) -> Explanation:
    texts = (f"number {number} was a good one and not a bad one",)
    tokens = word_tokens(texts)
    made = Provenance("random", {"seed": 0})
    return Explanation(str(number), texts, tokens, Target(0, "x"), body or Scores(np.full(len(tokens), number)), made)


def ids(explanations: Any) -> list[int]:
    return [int(explanation.id) for explanation in explanations]


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_PER_GROUP", 7)


@pytest.fixture
def fifty(tmp_path: Path, small_groups: None) -> Explanations:
    """Fifty explanations in a file of eight row groups."""
    Explanations(map(simple, range(50))).save(tmp_path / "fifty.parquet")
    return Explanations.load(tmp_path / "fifty.parquet")


# Round trips


def there_and_back(explanations: list[Explanation], path: Path) -> Explanations:
    if path.suffix == ".parquet":
        Explanations(explanations).save(path)
        return Explanations.load(path)
    Explanations(explanations).to_jsonl(path)
    return Explanations.from_jsonl(path)


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


def test_json_lines_are_strict_json_that_people_can_read(tmp_path: Path) -> None:
    Explanations(random_explanations(1, 50)).to_jsonl(tmp_path / "a.jsonl")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    lines = (tmp_path / "a.jsonl").read_bytes().decode("utf-8").split("\n")
    header, *rows, end = [json.loads(line, parse_constant=refuse) if line else None for line in lines]
    assert (header["rationales"], end, len(rows)) == (1, None, 50)
    assert list(rows[0]) == ["id", "texts", "tokens", "target", "body", "provenance", "checks"]
    assert list(rows[0]["tokens"][0]) == ["text", "segment", "start", "end"]


def test_offsets_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    token = Token("ab", np.int64(0), np.int32(0), np.int64(2))  # type: ignore[arg-type]
    before = Explanation("a", ("ab",), (token,), Target(0, ""), Scores([1.0]), Provenance(""))
    for suffix in ("parquet", "jsonl"):
        assert there_and_back([before], tmp_path / f"a.{suffix}")[0].tokens == (Token("ab", 0, 0, 2),)


def test_optional_fields_of_json_may_be_left_out(tmp_path: Path) -> None:
    row = {
        "id": "a",
        "texts": ["ab"],
        "tokens": [{"text": "ab", "segment": 0, "start": 0, "end": 2}],
        "target": {"index": 0, "label": "x"},
        "body": {"kind": "scores", "values": [None]},  # what JavaScript makes of NaN
        "provenance": {"method": "mine"},
    }
    (tmp_path / "a.jsonl").write_text('{"rationales": 1}\n' + json.dumps(row) + "\n\n")
    (after,) = Explanations.from_jsonl(tmp_path / "a.jsonl")
    assert after.provenance == Provenance("mine")
    assert np.isnan(after.body.values).tolist() == [True]  # type: ignore[union-attr]


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


# The sequence


def test_a_loaded_sequence_behaves_like_a_list(fifty: Explanations) -> None:
    wanted, rng = list(range(50)), np.random.default_rng(2)
    assert (len(fifty), ids(fifty), ids(fifty)) == (50, wanted, wanted)
    assert (ids([fifty[0], fifty[-1], fifty[np.int64(13)]]), ids(reversed(fifty))) == ([0, 49, 13], wanted[::-1])
    ends, steps = [None, *range(-60, 60)], [None, -9, -7, -3, -1, 1, 2, 7, 8, 60]
    for _ in range(300):
        part = slice(rng.choice(ends), rng.choice(ends), rng.choice(steps))
        assert ids(fifty[part]) == wanted[part]
    assert ids(fifty[40:5:-3][2:9]) == wanted[40:5:-3][2:9]
    assert fifty[10:20][-1].id == "19"
    for outside in (50, -51):
        with pytest.raises(IndexError, match=f"explanation {outside} of 50"):
            fifty[outside]


def test_a_sequence_in_memory_is_a_tuple_of_its_own() -> None:
    made = [simple(0), simple(1)]
    held = Explanations(made)
    made.clear()
    assert (ids(held), ids(held[1:]), ids(Explanations(held))) == ([0, 1], [1], [0, 1])
    assert list(Explanations()) == []


def test_slices_and_copies_of_a_file_read_nothing(fifty: Explanations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "decode", None)  # whoever decodes, fails
    part = Explanations(fifty)[3:40][::2]
    assert len(part) == 19
    assert repr(part).startswith("<19 explanations in ")
    assert repr(part).endswith("fifty.parquet>")
    assert repr(Explanations([simple(0)])) == "<1 explanations in memory>"


def test_few_row_groups_are_read_and_fewer_kept(fifty: Explanations, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    once = pq.ParquetFile.read_row_group
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda self, i: read.append(i) or once(self, i))
    for index in (0, 6, 7, 3, 10, 49, 0):
        assert fifty[index].id == str(index)
    assert read == [0, 1, 7, 0]


def test_a_file_can_be_saved_onto_itself(fifty: Explanations, tmp_path: Path) -> None:
    path = tmp_path / "fifty.parquet"
    fifty[::-1].save(path)
    assert ids(Explanations.load(path)) == list(range(49, -1, -1))
    assert ids(fifty) == list(range(50))  # who has it open still sees what was there
    assert [file.name for file in tmp_path.iterdir()] == ["fifty.parquet"]


def test_worker_processes_open_the_file_themselves(fifty: Explanations) -> None:
    assert ids(pickle.loads(pickle.dumps(fifty[5:30:5]))) == [5, 10, 15, 20, 25]


def test_a_table_of_tokens() -> None:
    texts, made = ("so good",), Provenance("m")
    tokens = (Token("[CLS]", -1, 0, 0), *word_tokens(texts))
    bodies: list[Body] = [Scores([0.0, 1.0, 2.0], [0.1] * 3), Selection([0, 0, 1]), Sentence("why")]
    frame = Explanations(
        Explanation(str(number), texts, tokens, Target(1, "pos"), body, made) for number, body in enumerate(bodies)
    ).to_pandas()
    assert frame["token"].tolist() == ["[CLS]", "so", "good"] * 3
    assert frame["position"].tolist() == [0, 1, 2] * 3
    assert frame["kind"].tolist() == ["scores"] * 3 + ["selection"] * 3 + ["sentence"] * 3
    assert frame["score"].tolist()[:3] == [0.0, 1.0, 2.0]
    assert frame["score"].isna().tolist() == [False] * 3 + [True] * 6
    assert frame["keep"].tolist()[3:6] == [False, False, True]
    assert frame["keep"].isna().tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert frame.loc[2, ["id", "method", "target", "label", "segment", "start", "end"]].tolist() == [
        *("0", "m", 1, "pos", 0, 3, 7),
    ]
    assert list(Explanations().to_pandas().columns) == list(frame.columns)


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
    with pytest.raises(KeyboardInterrupt), writer:
        writer.write(simple(2))
        raise KeyboardInterrupt
    assert ids(Explanations.load(tmp_path / "a.parquet")) == [0]


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


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: line[: len(line) // 2], "Expecting|Unterminated|delimiter"),
        (lambda line: line.replace(b'"target"', b'"targets"'), "'target' is missing"),
        (lambda line: line.replace(b'"label"', b'"lable"'), "unexpected keyword argument 'lable'"),
        (lambda line: line.replace(b'"scores"', b'"picture"'), "no body is of the kind 'picture'"),
        (lambda line: line.replace(b"2.0]", b"2.0, 2.0]"), r"scores of shape \(12,\) for tokens that want \(11,\)"),
        (lambda line: line.replace(b"2.0]", b"NaN]"), 'a bare NaN is not JSON; write the string "NaN"'),
        (lambda line: line.replace(b"2.0]", b'"high"]'), "high"),
        (lambda line: line.replace(b"2.0]", b"1" + b"0" * 400 + b"]"), "too large"),
        (lambda line: b"[1, 2]\n", "list indices"),
        (lambda line: b"7\n", "not subscriptable"),
        (lambda line: line.replace(b"good", b"\xff\xfe"), "can't decode byte 0xff"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, change: Any, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    Explanations(map(simple, range(5))).to_jsonl(path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert change(lines[3]) != lines[3]
    path.write_bytes(b"".join([*lines[:3], change(lines[3]), *lines[4:]]))
    read = read_jsonl(path)
    assert ids([next(read), next(read)]) == [0, 1]
    with pytest.raises(FileFormatError, match=rf"a.jsonl, line 4: .*({reason})"):
        next(read)


@pytest.mark.parametrize("content", ["", "\n", "[]\n", '{"id": "a"}\n', "text,label\n"])
def test_json_lines_begin_with_our_header(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(FileFormatError, match=r"a.jsonl, line 1: "):
        Explanations.from_jsonl(tmp_path / "a.jsonl")


def test_the_page_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "explanations.md"
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0
    for field in columns.SCHEMA:
        assert f"| `{field.name}` |" in page.read_text()
