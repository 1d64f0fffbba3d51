"""Named sets: tiny files of the same schemas, with sentences of our own."""

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.data import load, named_sets
from rationales.data.named import fold
from rationales.errors import InputError

LIST, FLOAT = pa.list_(pa.int8()), pa.float32()


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes a file of a data directory, which the environment points at."""
    monkeypatch.setenv("RATIONALES_DATA", str(tmp_path))

    def write(path, **columns):
        file = tmp_path / f"{path}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)

    return write


def marked(example):
    return [[text[a:b] for a, b in spans] for text, spans in zip(example.texts, example.rationale, strict=True)]


def test_every_set_is_described_and_its_entry_is_consistent():
    for name in named_sets:
        spec = named_sets[name]
        assert spec.summary.endswith(".")
        assert spec.splits
        for files in (files for places in spec.splits.values() for files in places):
            assert files.columns.text
            assert files.paths
            if files.columns.rationale or files.columns.pair_rationale:
                assert files.columns.rationale_format != "auto"


@pytest.mark.parametrize("name", ["sst2", "imdb", "yelp", "snli", "hans", "bnli", "mnli"])
def test_plain_sets(put, name):
    spec = named_sets[name]
    for split, (files,) in spec.splits.items():
        for path in files.paths:
            columns = {column: ["7"] for column in files.columns.named()}
            put(path.removesuffix(".parquet"), **columns | {"label": [spec.labels[1]]})
        examples = list(load(name, split=split))
        assert [example.label for example in examples] == [1] * len(files.paths)
        assert load(name, split=split).labels == spec.labels


def test_the_data_directory_can_be_given_and_goes_before_the_environment(put, tmp_path, monkeypatch):
    put("cls/sst2/dev", text=["a joy"], label=[1])
    monkeypatch.setenv("RATIONALES_DATA", "elsewhere")
    (example,) = load("sst2", split="validation", data_dir=tmp_path)
    assert (example.id, example.texts, example.label) == ("dev-1", ("a joy",), 1)
    with pytest.raises(InputError, match=r"sst2 is wanted at elsewhere.*dev\.parquet.*or load 'stanfordnlp/sst2'"):
        load("sst2", split="dev")


def test_a_label_outside_of_the_classes_is_a_bad_row(put):
    put("cls/sst2/test", text=["a joy", "a bore"], label=[1, 2])
    dataset = load("sst2", split="test", on_error="skip")
    assert len(list(dataset)) == 1
    assert "label 2 is out of range" in dataset.skipped[0].reason


def test_rows_without_a_label_are_left_out(put):
    put("cls/yelp_reviews/test", text=["a", "b", "c"], stars=[1, 3, 5], label=[0, None, 1])
    dataset = load("yelp", split="test")
    assert [(example.label, example.meta["stars"]) for example in dataset] == [(0, 1), (1, 5)]
    assert dataset.skipped_count == 0


def test_amazon_is_split_by_the_hash_of_the_text(put):
    texts = [f"record number {number}" for number in range(60)]
    put("cls/amazon_digital_music/all", text=texts, stars=[5] * 60, label=[2] * 60)
    parts = {}
    for split in ("train", "dev", "test"):
        parts[split] = [example.texts[0] for example in load("amazon-digital-music", split=split)]
    assert sorted(parts["train"] + parts["dev"] + parts["test"]) == sorted(texts)
    assert {fold(text) for text in parts["dev"]} == {8}
    assert {fold(text) for text in parts["test"]} == {9}


def test_beer(put):
    scores = pa.array([0.4, 0.6, 0.5, 0.2, 1.0], FLOAT)
    texts = [f"a beer {number}" for number in range(5)]
    put("cls/beer_advocate/aroma_heldout", text=texts, score_aroma=scores, fold=pa.array([0, 7, 0, 8, 9], pa.int8()))
    assert [(example.texts[0], example.label) for example in load("beer-aroma", split="train")] == [
        ("a beer 0", 0),
        ("a beer 1", 1),
    ]
    assert [example.label for example in load("beer-aroma", split="dev")] == [0, 1]
    put(
        "cls/beer_advocate/annotations",
        review_id=[11, 12, 13],
        tokens=[["smells", "of", "hops"], ["nothing", "said"], ["so", "so"]],
        score_aroma=pa.array([0.9, 0.9, 0.5], FLOAT),
        rationale_aroma=pa.array([[1, 0, 1], [0, 0], [1, 1]], LIST),
    )
    (example,) = load("beer-aroma", split="test")
    assert (example.id, example.label) == ("11", 1)
    assert marked(example) == [["smells", "hops"]]


def test_hotel(put):
    for split in ("train", "dev"):
        put(f"cls/hotel_reviews/service_{split}", review_id=["u1"], text=["kind staff"], label=[1])
        assert [example.id for example in load("hotel-service", split=split)] == ["u1"]
    put(
        "cls/hotel_reviews/service_annotations",
        review_id=["u2", None],
        label=[0, None],
        tokens=[["rude", "staff.", "big", "room."], ["fine."]],
        rationale=pa.array([[1, 1, 0, 0], [1]], LIST),
    )
    (example,) = load("hotel-service", split="test")
    assert marked(example) == [["rude staff."]]


def test_movies(put):
    put("cls/eraser_movies/val", doc_id=["m1"], label=[1], tokens=[["what", "a", "joy"]], rationale=[[0, 0, 1]])
    dataset = load("eraser-movies", split="dev")
    (example,) = dataset
    assert (example.id, example.label, dataset.labels) == ("m1", 1, ("NEG", "POS"))
    assert marked(example) == [["joy"]]


def test_multirc_and_fever_join_their_documents(put):
    for name in ("multirc", "fever"):
        put(f"cls/eraser_{name}/docs", doc_id=["d1"], tokens=[["The", "cat", "slept", "."]])
        put(
            f"cls/eraser_{name}/val",
            annotation_id=["a1", "a2"],
            doc_id=["d1", "d9"],
            query=["Who slept ?", "Who ate ?"],
            answer=["The cat", "Nobody"],
            label=[1, 0],
            rationale=pa.array([[1, 1, 1, 0], [1]], LIST),
        )
        dataset = load(name, split="dev", on_error="skip")
        (example,) = dataset
        assert example.texts == ("Who slept ? || The cat" if name == "multirc" else "Who slept ?", "The cat slept .")
        assert marked(example) == [[], ["The cat slept"]]
        assert dataset.skipped[0].reason == "no text in column 'document'"


def test_translations_are_marked_in_the_raw_text(put):
    put(
        "cls/mlqe_pe/test20",
        lang_pair=["et-en", "en-zh"],
        source=["Tere, maailm!", "Hello world."],
        translation=["Hi, the word!", "你好世界。"],
        da_z_mean=pa.array([0.5, -1.25], FLOAT),
        hter=pa.array([0.2, 0.0], FLOAT),
        src_tok=["Tere , maailm !", "Hello world ."],
        mt_tok=["Hi , the word !", "你好 世界 。"],
        src_tags=pa.array([[0, 0, 1, 0], [0, 0, 0]], LIST),
        mt_tags=pa.array([[0, 0, 1, 1, 0], [0, 1, 0]], LIST),
    )
    first, second = load("mlqe-pe", split="test")
    assert first.texts == ("Tere, maailm!", "Hi, the word!")
    assert marked(first) == [["maailm"], ["the word"]]
    assert marked(second) == [[], ["世界"]]
    (only,) = load("mlqe-pe/en-zh", split="test")
    assert (only.id, only.label, only.meta["lang_pair"]) == ("test20-2", -1.25, "en-zh")
    with pytest.raises(InputError, match="mlqe-pe has no part 'fr-en'; it has en-de"):
        load("mlqe-pe/fr-en", split="test")


def test_snli_train_is_two_files_of_which_one_has_no_ids(put):
    put("nli/snli/train_first100k", pair_id=["p1"], premise=["A"], hypothesis=["B"], label=["neutral"])
    put("nli/snli/train_extra", premise=["C"], hypothesis=["D"], label=["contradiction"])
    assert [(example.id, example.label) for example in load("snli", split="train")] == [("p1", 1), ("train_extra-1", 2)]


def test_esnli(put):
    indices = pa.list_(pa.int32())
    put(
        "nli/esnli/test",
        pair_id=["p1"],
        premise=["A man sleeps"],
        hypothesis=["A man runs"],
        label=["contradiction"],
        explanation_1=["Who sleeps cannot run."],
        explanation_2=["Sleeping is not running."],
        explanation_3=[None],
        premise_highlights_1=pa.array([[2]], indices),
        hypothesis_highlights_1=pa.array([[]], indices),
        premise_highlights_2=pa.array([None], indices),
        hypothesis_highlights_2=pa.array([None], indices),
        premise_highlights_3=pa.array([[1, 2]], indices),
        hypothesis_highlights_3=pa.array([[2]], indices),
    )
    (example,) = load("esnli", split="test")
    assert marked(example) == [["man sleeps"], ["runs"]]
    assert example.sentences == ("Who sleeps cannot run.", "Sleeping is not running.")


def test_cose(put):
    put(
        "nli/cose/v1_11_dev",
        id=["q1"],
        question=["What is warm?"],
        choices=[["ice", "fire"]],
        answer_index=[1],
        explanation_open_ended=["Fire gives off heat."],
        question_highlights=[[2]],
    )
    put("nli/cose/v1_11_test_no_answers", id=["q2"], question=["What is cold?"], choices=[["ice", "fire"]])
    (example,) = load("cose", split="dev")
    assert (example.choices, example.label) == (("ice", "fire"), 1)
    assert (example.sentences, marked(example)) == (("Fire gives off heat.",), [["warm?"]])
    (unanswered,) = load("cose", split="test")
    assert (unanswered.label, unanswered.rationale) == (None, None)


def test_without_a_directory_a_name_resolves_to_the_hub(monkeypatch):
    monkeypatch.delenv("RATIONALES_DATA", raising=False)
    asked = []

    def load_dataset(name, config):
        asked.append((name, config))
        rows = {"idx": [0, 1], "sentence": ["a joy", "a bore"], "label": [1, -1]}
        return datasets.DatasetDict(validation=datasets.Dataset.from_dict(rows))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    dataset = load("sst2", split="dev")
    assert asked == [("stanfordnlp/sst2", None)]
    assert dataset.labels == ("negative", "positive")
    assert [(example.texts, example.label) for example in dataset] == [(("a joy",), 1), (("a bore",), None)]
    with pytest.raises(InputError, match=r"beer-aroma is not on the Hugging Face hub.*data_dir.*RATIONALES_DATA"):
        load("beer-aroma", split="dev")


def test_a_name_goes_before_a_directory_and_has_its_own_columns(put, tmp_path, monkeypatch):
    put("cls/sst2/dev", text=["a joy"], label=[1])
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "dev.csv").write_text("text,label\nmine,0\n")
    monkeypatch.chdir(tmp_path)
    assert [example.texts for example in load("sst2", split="dev")] == [("a joy",)]
    assert [example.texts for example in load("./sst2", split="dev")] == [("mine",)]
    assert [example.texts for example in load("sst2/dev.csv")] == [("mine",)]
    with pytest.raises(InputError, match="the columns of sst2 are known"):
        load("sst2", split="dev", columns=load("./sst2").columns)


def linked_words(example):
    first, second = example.texts
    return [(first[a:b], second[c:d]) for (a, b), (c, d) in example.alignment]


def test_words_that_replace_each_other_are_linked_in_breaking_nli(put):
    pairs = [
        ("a man sleeps in a red hat .", "a man sleeps in a blue hat ."),
        ("an old man sleeps", "a young man sleeps"),
        ("dogs run near the  sea", "dogs run far away from the sea"),
        ("a red hat and a red coat.", "a blue hat and a blue coat."),
        ("they do not run", "they do run"),
        ("they run", "they run"),
    ]
    first, second = zip(*pairs, strict=True)
    columns = {"pair_id": range(6), "label": ["contradiction"] * 6, "category": ["colors"] * 6}
    put("nli/breaking_nli/test", premise=first, hypothesis=second, **columns)
    *linked, without, same = load("bnli")
    assert [linked_words(example) for example in linked] == [
        [("red", "blue")],
        [("an old", "a young")],
        [("near", "far away from")],
        [("red", "blue"), ("red", "blue")],
    ]
    assert without.alignment is same.alignment is None  # a word that is only taken out replaces none


def test_a_pair_without_a_text_is_a_bad_row_in_breaking_nli(put):
    columns = {"pair_id": ["1", "2"], "label": ["neutral"] * 2, "category": ["x"] * 2}
    put("nli/breaking_nli/test", premise=["a red hat", None], hypothesis=["a blue hat", "a hat"], **columns)
    data = load("bnli", on_error="skip")
    assert [linked_words(example) for example in data] == [[("red", "blue")]]
    assert "no text in column 'premise'" in data.skipped[0].reason
