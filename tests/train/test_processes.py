"""Two processes that share the work learn what one does. On processors: what is tested is who takes which texts."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from test_classifier import toy
from transformers import BertConfig, BertModel

from rationales.cli import main
from rationales.explanation import Explanations
from rationales.train import classifier, fresh, fresh_rationales, regex
from rationales.train.rationalizers import rnp
from rationales.train.rationalizers import train as train_rationalizer
from tiny import SIZE, STACK, tokenizer

OPTIONS = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3}
FAR = {"site": "output", "size": 1.0, "ascent_rate": 1000.0}
"""A perturbation that is seen in the losses of so small a model, and without dropout."""
PART = 8
"""Texts that a process explains before the next one does."""
PLAYERS = {"hidden": 8, "vector_size": 4, "narrowing": 4, "sparsity": 0.3, "sparsity_weight": 1.0}


def train_all(folder: Path, encoder: str) -> None:
    """A model of each kind."""
    data = toy(32), toy(14, seed=1)  # a short last batch would be filled up
    classifier.train(classifier.Config(folder / "classifier", encoder=encoder, **OPTIONS), *data)
    regex.train(regex.Config(folder / "regex", encoder=encoder, **FAR, **OPTIONS), *data)
    train_rationalizer("rnp", rnp.Config(folder / "rnp", **OPTIONS, **PLAYERS), *data)
    rationales = fresh.Config(folder / "fresh", encoder=encoder, ratio=0.3, seeds=(1,), **OPTIONS)
    fresh.train(rationales, *data, toy(12, seed=2), model=str(folder / "classifier"))


def call_fresh(folder: Path, encoder: str) -> None:
    """The command, of which other processes may be a part."""
    sys.argv = ["rationales", "train", "fresh", "--data", str(folder.parent / "data"), "--encoder", encoder,
                "--model", str(folder / "classifier"), "--seeds", "1", "--epochs", "1", "--batch-size", "8",
                "--out", str(folder / "command")]  # fmt: skip
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def write_data(folder: Path) -> None:
    """Without dev data, with test data that have no labels and with texts that are too long: all this is said."""
    folder.mkdir()
    long = range(PART + 1, 2 * PART - 1)  # for the second process to explain
    for split, labelled in (("train", True), ("test", False)):
        texts = [(each.texts[0] + " ") * (32 if row in long else 1) for row, each in enumerate(toy(40))]
        labels = [{"label": row % 2} if labelled else {} for row in range(len(texts))]
        rows = [{"text": text, **label} for text, label in zip(texts, labels, strict=True)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str, str]:
    """Models of one process and of two, and what the two said and printed."""
    folder = tmp_path_factory.mktemp("processes")
    encoder = folder / "encoder"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
        BertModel(BertConfig(**{**SIZE, **STACK, **quiet})).save_pretrained(encoder)
    tokenizer().save_pretrained(encoder)
    write_data(folder / "data")
    train_all(folder / "one", str(encoder))
    launch = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    environment = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    said = subprocess.run(
        (*launch, __file__, str(folder / "two"), str(encoder)),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert said.returncode == 0, said.stderr
    return folder / "one", folder / "two", said.stderr, said.stdout


def record(out: Path) -> dict:
    return json.loads((out / "rationales.json").read_text())


def test_a_classifier_is_the_same_but_for_rounding(trained: tuple[Path, Path, str, str]) -> None:
    one, two = (load_file(folder / "classifier" / "model.safetensors") for folder in trained[:2])
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)
    losses = [[epoch["loss"] for epoch in record(folder / "classifier")["epochs"]] for folder in trained[:2]]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("kind", ["regex", "rnp"])
def test_what_is_left_to_chance_differs_and_all_else_is_the_same(
    trained: tuple[Path, Path, str, str], kind: str
) -> None:
    one, two = (record(folder / kind) for folder in trained[:2])
    assert one["run"] == two["run"]
    assert [epoch["standing"] for epoch in one["epochs"]] == [epoch["standing"] for epoch in two["epochs"]]
    assert [epoch["loss"] for epoch in one["epochs"]] == pytest.approx([epoch["loss"] for epoch in two["epochs"]], 0.1)
    assert one["epochs"][0]["loss"] != two["epochs"][0]["loss"]


def test_rationales_are_the_same_whoever_makes_them(trained: tuple[Path, Path, str, str]) -> None:
    one, two = (Explanations.load(folder / "fresh" / "explanations" / "train.parquet") for folder in trained[:2])
    assert [each.id for each in one] == [each.id for each in two]
    assert all(
        np.allclose(mine.body.values, other.body.values, atol=1e-3) for mine, other in zip(one, two, strict=True)
    )
    found = [json.loads((folder / "fresh" / "fresh.json").read_text()) for folder in trained[:2]]
    assert found[0]["macro_f1"].keys() == found[1]["macro_f1"].keys() == {"dev", "test"}


def test_only_one_of_them_speaks(trained: tuple[Path, Path, str, str]) -> None:
    said = trained[2].splitlines()
    assert trained[2].count("chosen of the dev tokens") == OPTIONS["epochs"]
    assert trained[2].count("INFO:rationales.train.fresh:seed 1 (1 of 1): ") == 1
    assert trained[2].count("INFO:rationales.train.fresh:the rationales are made by") == 1
    lines = (
        "no dev data are given",
        "the test split has no labels",
        "the rationales are made by",
        "warning: train data: ",
    )
    for line in (*lines, "seed 1 (1 of 1)", "dev macro-F1", "the models expect"):
        assert sum(each.startswith(line) for each in said) == 1, line
    assert trained[3].splitlines() == [str(trained[1] / "command" / "fresh.json")]


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    fresh_rationales.PART = PART
    place, pretrained = Path(sys.argv[1]), sys.argv[2]
    train_all(place, pretrained)
    call_fresh(place, pretrained)
    torch.distributed.destroy_process_group()
