"""The sequence of explanations, in memory and in a file, and its JSON Lines."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from samples import ids, random_explanations, simple

from rationales.errors import FileFormatError
from rationales.explanation import (
    Alignment,
    Explanation,
    Explanations,
    Provenance,
    Scores,
    Selection,
    Sentence,
    Target,
    Token,
    files,
    read_jsonl,
)
from rationales.explanation.types import Body
from rationales.explanation.views import word_tokens


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
    assert frame["links"].isna().all()
    assert frame["link_weights"].isna().all()
    assert list(Explanations().to_pandas().columns) == list(frame.columns)


def test_a_table_of_links_names_their_other_ends(tmp_path: Path) -> None:
    texts = ("so good", "fine by me")
    first, second = ([token for token in word_tokens(texts) if token.segment == side] for side in (0, 1))
    tokens = (Token("[CLS]", -1, 0, 0), *second, Token("[SEP]", -1, 0, 0), *first)  # positions 1 to 3, and 5 and 6
    weights = [[1.0, 2.0, -3.0], [4.0, float("nan"), 6.0]]
    keep = [[True, False, True], [True, False, False]]
    Explanations(
        Explanation("x", texts, tokens, Target(1, "pos"), body, Provenance("m"))
        for body in (Alignment(weights, keep), Alignment(weights), Alignment(weights, np.zeros((2, 3))))
    ).save(tmp_path / "links.parquet")
    frame = Explanations.load(tmp_path / "links.parquet").to_pandas()
    kept, weighed, none = (frame[start : start + 7] for start in (0, 7, 14))
    assert kept["links"].tolist() == [[], [5, 6], [], [5], [], [1, 3], [1]]
    assert kept["link_weights"].tolist() == [[], [1.0, 4.0], [], [-3.0], [], [1.0, -3.0], [4.0]]
    assert kept["keep"].tolist() == [False, True, False, True, False, True, True]
    assert weighed[["keep", "links", "link_weights"]].isna().all(axis=None)
    assert none["links"].tolist() == [[]] * 7
    assert not none["keep"].any()
    rows = kept[kept["segment"] == 0].explode(["links", "link_weights"])
    assert rows[["token", "links", "link_weights"]].values.tolist() == [
        ["so", 1, 1.0],
        ["so", 3, -3.0],
        ["good", 1, 4.0],
    ]


# JSON Lines


def test_json_lines_are_strict_json_that_people_can_read(tmp_path: Path) -> None:
    Explanations(random_explanations(1, 50)).to_jsonl(tmp_path / "a.jsonl")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    lines = (tmp_path / "a.jsonl").read_bytes().decode("utf-8").split("\n")
    header, *rows, end = [json.loads(line, parse_constant=refuse) if line else None for line in lines]
    assert (header["rationales"], end, len(rows)) == (1, None, 50)
    assert list(rows[0]) == ["id", "texts", "tokens", "target", "body", "provenance", "checks"]
    assert list(rows[0]["tokens"][0]) == ["text", "segment", "start", "end"]


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
