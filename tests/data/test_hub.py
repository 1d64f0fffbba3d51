import sys

import datasets
import pytest

from rationales.data import Columns, Example, load
from rationales.errors import DataError, InputError, MissingExtra

FEATURES = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])})


@pytest.fixture
def films():
    def part(*rows):
        return datasets.Dataset.from_dict(
            {"text": [text for text, _ in rows], "label": [label for _, label in rows]}, features=FEATURES
        )

    return datasets.DatasetDict(train=part(("dull", 0), ("witty", 1)), validation=part(("flat", 0), ("odd", -1)))


def test_a_saved_dictionary_of_splits(tmp_path, films):
    films.save_to_disk(tmp_path / "films")
    dataset = load(tmp_path / "films", split="dev")
    assert dataset.name == "films"
    assert dataset.labels == ("bad", "good")
    assert list(dataset) == [Example("validation-1", ("flat",), 0), Example("validation-2", ("odd",), None)]
    with pytest.raises(InputError, match="has the splits train, validation; choose one"):
        load(tmp_path / "films")


def test_a_saved_split_whatever_its_format(tmp_path, films):
    films["train"].with_format("numpy").save_to_disk(tmp_path / "films")
    assert [example.label for example in load(tmp_path / "films")] == [0, 1]
    with pytest.raises(InputError, match="but not 'test'"):
        load(tmp_path / "films", split="test")


def test_lists_and_choices(tmp_path):
    data = datasets.Dataset.from_list(
        [{"question": "Warm?", "choices": {"label": ["A", "B"], "text": ["ice", "fire"]}, "answerKey": "B"}]
    )
    data.save_to_disk(tmp_path / "qa")
    (example,) = load(tmp_path / "qa")
    assert (example.choices, example.label) == (("ice", "fire"), 1)


def test_a_damaged_directory(tmp_path):
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(DataError, match="cannot be read as a data set"):
        load(tmp_path)


def test_a_hub_name_with_a_configuration(monkeypatch, films):
    asked = []

    def load_dataset(name, config):
        asked.append((name, config))
        return films

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    dataset = load("someone/films:short", split="train")
    assert asked == [("someone/films", "short")]
    assert dataset.name == "someone/films:short"
    assert dataset.labels == ("bad", "good")
    assert [example.label for example in dataset] == [0, 1]


def test_a_label_out_of_range_is_a_bad_row(monkeypatch):
    plain = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 7]})
    known = plain.cast_column("text", datasets.Value("string"))
    known.info.features["label"] = datasets.ClassLabel(names=["bad", "good"])
    monkeypatch.setattr(datasets, "load_dataset", lambda name, config: datasets.DatasetDict(test=known))
    with pytest.raises(DataError, match="someone/films/test, row 2: label 7 is out of range"):
        list(load("someone/films", columns=Columns(text="text")))


@pytest.mark.parametrize("error", [FileNotFoundError("no such data set"), ValueError("which config?")])
def test_what_the_hub_refuses(monkeypatch, error):
    def load_dataset(name, config):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(
        DataError, match=f"someone/nothing: cannot be loaded from the Hugging Face hub: {error.args[0][:9]}"
    ):
        load("someone/nothing", split="train")


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r'pip install "rationales\[hub\]"'):
        load("someone/films")
