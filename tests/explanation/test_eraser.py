"""Rationales and documents in the layout of the ERASER benchmark."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rationales.errors import FileFormatError, InputError
from rationales.explanation import Explanations, Scores, Selection, Target, from_eraser
from rationales.explanation.eraser import document_ids, read_annotations, read_documents


def jsonl(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def evidence(docid: str, start: int, end: int) -> dict[str, Any]:
    return {
        "docid": docid,
        "start_token": start,
        "end_token": end,
        "start_sentence": -1,
        "end_sentence": -1,
        "text": "",
    }


@pytest.fixture
def review(tmp_path: Path) -> Path:
    """A set with one document per file, whose tokens are ended by spaces only."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "r1").write_text("the soup  was cold .\n\n fine\u00a0view ,\u2028 though \n", "utf-8")
    return tmp_path


def test_documents_of_a_directory(review: Path) -> None:
    for path in (review, str(review / "docs")):
        documents = read_documents(path)
        assert list(documents) == ["r1"]
        document = documents["r1"]
        assert document.tokens == ("the", "soup", "was", "cold", ".", "fine\u00a0view", ",\u2028", "though")
        assert document.sentences == ((0, 5), (5, 8))
        assert document.text == " ".join(document.tokens)
        assert [document.text[start:end] for start, end in document.spans] == list(document.tokens)
        assert document.text[slice(*document.characters(1, 4))] == "soup was cold"
    (review / "docs" / "r2").write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match="r2 is not UTF-8 text"):
        read_documents(review)["r2"]
    (review / "secret").write_text("x")
    assert "../secret" not in documents
    with pytest.raises(KeyError):
        documents["../secret"]
    with pytest.raises(InputError, match=r"tokens \[7, 9\) do not lie in document 'r1' of 8 tokens"):
        document.characters(7, 9)


def test_documents_of_a_file(tmp_path: Path) -> None:
    jsonl(tmp_path / "docs.jsonl", {"docid": 7, "document": "a  b\nc"}, {"docid": "8", "document": "d"})
    documents = read_documents(tmp_path)
    assert len(documents) == 2
    assert documents["7"].tokens == ("a", "", "b", "c")  # there the benchmark counts what lies between two spaces
    (tmp_path / "docs").mkdir()
    with pytest.raises(InputError, match=r"both docs.jsonl and docs/"):
        read_documents(tmp_path)
    assert list(read_documents(tmp_path / "docs.jsonl")) == ["7", "8"]
    jsonl(tmp_path / "bad.jsonl", {"docid": "a", "document": "x"}, {"docid": "b", "text": "x"})
    with pytest.raises(FileFormatError, match=r"line 2: a docid and a document are wanted, got docid, text"):
        read_documents(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match="no documents at"):
        read_documents(tmp_path / "nowhere")


def test_annotations_give_line_numbers_and_report_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n[2]\n{"a": \n\xff\n{"a": 3}\n')
    bad: list[tuple[int, str]] = []
    found = list(read_annotations(path, on_error=lambda row, reason: bad.append((row, reason))))
    assert found == [(1, {"a": 1}), (6, {"a": 3})]
    assert [row for row, _ in bad] == [3, 4, 5]
    assert bad[0][1] == "a JSON object is wanted, got list"
    with pytest.raises(FileFormatError, match=r"a\.jsonl, line 3: a JSON object is wanted, got list"):
        list(read_annotations(path))
    with pytest.raises(InputError, match=r"no file at .*none\.jsonl: a JSONL file is wanted"):
        list(read_annotations(tmp_path / "none.jsonl"))


def test_human_rationales_are_the_union_of_the_evidence(review: Path) -> None:
    path = jsonl(
        review / "val.jsonl",
        {
            "annotation_id": "r1",
            "query": "Is it good?",
            "classification": "NEG",
            "evidences": [[evidence("r1", 1, 2), evidence("r1", 3, 4)], [evidence("r1", 3, 5)]],
        },
        {"annotation_id": "r1", "query": "Is it good?", "classification": "POS", "evidences": []},
    )
    first, second = from_eraser(path, review, labels=["NEG", "POS"])
    assert isinstance(first.body, Selection)
    assert isinstance(second.body, Selection)
    assert np.flatnonzero(first.body.keep).tolist() == [1, 3, 4]
    assert not second.body.keep.any()
    assert (first.provenance.method, first.target.index, second.target.index) == ("human", 0, 1)
    [asked, _] = from_eraser(path, review, queries={"r1": "Is it good?"})
    assert asked.texts == ("Is it good?", *first.texts)
    assert {token.segment for token in asked.tokens} == {1}
    assert asked.target.index == -1


def prediction(**fields: Any) -> dict[str, Any]:
    scored = {"NEG": 0.75, "POS": 0.25}
    return {"annotation_id": "r1", "classification": "NEG", "classification_scores": scored} | fields


def test_predicted_rationales_hard_and_soft(review: Path) -> None:
    soft = [0.0, 0.5, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0]
    hard = [{"start_token": 1, "end_token": 2}, {"start_token": 3, "end_token": 4}]
    rationale = {"docid": "r1", "hard_rationale_predictions": hard, "soft_rationale_predictions": soft}
    path = jsonl(review / "out.jsonl", prediction(rationales=[rationale]))
    [scored] = from_eraser(path, review, method="ours", model="m")
    [kept] = from_eraser(path, review / "docs", method="ours", body="selection")
    assert isinstance(scored.body, Scores)
    assert isinstance(kept.body, Selection)
    assert scored.body.values.tolist() == soft
    assert np.flatnonzero(kept.body.keep).tolist() == [1, 3]
    assert scored.target == Target(-1, "NEG", 0.75)
    assert (scored.provenance.method, scored.provenance.model) == ("ours", "m")
    del rationale["soft_rationale_predictions"]
    [kept_alone] = from_eraser(jsonl(path, prediction(rationales=[rationale])), review, method="ours")
    assert isinstance(kept_alone.body, Selection)
    with pytest.raises(FileFormatError, match=r"line 1: soft_rationale_predictions are wanted for 'r1'"):
        list(from_eraser(path, review, method="ours", body="scores"))


def test_pairs_are_premise_first_and_whole(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "docs.jsonl",
        {"docid": "4_premise", "document": "two dogs run"},
        {"docid": "4_hypothesis", "document": "dogs sleep"},
    )
    documents = read_documents(tmp_path)
    path = jsonl(
        tmp_path / "val.jsonl",
        {"annotation_id": "4", "evidences": [[evidence("4_hypothesis", 1, 2)]], "classification": "c"},
        {"annotation_id": "4", "evidences": [], "docids": None, "classification": "c"},
        {"annotation_id": "4", "rationales": [{"docid": "4_premise", "soft_rationale_predictions": [1, 2, 3]}]},
    )
    found = list(from_eraser(path, documents, method="x"))
    assert [one.texts for one in found] == [("two dogs run", "dogs sleep")] * 3
    assert isinstance(found[0].body, Selection)
    assert isinstance(found[2].body, Scores)
    assert found[0].body.keep.tolist() == [False] * 4 + [True]
    assert found[2].body.values.tolist() == [1, 2, 3, 0, 0]
    assert document_ids({"docids": ["4_hypothesis", "4_premise"]}, documents) == ("4_premise", "4_hypothesis")


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ({"id": 1}, FileFormatError, "annotation_id with evidences .* got id"),
        ({"annotation_id": "x", "evidences": []}, FileFormatError, "no document 'x'"),
        ({"annotation_id": "x", "evidences": [[evidence("r2", 0, 1)]]}, FileFormatError, "no document 'r2'"),
        ({"annotation_id": "x", "evidences": [evidence("r1", 0, 1)]}, FileFormatError, "evidences must be groups"),
        (
            {"annotation_id": "x", "evidences": [[evidence("r1", 7, 9)]]},
            FileFormatError,
            r"\[7, 9\) .* 'r1' of 8 tokens",
        ),
        (prediction(rationales=[{"docid": "r1"}]), FileFormatError, "hard_rationale_predictions are wanted for 'r1'"),
        (prediction(rationales=["r1"]), FileFormatError, "not in the layout of ERASER"),
        (
            prediction(rationales=[{"docid": "r1", "soft_rationale_predictions": [1.0, 2.0]}]),
            FileFormatError,
            "2 soft predictions for 'r1' of 8 tokens",
        ),
        (prediction(classification="MIXED", rationales=[]), InputError, "'MIXED' is none of the labels NEG, POS"),
    ],
)
def test_eraser_says_what_is_wrong(review: Path, line: dict[str, Any], error: type[Exception], message: str) -> None:
    path = jsonl(review / "out.jsonl", line)
    labels = ["NEG", "POS"] if "classification" in line else []
    with pytest.raises(error, match=rf"out\.jsonl, line 1: .*{message}"):
        list(from_eraser(path, review, method="ours", labels=labels))


def test_eraser_wants_a_method_a_query_and_a_known_body(review: Path) -> None:
    path = jsonl(review / "out.jsonl", prediction(rationales=[{"docid": "r1", "hard_rationale_predictions": []}]))
    with pytest.raises(InputError, match="method="):
        list(from_eraser(path, review))
    with pytest.raises(InputError, match="no query for annotation 'r1' among the 0 given"):
        list(from_eraser(path, review, method="ours", queries={}))
    with pytest.raises(InputError, match="body must be scores or selection, got 'soft'"):
        list(from_eraser(path, review, method="ours", body="soft"))  # type: ignore[arg-type]


def test_rationales_stream_into_a_file(review: Path, tmp_path: Path) -> None:
    path = jsonl(review / "val.jsonl", *[{"annotation_id": "r1", "evidences": [[evidence("r1", 0, 2)]]}] * 3)
    Explanations(from_eraser(path, review)).save(tmp_path / "people.parquet")
    read = Explanations.load(tmp_path / "people.parquet")
    assert [one.words().body.keep[:3].tolist() for one in read] == [[True, True, False]] * 3
