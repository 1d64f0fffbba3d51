import json

import pytest

from rationales.data import Columns, load
from rationales.errors import DataError, InputError

REVIEWS = {"r1": "a dull film .\nnothing happens .\n", "r2": "what a joy .\n", "r3": "so  so .\n"}


def evidence(docid, start, end):
    return {"docid": docid, "start_token": start, "end_token": end, "text": ""}


def annotation(id, label, *evidences, query="What is the verdict?", docids=None):
    return {
        "annotation_id": id,
        "classification": label,
        "query": query,
        "docids": docids,
        "evidences": [list(evidences)],
    }


def write(path, *, docs=REVIEWS, as_file=False, **splits):
    if as_file:
        lines = [json.dumps({"docid": id, "document": text}) for id, text in docs.items()]
        (path / "docs.jsonl").write_text("\n".join(lines))
    else:
        (path / "docs").mkdir()
        for id, text in docs.items():
            (path / "docs" / id).write_text(text)
    for split, rows in splits.items():
        (path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def marked(example):
    return [[text[a:b] for a, b in spans] for text, spans in zip(example.texts, example.rationale, strict=True)]


MOVIES = (
    annotation("r1", "NEG", evidence("r1", 1, 2), evidence("r1", 4, 6)),
    annotation("r2", "POS", evidence("r2", 2, 3)),
)


@pytest.mark.parametrize("as_file", [False, True])
def test_one_text_when_the_query_never_changes(tmp_path, as_file):
    docs = {id: text.strip() for id, text in REVIEWS.items()}
    first, second = load(write(tmp_path, docs=docs, as_file=as_file, train=MOVIES, val=MOVIES), split="train")
    assert first.texts == ("a dull film . nothing happens .",)
    assert (first.id, first.label) == ("r1", "NEG")
    assert marked(first) == [["dull", "nothing happens"]]
    assert marked(second) == [["joy"]]


def test_query_and_document_are_a_pair(tmp_path):
    rows = (
        annotation("a", "SUPPORTS", evidence("r1", 4, 6), query="Nothing happens in it."),
        annotation("b", "REFUTES", evidence("r2", 0, 3), query="It is no fun."),
    )
    first, _ = load(write(tmp_path, val=rows), split="dev")
    assert first.texts == ("Nothing happens in it.", "a dull film . nothing happens .")
    assert marked(first) == [[], ["nothing happens"]]


def test_two_documents_are_a_pair(tmp_path):
    docs = {"7_premise": "A man sleeps", "7_hypothesis": "A man runs"}
    rows = [annotation("7", "contradiction", evidence("7_hypothesis", 2, 3), query="")]
    (example,) = load(write(tmp_path, docs=docs, test=rows))
    assert example.texts == ("A man sleeps", "A man runs")
    assert marked(example) == [[], ["runs"]]


def test_without_evidences_nobody_was_asked(tmp_path):
    rows = [{"annotation_id": "r1", "docids": ["r1"]}, {"annotation_id": "r2", "evidences": []}]
    first, second = load(write(tmp_path, test=rows))
    assert (first.label, first.rationale) == (None, None)
    assert second.rationale == ((),)


def test_columns_can_be_chosen(tmp_path):
    first, _ = load(write(tmp_path, train=MOVIES), columns=Columns(text="query", pair="document"))
    assert first.texts == ("What is the verdict?", "a dull film . nothing happens .")
    assert first.label == "NEG"
    assert marked(first) == [[], ["dull", "nothing happens"]]


def test_bad_annotations(tmp_path):
    rows = (
        *MOVIES,
        annotation("r9", "NEG", evidence("r9", 0, 1)),
        annotation("r3", "NEG", evidence("r3", 2, 9)),
        {"annotation_id": "r3", "evidences": "many"},
        {"annotation_id": "r3", "docids": 3},
        {"annotation_id": "r3", "docids": ["r1", "r2", "r3"]},
    )
    path = write(tmp_path, train=rows)
    with (path / "train.jsonl").open("a") as file:
        file.write("not JSON")
    with pytest.raises(DataError, match=r"train\.jsonl, row 3: .*no document 'r9'"):
        list(load(path))
    dataset = load(path, on_error="skip")
    assert [example.id for example in dataset] == ["r1", "r2"]
    assert [error.row for error in dataset.skipped] == [3, 4, 5, 6, 7, 8]
    assert "does not lie in the text of 3 tokens" in dataset.skipped[1].reason
    assert "one document or two are wanted, got 3" in dataset.skipped[4].reason


def test_the_split_is_wanted(tmp_path):
    with pytest.raises(InputError, match="has the splits test, train"):
        load(write(tmp_path, train=MOVIES, test=MOVIES))
