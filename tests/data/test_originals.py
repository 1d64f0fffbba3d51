"""Named sets in the files of their first release give the examples that the Parquet files of the same content give."""

import gzip
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.data import load
from rationales.errors import DataError, InputError

LIST, FLOAT = pa.list_(pa.int8()), pa.float32()
ASPECTS = ("appearance", "aroma", "palate", "taste", "overall")


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


def put_parquet(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


def beer(score, text, aspect=1):
    scores = ["0.9"] * 5
    scores[aspect] = str(score)
    return f"{' '.join(scores)}\t{text}"


def marked(example):
    return [[text[a:b] for a, b in spans] for text, spans in zip(example.texts, example.rationale, strict=True)]


REVIEWS = ((0.4, "smells of wet paper ."), (0.6, 'hops , and " more " hops'), (0.5, "so so"), (1.0, "a garden"))


@pytest.mark.parametrize("folder", [".", "beer", "data/beer", "cls/beer_advocate"])
def test_beer_reviews(tmp_path, folder):
    put(tmp_path / folder / "reviews.aspect1.heldout.txt.gz", lines(*(beer(*review) for review in REVIEWS)))
    put(tmp_path / folder / "reviews.aspect1.train.txt.gz", lines(beer(0.2, "flat"), beer(0.7, "fine")))
    put_parquet(
        tmp_path / "other/cls/beer_advocate/aroma_heldout.parquet",
        text=[text for _, text in REVIEWS],
        score_aroma=pa.array([score for score, _ in REVIEWS], FLOAT),
        fold=[8, 9, 8, 9],
    )
    dev = list(load("beer-aroma", split="dev", data_dir=tmp_path))
    assert dev == list(load("beer-aroma", split="dev", data_dir=tmp_path / "other"))
    assert [(example.id, example.label) for example in dev] == [
        ("aroma_heldout-1", 0),
        ("aroma_heldout-2", 1),
        ("aroma_heldout-4", 1),
    ]
    train = load("beer-aroma", split="train", data_dir=tmp_path)
    assert train.labels == ("negative", "positive")
    assert [(example.id, example.texts, example.label) for example in train] == [
        ("aroma_train-1", ("flat",), 0),
        ("aroma_train-2", ("fine",), 1),
    ]


@pytest.mark.parametrize(("number", "aspect"), list(enumerate(ASPECTS[:4])))
def test_each_aspect_has_its_own_score(tmp_path, number, aspect):
    scores = ["0.9"] * 5
    scores[number] = "0.1"
    for place in range(4):
        put(tmp_path / f"reviews.aspect{place}.heldout.txt.gz", lines(f"{' '.join(scores)}\ta beer"))
    labels = [
        [example.label for example in load(f"beer-{name}", split="dev", data_dir=tmp_path)] for name in ASPECTS[:4]
    ]
    assert labels == [[int(name != aspect)] for name in ASPECTS[:4]]


def test_the_parquet_files_go_first(tmp_path):
    put(tmp_path / "reviews.aspect1.heldout.txt.gz", lines(beer(0.9, "first release")))
    put_parquet(tmp_path / "cls/beer_advocate/aroma_heldout.parquet", text=["parquet"], score_aroma=[0.9], fold=[8])
    (example,) = load("beer-aroma", split="dev", data_dir=tmp_path)
    assert example.texts == ("parquet",)


def test_bad_lines_of_beer_reviews(tmp_path):
    bad = {
        2: ("0.1 0.2 0.3 0.4 0.5 no tab", "5 scores, a tab and a text are wanted, but there is no tab"),
        3: ("0.1 good 0.3 0.4 0.5\ta text", "5 scores from 0 to 1 are wanted, got '0.1 good 0.3 0.4 0.5'"),
        4: ("0.1 0.2 0.3 0.4\tfour scores", "5 scores from 0 to 1 are wanted"),
        5: ("1 2 3 4 5\tstars", "5 scores from 0 to 1 are wanted"),
        6: ("nan nan nan nan nan\tno numbers", "5 scores from 0 to 1 are wanted"),
        7: (beer(0.1, " "), "empty text"),
    }
    rows = [beer(0.9, "good"), *(line for line, _ in bad.values()), beer(0.1, "bad")]
    put(tmp_path / "reviews.aspect1.train.txt.gz", lines(*rows))
    with pytest.raises(DataError, match=r"reviews\.aspect1\.train\.txt\.gz, row 2: 5 scores, a tab"):
        list(load("beer-aroma", split="train", data_dir=tmp_path))
    dataset = load("beer-aroma", split="train", data_dir=tmp_path, on_error="skip")
    assert [example.texts for example in dataset] == [("good",), ("bad",)]
    assert [error.row for error in dataset.skipped] == list(bad)
    for error, (_, reason) in zip(dataset.skipped, bad.values(), strict=True):
        assert reason in error.reason


def annotation(tokens, score, *spans, aspect=1, **changes):
    scores = [0.8] * 5
    scores[aspect] = score
    item = {"x": tokens.split(), "y": scores, **{str(number): [] for number in range(5)}, "raw": tokens}
    return json.dumps(item | {str(aspect): [list(span) for span in spans]} | changes)


def test_beer_annotations(tmp_path):
    rows = (
        annotation("smells of hops and of hops", 0.9, (0, 3), (5, 6), (2, 4)),
        annotation("nothing said", 0.9),
        annotation("so so", 0.5, (0, 2)),
        annotation("stale and dull", 0.2, (2, 3), (0, 1)),
    )
    put(tmp_path / "beer/annotations.json", lines(*rows))
    put_parquet(
        tmp_path / "other/cls/beer_advocate/annotations.parquet",
        review_id=["annotations-1", "annotations-2", "annotations-3", "annotations-4"],
        tokens=[json.loads(row)["x"] for row in rows],
        score_aroma=pa.array([0.9, 0.9, 0.5, 0.2], FLOAT),
        rationale_aroma=pa.array([[1, 1, 1, 1, 0, 1], [0, 0], [1, 1], [1, 0, 1]], LIST),
    )
    examples = list(load("beer-aroma", split="test", data_dir=tmp_path))
    assert examples == list(load("beer-aroma", split="test", data_dir=tmp_path / "other"))
    assert [(example.id, example.label) for example in examples] == [("annotations-1", 1), ("annotations-4", 0)]
    assert [marked(example) for example in examples] == [[["smells of hops and", "hops"]], [["stale", "dull"]]]
    assert list(load("beer-taste", split="test", data_dir=tmp_path)) == []


def test_bad_beer_annotations(tmp_path):
    bad = {
        2: (annotation("too short", 0.9, (1, 3)), "span [1, 3) does not lie in the text of 2 tokens"),
        3: (annotation("no scores", 0.9, (0, 1), y=None), "5 scores from 0 to 1 are wanted, got None"),
        4: (annotation("few scores", 0.9, (0, 1), y=[0.5]), "5 scores from 0 to 1 are wanted"),
        5: (annotation("words", 0.9, (0, 1), y=["a"] * 5), "5 scores from 0 to 1 are wanted"),
        6: (annotation("no pair", 0.9, (0,)), "[start, end] pairs"),
        7: (annotation("no list", 0.9, **{"1": 3}), "'1' must hold a list of [start, end] pairs, got 3"),
        8: (annotation("no tokens", 0.9, (0, 1), x=None), "no text in column 'tokens'"),
        9: (annotation("empty pair", 0.9, ()), "[start, end] pairs"),
        10: ("{", "not JSON"),
    }
    put(tmp_path / "annotations.json", lines(annotation("a fine smell", 1, (2, 3)), *(row for row, _ in bad.values())))
    with pytest.raises(DataError, match=r"annotations\.json, row 2: .*span \[1, 3\)"):
        list(load("beer-aroma", split="test", data_dir=tmp_path))
    dataset = load("beer-aroma", split="test", data_dir=tmp_path, on_error="skip")
    assert [example.id for example in dataset] == ["annotations-1"]
    assert [error.row for error in dataset.skipped] == list(bad)
    for error, (_, reason) in zip(dataset.skipped, bad.values(), strict=True):
        assert reason in error.reason


def test_balanced_beer_draws_the_papers_sample_of_the_larger_class(tmp_path):
    scores = [0.1 if number % 5 == 0 else 0.5 if number % 7 == 0 else 0.8 for number in range(200)]
    rows = [beer(score, f"beer {number}") for number, score in enumerate(scores)]
    rows.insert(50, "a bad line")
    for part in ("train", "heldout"):
        put(tmp_path / f"reviews.aspect1.{part}.txt.gz", lines(*rows))
    positive = [f"beer {number}" for number, score in enumerate(scores) if score == 0.8]
    negative = [f"beer {number}" for number, score in enumerate(scores) if score == 0.1]

    train = load("beer-aroma/balanced", split="train", data_dir=tmp_path, on_error="skip")
    drawn = {0: [], 1: []}
    for example in train:
        drawn[example.label].append(example.texts[0])
    assert drawn[0] == negative
    assert set(drawn[1]) == set(random.Random(20226666).sample(positive, len(negative)))
    assert drawn[1] == [text for text in positive if text in set(drawn[1])]  # in the order of the file
    assert train.skipped_count == 1
    assert list(train) == list(train)

    dev = load("beer-aroma/balanced", split="dev", data_dir=tmp_path, on_error="skip")
    assert len(list(dev)) == len(positive) + len(negative)
    with pytest.raises(InputError, match="beer-aroma has no part 'even'; it has balanced"):
        load("beer-aroma/even", split="train", data_dir=tmp_path)


@pytest.mark.parametrize("folder", [".", "data", "hotel", "cls/hotel_reviews"])
def test_hotel_reviews(tmp_path, folder):
    texts = {"train": 'a " quiet street', "dev": "far from town"}
    for part, text in texts.items():
        row = f"hotel_Location\t{int(part == 'train')}\t{text}"
        put(tmp_path / folder / f"oracle/hotel_Location.{part}", lines("task\tlabel\ttext", row))
        put_parquet(
            tmp_path / f"other/cls/hotel_reviews/location_{part}.parquet",
            review_id=[f"location_{part}-1"],
            text=[text],
            label=[int(part == "train")],
        )
    rows = (
        "hotel_Location\t1\tnear the old port .\t1 1 1 1 0\t0.5",
        "hotel_Location\t\tunrated\t1\t0.5",
        'hotel_Location\t0\t" far " they say\t0 1 0 0 1\t0.5',
    )
    put(tmp_path / folder / "target/hotel_Location.train", lines("task\tlabel\ttext\trationale\tpred_att", *rows))
    put_parquet(
        tmp_path / "other/cls/hotel_reviews/location_annotations.parquet",
        review_id=[f"location_annotations-{row}" for row in (1, 2, 3)],
        label=[1, None, 0],
        tokens=[["near", "the", "old", "port", "."], ["unrated"], ['"', "far", '"', "they", "say"]],
        rationale=pa.array([[1, 1, 1, 1, 0], [1], [0, 1, 0, 0, 1]], LIST),
    )
    for split in ("train", "dev", "test"):
        examples = list(load("hotel-location", split=split, data_dir=tmp_path))
        assert examples == list(load("hotel-location", split=split, data_dir=tmp_path / "other"))
    assert [marked(example) for example in examples] == [[["near the old port"]], [["far", "say"]]]


def test_bad_rows_of_hotel_reviews(tmp_path):
    bad = {
        2: ("hotel_Service\t1\tkind staff\t1", "1 flags, but the text has 2 tokens"),
        3: ("hotel_Service\t1\tkind staff\t1 2", "flags must be 0 or 1, got 2"),
        4: ("hotel_Service\t1\tkind staff\t1 x", "a rationale must be a list of whole numbers"),
        5: ("hotel_Service\tgood\tkind staff\t1 1", "the label 'good' is none of negative, positive"),
        6: ("hotel_Service\t1\tkind staff", "3 fields under 4 columns"),
    }
    rows = ["hotel_Service\t0\trude staff\t1 0", *(row for row, _ in bad.values())]
    put(tmp_path / "target/hotel_Service.train", lines("task\tlabel\ttext\trationale", *rows))
    with pytest.raises(DataError, match=r"hotel_Service\.train, row 2: .*1 flags"):
        list(load("hotel-service", split="test", data_dir=tmp_path))
    dataset = load("hotel-service", split="test", data_dir=tmp_path, on_error="skip")
    assert [marked(example) for example in dataset] == [[["rude"]]]
    assert [error.row for error in dataset.skipped] == list(bad)
    for error, (_, reason) in zip(dataset.skipped, bad.values(), strict=True):
        assert reason in error.reason


def eraser(folder, docs, **splits):
    for id, text in docs.items():
        put(folder / "docs" / id, text)
    for split, rows in splits.items():
        put(folder / f"{split}.jsonl", lines(*map(json.dumps, rows)))


def evidence(id, query, label, docid, *spans):
    marks = [[{"docid": docid, "start_token": start, "end_token": end, "text": ""}] for start, end in spans]
    return {"annotation_id": id, "query": query, "classification": label, "docids": [docid], "evidences": marks}


@pytest.mark.parametrize("folder", ["{}", "eraser_{}", "data/{}", "cls/eraser_{}"])
@pytest.mark.parametrize(("name", "labels"), [("multirc", ("False", "True")), ("fever", ("REFUTES", "SUPPORTS"))])
def test_eraser_pairs(tmp_path, name, labels, folder):
    docs = {"d1": "The cat slept .\nThe dog ate .\n"}
    rows = [
        evidence("a1", "Who slept ? || The cat", labels[1], "d1", (0, 3)),
        evidence("a2", "Who ate ? || Nobody", labels[0], "d1", (4, 7), (1, 2)),
    ]
    eraser(tmp_path / folder.format(name), docs, train=rows, val=rows[:1], test=rows)
    queries = [row["query"].split(" || ") if name == "multirc" else (row["query"], "") for row in rows]
    put_parquet(
        tmp_path / f"other/cls/eraser_{name}/test.parquet",
        annotation_id=["a1", "a2"],
        doc_id=["d1", "d1"],
        query=[query for query, _ in queries],
        answer=[answer for _, answer in queries],
        label=[1, 0],
        rationale=pa.array([[1, 1, 1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 1, 1, 0]], LIST),
    )
    put_parquet(tmp_path / f"other/cls/eraser_{name}/docs.parquet", doc_id=["d1"], tokens=[docs["d1"].split()])
    examples = list(load(name, split="test", data_dir=tmp_path))
    assert examples == list(load(name, split="test", data_dir=tmp_path / "other"))
    assert [example.label for example in examples] == [1, 0]
    assert marked(examples[1]) == [[], ["cat", "The dog ate"]]
    assert list(load(name, split="train", data_dir=tmp_path)) == examples
    assert list(load(name, split="dev", data_dir=tmp_path)) == examples[:1]


def test_eraser_movies(tmp_path):
    rows = [evidence("m1", "What is it?", "POS", "m1", (2, 3)), evidence("m2", "What is it?", "NEG", "m2")]
    rows[0]["docids"] = None  # as in the release: the evidence names the document, or the annotation does
    rows[1]["docids"] = None
    eraser(tmp_path / "movies", {"m1": "what a joy\n", "m2": "a bore\n"}, val=rows)
    put_parquet(
        tmp_path / "other/cls/eraser_movies/val.parquet",
        doc_id=["m1", "m2"],
        label=[1, 0],
        tokens=[["what", "a", "joy"], ["a", "bore"]],
        rationale=pa.array([[0, 0, 1], [0, 0]], LIST),
    )
    examples = list(load("eraser-movies", split="dev", data_dir=tmp_path))
    assert examples == list(load("eraser-movies", split="dev", data_dir=tmp_path / "other"))
    assert [marked(example) for example in examples] == [[["joy"]], [[]]]


def test_bad_annotations_of_eraser(tmp_path):
    rows = [
        evidence("a1", "It slept .", "SUPPORTS", "d1", (0, 1)),
        evidence("a2", "It ate .", "REFUTES", "d9", (0, 1)),
        evidence("a3", "It ate .", "REFUTES", "d1", (0, 9)),
        evidence("a4", "It ate .", "PERHAPS", "d1", (0, 1)),
    ]
    eraser(tmp_path / "fever", {"d1": "The cat slept ."}, val=rows)
    with pytest.raises(DataError, match=r"val\.jsonl, row 2: .*no document 'd9'"):
        list(load("fever", split="dev", data_dir=tmp_path))
    dataset = load("fever", split="dev", data_dir=tmp_path, on_error="skip")
    assert [example.id for example in dataset] == ["a1"]
    assert [error.row for error in dataset.skipped] == [2, 3, 4]


def test_eraser_without_documents(tmp_path):
    put(tmp_path / "fever/val.jsonl", lines(json.dumps(evidence("a1", "It slept .", "SUPPORTS", "d1", (0, 1)))))
    with pytest.raises(InputError, match=r"val\.jsonl needs its documents: put docs/ or docs\.jsonl"):
        load("fever", split="dev", data_dir=tmp_path)


def test_what_is_missing_is_named_in_both_forms(tmp_path):
    with pytest.raises(
        InputError, match=r"wanted at .*aroma_heldout\.parquet or at .*reviews\.aspect1\.train\.txt\.gz"
    ):
        load("beer-aroma", split="train", data_dir=tmp_path)
    with pytest.raises(InputError, match=r"wanted at .*multirc.val\.parquet or at .*multirc.val\.jsonl"):
        load("multirc", split="dev", data_dir=tmp_path)
    with pytest.raises(InputError, match=r"wanted at [^ ]*fever.train\.jsonl, where no such file is"):
        load("fever", split="train", data_dir=tmp_path)
