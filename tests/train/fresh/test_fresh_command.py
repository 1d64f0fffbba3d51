"""`rationales train fresh`, as a user calls it."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explained import LABELS, deciding, scored, write
from test_classifier import toy

from rationales.data import load
from rationales.errors import InputError
from rationales.explanation import Explanations, write_jsonl
from rationales.train.fresh import Config, train


@pytest.fixture
def data(tmp_path: Path) -> str:
    for split, size in (("train", 24), ("dev", 8), ("test", 10)):
        write(tmp_path / "data" / f"{split}.jsonl", toy(size, seed=size))
    return str(tmp_path / "data")


def test_the_command_from_a_model(call: Any, data: str, model: str, encoder: str, tmp_path: Path) -> None:
    out = tmp_path / "fresh"
    command = ("train", "fresh", "--data", data, "--model", model, "--method", "lime:samples=8", "--encoder", encoder,
               "--seeds", "3,4", "--epochs", "1", "--ratio", "0.4", "--order", "score", "--out", str(out))  # fmt: skip
    status, printed, err = call(*command)
    assert status == 0, err
    assert printed.strip() == str(out / "fresh.json")
    assert "seed 4 (2 of 2): dev macro-F1" in err
    assert re.search(r"^test macro-F1 \d\.\d{4} ± .*, agreement with what is explained \d\.\d{4} ± ", err, re.MULTILINE)
    assert "expect texts that were cut down to their rationale" in err
    found = json.loads((out / "fresh.json").read_text())
    assert found["config"]["ratio"] == 0.4
    assert found["config"]["seeds"] == [3, 4]
    assert found["explanations"]["method"] == "lime"
    assert found["explanations"]["params"]["samples"] == 8
    assert found["labels"] == list(LABELS)
    assert found["macro_f1"].keys() == {"dev", "test"}
    for figures in found["macro_f1"].values():
        assert figures["seeds"].keys() == {"3", "4"}
        assert figures["mean"] == pytest.approx(statistics.mean(figures["seeds"].values()))
        assert figures["std"] == pytest.approx(statistics.stdev(figures["seeds"].values()))
    status, again, err = call(*command)
    assert (status, again) == (0, printed)
    for seed in (3, 4):
        assert f"seed-{seed}: finished before; nothing was trained" in err
    status, shown, err = call("explain", "--model", str(out / "seed-3"), "--method", "gradient", "tasty")
    assert status == 0, err
    assert shown.split()[1] in LABELS


def test_the_command_from_files(call: Any, data: str, encoder: str, tmp_path: Path) -> None:
    files = []
    for split in ("train", "dev", "test"):
        kept = Explanations(map(deciding, load(data, split=split)))
        files.append(str(tmp_path / f"{split}.parquet"))
        kept.save(files[-1])
        if split == "test":
            files[-1] = str(tmp_path / "test.jsonl")
            write_jsonl(kept, files[-1])
    start = ("train", "fresh", "--data", data, "--encoder", encoder, "--seeds", "1", "--epochs", "1",
             "--out", str(tmp_path / "fresh"))  # fmt: skip
    status, _, err = call(*start, *(word for file in files[:2] for word in ("--explanations", file)))
    assert status != 0
    assert "10 of 10 test texts are not among the explanations" in err
    status, _, err = call(*start, *(word for file in files for word in ("--explanations", file)))
    assert status == 0, err
    found = json.loads((tmp_path / "fresh" / "fresh.json").read_text())
    assert found["explanations"]["method"] == "hand"
    assert not (tmp_path / "fresh" / "explanations").exists()


def test_where_nothing_is_learned_or_explained_it_is_said(call: Any, encoder: str, tmp_path: Path) -> None:
    """Every rationale is the word that all texts begin with, and all are explained for one class."""
    files = []
    for split, size in (("train", 24), ("dev", 8), ("test", 10)):
        examples = [replace(each, texts=(f"so {each.texts[0]}",)) for each in toy(size, seed=size)]
        write(tmp_path / "data" / f"{split}.jsonl", examples)
        kept = load(str(tmp_path / "data"), split=split)
        sizes = [(each, len(each.texts[0].split())) for each in kept]
        files.append(str(tmp_path / f"{split}.parquet"))
        Explanations(scored(each.texts, range(words, 0, -1), id=each.id) for each, words in sizes).save(files[-1])
    status, _, err = call(
        *("train", "fresh", "--data", str(tmp_path / "data"), "--encoder", encoder, "--seeds", "1", "--epochs", "1"),
        *("--ratio", "0.01", "--out", str(tmp_path / "fresh")),
        *(word for file in files for word in ("--explanations", file)),
    )
    assert status == 0, err
    assert "that of the dev data is hardly better than always giving the commonest label" in err
    assert "all dev texts are explained for 'bad'" in err


def test_several_sets_are_measured_on(call: Any, data: str, model: str, encoder: str, tmp_path: Path) -> None:
    near, far = (write(tmp_path / f"{name}.jsonl", toy(size, seed=size)) for name, size in (("near", 6), ("far", 8)))
    command = ("train", "fresh", "--data", data, "-m", model, "--method", "random", "--encoder", encoder,
               "--seeds", "1", "--epochs", "1", "--out", str(tmp_path / "fresh"))  # fmt: skip
    status, out, err = call(*command, "--test", near, "--test", far)
    assert status == 0, err
    assert "far macro-F1" in err
    found = json.loads(Path(out.strip()).read_text())
    assert found["macro_f1"].keys() == {"dev", "near", "far"}
    assert (found["texts"]["near"], found["texts"]["far"]) == (6, 8)
    for name in ("dev", "a b", ""):
        with pytest.raises(InputError, match=f"cannot be called '{name}'"):
            train(
                Config(tmp_path / "more"), load(data, split="train"), load(data, split="dev"), {name: []}, model=model
            )


def test_a_test_split_without_labels_is_left_out(
    call: Any, data: str, model: str, encoder: str, tmp_path: Path
) -> None:
    write(Path(data) / "test.jsonl", toy(6, seed=9), labelled=False)
    status, out, err = call("train", "fresh", "--data", data, "-m", model, "--method", "random", "--encoder", encoder,
                            "--seeds", "1", "--epochs", "1", "--out", str(tmp_path / "fresh"))  # fmt: skip
    assert status == 0, err
    assert "the test split has no labels" in err
    assert json.loads(Path(out.strip()).read_text())["macro_f1"].keys() == {"dev"}


def test_help_and_wrong_commands(call: Any, data: str, model: str, tmp_path: Path) -> None:
    status, out, _ = call("train", "fresh", "--help")
    assert status == 0
    for word in ("rationales train fresh --data", "--explanations", "--ratio", "--seeds", "--label-column", "cut down"):
        assert word in out
    assert "--seed " not in out
    for options, message in (
        ((), "Give either --model to explain, or --explanations FILE"),
        (("--model", model, "--explanations", "a.parquet"), "Give either --model"),
        (("--explanations", "a.txt"), "end in .parquet or .jsonl"),
        (("--explanations", "nowhere.parquet"), "nowhere.parquet"),
        (("--model", model, "--ratio", "0"), "above 0 and up to 1; got 0.0"),
        (("--model", model, "--seeds", "1,x"), "--seeds must be a number, got 'x'"),
        (("--model", model, "--method", "limes"), "did you mean 'lime'?"),
        (("--model", model, "--method", "lime:steps=3"), "lime has no option --steps"),
    ):
        status, _, err = call("train", "fresh", "--data", data, *options, "--out", str(tmp_path / "fresh"))
        assert status != 0
        assert message in err
