"""What a run of FRESH finds in its directory: its own work, that of another run, files of somebody else."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import LABELS, deciding
from test_classifier import toy

from rationales.errors import InputError, ModelError
from rationales.explainers import LeaveOneOut, Random
from rationales.explanation import Explanations, Scores
from rationales.models import TransformersClassifier
from rationales.train import classifier as plain
from rationales.train import fresh_rationales
from rationales.train.checkpoint import Run
from rationales.train.fresh import train


def test_a_run_that_was_stopped_explains_nothing_twice(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = toy(20), toy(10, seed=1)
    monkeypatch.setattr(fresh_rationales, "PART", 8)
    usual, explained = LeaveOneOut.__call__, []

    def stopped(self: Any, model: Any, batch: Any, targets: Any = None) -> Explanations:
        if len(explained) == 2:
            raise KeyboardInterrupt
        explained.append(len(batch))
        return usual(self, model, batch, targets)

    with monkeypatch.context() as patch:
        patch.setattr(LeaveOneOut, "__call__", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(1,)), *data, model=model, method="leave_one_out")
    assert explained == [8, 8]

    def counted(self: Any, model: Any, batch: Any, targets: Any = None) -> Explanations:
        explained.append(len(batch))
        return usual(self, model, batch, targets)

    monkeypatch.setattr(LeaveOneOut, "__call__", counted)
    first = train(config(seeds=(1,)), *data, model=model, method="leave_one_out")
    assert explained == [8, 8, 4, 8, 2]
    kept = Explanations.load(first.out / "explanations" / "train.parquet")
    assert [each.id for each in kept] == [example.id for example in data[0]]
    assert not (first.out / "explanations" / "train").exists()

    more = train(config(seeds=(1, 2)), *data, model=model, method="leave_one_out")  # a seed is added
    assert len(explained) == 5
    assert more.dev.seeds[1] == first.dev.seeds[1]
    whole = train(config(seeds=(1, 2), out=tmp_path / "whole"), *data, model=model, method="leave_one_out")
    assert whole.dev == more.dev


def test_other_explanations_are_not_taken_for_these(config: Any, model: str, encoder: str, tmp_path: Path) -> None:
    data = toy(16), toy(8, seed=1)
    usual = config(seeds=(1,))
    train(usual, *data, model=model, method=Random(seed=1))
    with pytest.raises(InputError, match="other explanations of the train texts: params differ"):
        train(usual, *data, model=model, method=Random(seed=2))
    with pytest.raises(InputError, match="train texts: method, params differ"):
        train(usual, *data, model=model, method="leave_one_out")
    with pytest.raises(InputError, match="dev texts: texts differ"):
        train(usual, data[0], toy(8, seed=3), model=model, method=Random(seed=1))
    other = plain.train(plain.Config(tmp_path / "other", encoder=encoder, epochs=1, seed=5), *data)
    with pytest.raises(InputError, match="train texts: model differ"):
        train(usual, *data, model=str(other), method=Random(seed=1))
    with pytest.raises(InputError, match=r"holds another run, with .*ratio 0\.2 instead of 0\.9"):
        train(config(seeds=(1,), ratio=0.9), *data, model=model, method=Random(seed=1))
    anew = train(replace(usual, overwrite=True), *data, model=model, method=Random(seed=2))
    kept = Explanations.load(anew.out / "explanations" / "train.parquet")
    assert kept[0].provenance.seed == 2


def test_explanations_of_a_model_that_cuts_elsewhere_are_not_taken_for_these(config: Any, model: str) -> None:
    """Also where the texts whose logits are compared are too short to be cut."""
    long = [replace(each, texts=(f"{each.texts[0]} " * 6,)) for each in toy(4, seed=7)]
    data = [*toy(8), *long], toy(8, seed=1)
    usual = config(seeds=(1,), ratio=0.1)
    train(usual, *data, model=model, method="random")
    other = TransformersClassifier.from_pretrained(model, device="cpu", max_length=12)
    with pytest.raises(InputError, match="other explanations of the train texts: max_length differ"):
        train(usual, *data, model=other, method="random")


def entries(directory: Path) -> dict[str, bytes]:
    """All files below, by their names."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def test_overwriting_leaves_nothing_old_that_a_run_made(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing goes before the new models are there, nor anything that no run made."""
    data = toy(16), toy(8, seed=1)
    out = config().out

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    train(config(seeds=(1, 3, 5)), *data, {"far": toy(4, seed=2)}, model=model, method="random")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "publish", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(7,)), *data, model=model, method="random")
    foreign = ("notes.txt", "seed-8/config.json", "seed-9/rationales.json", "seed-x/config.json",
               "explanations/mine.json", "explanations/mine.parquet")  # fmt: skip
    for name in foreign:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(json.dumps({"run": {"recipe": "classifier", "config": {"seed": 9}}}))
    shutil.copytree(out / "seed-3", out / "seed-10")
    copied = {name: content for name, content in entries(out).items() if name.startswith("seed-10/")}

    before = entries(out)
    saved = [deciding(each) for part in data for each in part]
    anew = config(seeds=(1, 2), overwrite=True)
    for bad in (saved[1:], [replace(saved[0], body=Scores(saved[0].body.values * np.nan)), *saved[1:]]):
        with pytest.raises(InputError, match=r"'0-0'"):
            train(anew, *data, explanations=bad)
    with pytest.raises(ModelError):
        train(replace(anew, encoder="./nowhere"), *data, explanations=saved)
    assert entries(out) == before

    def heard(_: str) -> None:
        now = entries(out)
        assert all(now[name] == before[name] for name in before if not re.match(r"seed-[12]/", name))

    train(anew, *data, explanations=saved, labels=LABELS, tell=heard)
    after = entries(out)
    left = {name for name in after if not re.match(r"seed-[12]/", name)}
    assert left == {*foreign, *copied, "fresh.json", "README.md"}
    assert all(after[name] == before[name] for name in (*foreign, *copied))
    assert not any((out / name).exists() for name in ("seed-3", "seed-7", "explanations/train"))
    assert json.loads(after["fresh.json"])["config"]["seeds"] == [1, 2]


def test_overwriting_leaves_what_is_described_and_what_was_given(config: Any, model: str) -> None:
    data = toy(16), toy(8, seed=1)
    out = config().out
    train(config(seeds=(1, 3)), *data, {"far": toy(4, seed=2)}, model=model, method="random")
    train(config(seeds=(2,), overwrite=True), *data, model=str(out / "seed-3"), method="random")
    assert {each.name for each in out.iterdir()} == {"seed-2", "seed-3", "explanations", "fresh.json", "README.md"}
    files = [out / "explanations" / f"{split}.parquet" for split in ("train", "dev")]
    assert {each.name for each in (out / "explanations").glob("*.parquet")} == {"train.parquet", "dev.parquet"}
    train(config(seeds=(2,), overwrite=True), *data, explanations=files)
    assert all(file.exists() and file.with_suffix(".json").exists() for file in files)
    assert not (out / "seed-3").exists()


@pytest.mark.parametrize("content", ["years of work", '{"macro_f1": 0.9}', "[1]"])
@pytest.mark.parametrize("name", ["README.md", "fresh.json"])
def test_files_that_are_not_ours_are_not_touched(
    config: Any, model: str, tmp_path: Path, name: str, content: str
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / name).write_text(content)
    for sources in ({"model": model, "method": "random"}, {"explanations": map(deciding, toy(16))}):
        with pytest.raises(InputError, match=r"foreign is not empty and holds no run\. .*overwrite"):
            train(config(seeds=(1,), out=foreign), toy(16), toy(16), **sources)
    assert [(file.name, file.read_text()) for file in foreign.iterdir()] == [(name, content)]


def test_explanations_that_no_run_made_are_not_taken(config: Any, model: str) -> None:
    file = config().out / "explanations" / "train.parquet"
    Explanations(map(deciding, toy(16))).save(file)
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"train\.parquet is there, but nothing says what"):
        train(config(seeds=(1,)), toy(16), toy(8, seed=1), model=model, method="random")
    assert file.read_bytes() == before


def test_a_run_that_was_stopped_in_its_first_epoch_goes_on(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is finished is given back, or another seed is added to it."""
    saved = [deciding(each) for each in toy(16)]

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(plain, "gathered", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(1,)), toy(16), toy(16), explanations=saved)
    assert [entry.name for entry in config().out.iterdir()] == ["seed-1"]
    first = train(config(seeds=(1,)), toy(16), toy(16), explanations=saved)
    assert train(config(seeds=(1, 2)), toy(16), toy(16), explanations=saved).dev.seeds[1] == first.dev.seeds[1]
