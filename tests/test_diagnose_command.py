"""`rationales diagnose`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError
from rationales.train.rationalizers import diagnosis

SMALL = {"--hidden": "8", "--vector-size": "8", "--batch-size": "8", "--updates": "4", "--every": "2", "--seeds": "1"}
SMALL |= {"--rates": "0.5", "--probes": "8", "--device": "cpu"}


def tiny(**changes: str) -> list[str]:
    """Options of a run that takes no time, with some of them changed or added."""
    given = SMALL | {f"--{name}": value for name, value in changes.items()}
    return [word for option in given.items() for word in option]


TINY = tiny()


def written(path: Path, size: int, seed: int, *, marked: bool = True) -> Path:
    rows = []
    for each in reviews(size, seed=seed):
        row = {"text": each.texts[0], "label": REVIEW_LABELS[each.label]}
        if marked:
            row["rationale"] = [list(span) for span in each.rationale[0]]
        rows.append(json.dumps(row))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_without_data_it_runs_on_planted_reviews(call, tmp_path):
    status, out, err = call("diagnose", "--limit", "40", *TINY, "--out", str(tmp_path / "found"))
    assert status == 0, err
    file, page = tmp_path / "found" / "diagnosis.json", tmp_path / "found" / "diagnosis.html"
    assert out.strip() == str(file)
    assert f"the page: {page}" in err
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["data"] == {"name": "planted reviews", "train": 40, "marked": 300}
    assert content["seeds"] == [1]
    assert content["command"].startswith("rationales diagnose --limit 40")
    assert {(run["method"], run["rate"]) for run in content["sweep"]} == {("rnp", 0.0), ("ver", 0.3), ("ver", 0.5)}
    assert [run["updates"] for run in content["curves"]] == [[2, 4], [2, 4]]
    assert len(content["selectors"]) == 1
    options = content["options"]
    assert (options["hidden"], options["sparsity"], options["rates"]) == (8, 0.125, [0.5])
    assert not {"epochs", "encoder", "perturb", "out"} & options.keys()
    assert page.read_text(encoding="utf-8").count("<svg") == 9


def test_the_help_shows_defaults_and_those_of_planted_reviews(call):
    _, out, _ = call("diagnose", "--help")
    said = " ".join(out.split())
    assert "Training steps of each run (default: 300)." in said
    assert "Texts per step; 32 without --data (default: 128)." in said
    assert "(one of argmax, gumbel; default: gumbel)." in said


@pytest.mark.parametrize("given", [False, True])
def test_the_limit_holds_for_training_and_dev_data(call, tmp_path, monkeypatch, given):
    sizes = []

    def noted(_plan, task, _measured, *_, **__):
        sizes.append((len(task.train.examples), len(task.dev.examples)))
        raise InputError("enough")

    monkeypatch.setattr(diagnosis, "diagnose", noted)
    data = ("--data", str(written(tmp_path / "train.jsonl", 40, 0)), "--dev", str(written(tmp_path / "d.jsonl", 20, 1)))
    status, _, err = call("diagnose", *(data if given else ()), "--limit", "12", "--out", str(tmp_path / "found"))
    assert (status, err) == (2, "error: enough\n")
    assert sizes == [(12, 12)]


def test_data_of_a_user(call, tmp_path):
    train = written(tmp_path / "train.jsonl", 40, 0, marked=False)
    marks = written(tmp_path / "marks.jsonl", 12, 1)
    given = ("--data", str(train), "--marked", str(marks), "--no-control", "--sampling", "argmax")
    status, _, err = call("diagnose", *given, *TINY, "--out", str(tmp_path / "found"))
    assert status == 0, err
    content = json.loads((tmp_path / "found" / "diagnosis.json").read_text(encoding="utf-8"))
    assert content["data"]["marked"] == 12
    assert content["selectors"] == content["predictors"] == []
    assert content["options"]["sparsity"] == 0.15


def test_the_test_split_is_measured_and_else_the_dev_data(call, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for split, size in (("train", 32), ("dev", 10), ("test", 7)):
        written(folder / f"{split}.jsonl", size, size)
    for count in (7, 10):
        status, _, err = call(
            "diagnose", "--data", str(folder), "--no-control", *TINY, "--out", str(tmp_path / "found")
        )
        assert status == 0, err
        content = json.loads((tmp_path / "found" / "diagnosis.json").read_text(encoding="utf-8"))
        assert content["data"]["marked"] == count
        (folder / "test.jsonl").unlink(missing_ok=True)


def test_data_without_rationales(call, tmp_path):
    data = written(tmp_path / "train.jsonl", 40, 0, marked=False)
    status, out, err = call("diagnose", "--data", str(data), *TINY, "--out", str(tmp_path / "found"))
    assert status == 2
    assert out == ""
    said = err.splitlines()[-1]  # behind what is said of dev data
    assert said.startswith("error: ")
    assert "texts to measure on did people mark words; give data with rationales (--rationale-column)" in said


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("seeds", "1,a", "--seeds must be a number, got 'a'"),
        ("seeds", "1,1", "seeds must be different whole numbers"),
        ("rates", "2", "rates are shares of the chosen tokens"),
        ("updates", "0", "updates must be at least 1"),
        ("hidden", "7", "hidden must be an even number"),
        ("data", "nowhere.csv", "no file or directory is at nowhere.csv"),
        ("device", "banana", "device 'banana' cannot be used"),
        ("vectors", "nowhere.txt", "nowhere.txt"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(call, tmp_path, option, value, message):
    status, out, err = call("diagnose", "--limit", "20", *tiny(**{option: value}), "--out", str(tmp_path / "found"))
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err


def test_a_place_that_cannot_be_written_is_said_before_training(call, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = call("diagnose", "--updates", "1000000", "--out", str(tmp_path / "file" / "found"))
    assert status == 2
    assert "is not a directory" in err


def test_help_shows_an_example_and_the_options(call):
    status, out, _ = call("diagnose", "--help")
    assert status == 0
    assert "rationales diagnose --data beer-aroma" in out
    for option in ("--seeds", "--rates", "--vectors", "--sparsity", "--rationale-column", "--no-control"):
        assert option in out
    for absent in ("--epochs", "--perturb ", "--encoder"):
        assert absent not in out
