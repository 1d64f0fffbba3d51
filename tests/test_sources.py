"""Several data sets in one command: what they are called, and which part of each is meant."""

from functools import partial
from pathlib import Path

import pytest

from rationales.cli.sources import names_of, split_or_whole
from rationales.data import load
from rationales.errors import InputError, NoSuchSplit


def written(directory: Path, *names: str) -> list[str]:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"text,label\nsoup of {name},1\n")
    return [str(directory / name) for name in names]


def test_they_are_called_after_their_files(tmp_path):
    files = written(tmp_path, "films/test.csv", "meals/test.csv", "my films.jsonl.gz", "meals/dev.csv")
    assert names_of([*files, "org/v1.5"], "--test") == ["films-test", "meals-test", "my-films", "meals-dev", "v1-5"]
    deeper = written(tmp_path, "a/films/dev.csv", "b/films/dev.csv")
    with pytest.raises(InputError, match="two of --test would both be called 'films-dev'; rename a file"):
        names_of(deeper, "--test")


def test_the_same_data_twice_are_no_two_sets(tmp_path, monkeypatch):
    file, other = written(tmp_path, "films/test.csv", "meals/test.csv")
    (tmp_path / "link.csv").symlink_to(file)
    monkeypatch.chdir(tmp_path / "films")
    for sources in ((file, file), (file, other, "./test.csv"), ("test.csv", str(tmp_path / "link.csv"))):
        with pytest.raises(
            InputError, match=rf"be called 'films-test'; {sources[0]} was given twice, so leave one out"
        ):
            names_of(sources, "--test")
    with pytest.raises(InputError, match="; sst2 was given twice"):
        names_of(["sst2", "imdb", "sst2"], "--data")


def test_a_directory_that_is_given_by_a_dot_has_its_own_name(tmp_path, monkeypatch):
    (file,) = written(tmp_path, "films/train.csv")
    monkeypatch.chdir(tmp_path / "films")
    assert names_of([".", "sst2"], "--data") == ["films", "sst2"]
    assert names_of(["../films", file], "--data") == ["films", "films-train"]
    with pytest.raises(InputError, match="'/' has no name"):
        names_of(["/", "sst2"], "--data")


def test_names_that_differ_in_capitals_alone_are_told_apart(tmp_path):
    files = written(tmp_path, "one/Reviews.csv", "two/reviews.csv")
    assert names_of(files, "--data") == ["one-Reviews", "two-reviews"]


def test_what_says_too_little_is_called_after_its_directory(tmp_path):
    files = written(tmp_path, "films/validation.csv", "meals/val.csv", "reviews.2022.csv", "reviews.2023.csv.gz")
    assert names_of(files, "--data") == ["films-validation", "meals-val", "reviews-2022", "reviews-2023"]


def test_a_split_is_taken_where_there_are_splits_and_the_whole_where_there_are_none(tmp_path):
    file, *_ = written(tmp_path, "letters.csv", "films/train.csv", "films/test.csv", "alone/reviews.csv")
    opened = partial(load, data_dir=None)
    for source, text in (
        (file, "soup of letters.csv"),
        (str(tmp_path / "films"), "soup of films/test.csv"),
        (str(tmp_path / "alone"), "soup of alone/reviews.csv"),
    ):
        assert [example.texts for example in split_or_whole(opened, source, "test")] == [(text,)]


def test_another_split_is_never_taken_in_its_place(tmp_path):
    written(tmp_path, "films/train.csv")
    for source, split in ((tmp_path / "films", "test"), ("planted-reviews", "tset")):
        with pytest.raises(NoSuchSplit, match=f"but not '{split}'"):
            split_or_whole(load, str(source), split)
