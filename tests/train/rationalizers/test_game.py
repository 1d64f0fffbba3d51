from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError, QualityWarning
from rationales.models.rationalizer import Draw, Rationalizer
from rationales.train.checkpoint import Run
from rationales.train.labels import read_task
from rationales.train.rationalizers import rationalizers, rnp, train, ver
from rationales.train.rationalizers.game import Game, Table, View, held
from rationales.train.rationalizers.training import _Watch, new_model

SMALL = {"hidden": 16, "vector_size": 8, "batch_size": 8, "epochs": 2, "learning_rate": 3e-3}


@pytest.fixture(scope="module")
def task():
    return read_task(reviews(24, seed=0), reviews(12, seed=1), REVIEW_LABELS)


def game(task, tmp_path: Path, method: str = "rnp", **options: object) -> Game:
    torch.manual_seed(0)
    config = {"rnp": rnp.Config, "ver": ver.Config}[method](out=tmp_path / "model", **{**SMALL, **options})
    model = new_model(method, config, task)
    table = Table(model, [model.encode(task.train.examples)], task.train.targets)
    return rationalizers[method](model, table, config)


def seen(played: Game, task, rows: range) -> View:
    batch = played.model.encode([task.train.examples[row] for row in rows])
    return View(batch, played.model.embed(batch), task.train.targets[list(rows)])


def test_the_loss_is_that_of_the_paper(task, tmp_path: Path) -> None:
    plain = game(task, tmp_path, sparsity=0.2, sparsity_weight=3.0, continuity_weight=5.0).eval()
    view = seen(plain, task, range(10))
    draw = plain.draw(view)
    keep = view.batch.content
    chosen = draw.hard.float()
    share = chosen.sum() / keep.sum()
    changes = sum(
        float((row[1:length] - row[: length - 1]).abs().sum())
        for row, length in zip(chosen, view.batch.lengths.tolist(), strict=True)
    )
    logits = plain.model.predict(view.embeddings, view.batch, draw.hard)
    wanted = 0.9 * cross_entropy(logits, view.targets) + 3 * (share - 0.2).abs() + 5 * changes / (10 * 255)
    assert float(plain.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_the_predictor_of_ver_sees_the_vicinity_and_the_regularisers_do_not(task, tmp_path: Path) -> None:
    vicinal = game(task, tmp_path, "ver").eval()
    view = seen(vicinal, task, range(24))
    draw = vicinal.draw(view)
    near = vicinal.vicinity(view, draw)
    assert torch.equal(near.hard.sum(-1), draw.hard.sum(-1))
    exchanged = (draw.hard & ~near.hard).sum() / draw.hard.sum()
    assert 0.15 < float(exchanged) < 0.45
    assert torch.equal(near.soft, draw.soft)
    plain = game(task, tmp_path).eval()
    assert torch.equal(vicinal.regularised(view, draw), plain.regularised(view, draw))


def test_rnp_is_ver_without_exchange(task, tmp_path: Path) -> None:
    losses = []
    for method, options in (("rnp", {}), ("ver", {"perturb": 0.0})):
        played = game(task, tmp_path, method, **options)
        torch.manual_seed(5)
        view = seen(played, task, range(8))
        losses.append(float(played(view.batch, view.targets).loss.detach()))
    assert losses[0] == losses[1]


def test_gradients_reach_both_players_but_not_frozen_vectors(task, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(("the", "was", "food", "."))))
    with pytest.warns(UserWarning, match="only 1% of the words of these texts have a vector"):
        played = game(task, tmp_path, "ver", vectors=str(vectors))
    view = seen(played, task, range(8))
    played(view.batch, view.targets).loss.backward()
    without = {name for name, parameter in played.named_parameters() if parameter.grad is None}
    assert without == {"networks.selector.encoder.vectors.weight"}
    assert not played.networks.selector.encoder.vectors.weight[:2].any()  # padding and unknown words


def test_a_trained_rationalizer_is_loaded_and_explains_itself(tmp_path: Path) -> None:
    config = ver.Config(out=tmp_path / "model", **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # two epochs are too few to choose anything
        directory = train("ver", config, reviews(24, seed=0), reviews(12, seed=1), labels=REVIEW_LABELS)
        assert train("ver", config, reviews(24, seed=0), reviews(12, seed=1), labels=REVIEW_LABELS) == directory
    model = Rationalizer.from_pretrained(directory, device="cpu")
    assert (model.method, model.labels, model.params["perturb"]) == ("ver", REVIEW_LABELS, 0.3)
    (found,) = model.explain(model.encode([reviews(1, seed=2)[0]]))
    assert found.provenance.method == "ver"
    assert found.target.label in REVIEW_LABELS


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_selector_that_chooses_nothing_is_noticed(
    tmp_path: Path, overwrite: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rationales.train")
    options = {**SMALL, "epochs": 1, "sparsity": 0.0, "sparsity_weight": 1000.0, "overwrite": overwrite}
    config = rnp.Config(out=tmp_path / "model", **options)
    begins = r"the selector chooses nothing of the dev texts by now \(0\.\d%\)"
    with (
        pytest.warns(QualityWarning, match=begins),
        pytest.warns(QualityWarning, match="that was kept chooses nothing"),
    ):
        train("rnp", config, reviews(200, seed=0), reviews(12, seed=1), labels=REVIEW_LABELS)
    assert "epoch 1 of 1" in caplog.text
    assert "finished before" not in caplog.text


def test_everything_is_no_collapse_while_it_is_wanted() -> None:
    watch = _Watch(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch(0.99, narrowing=True)
    with pytest.warns(QualityWarning, match="chooses nearly everything"):
        watch(0.99, narrowing=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _Watch(0.99)(1.0, narrowing=False)  # as wanted


def test_an_epoch_in_which_more_was_wanted_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = reviews(24, seed=0), reviews(12, seed=1)

    def run(name: str) -> dict:
        config = rnp.Config(out=tmp_path / name, **{**SMALL, "epochs": 3, "narrowing": 6})  # three updates an epoch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QualityWarning)
            directory = train("rnp", config, *halves, labels=REVIEW_LABELS)
        return json.loads((directory / "rationales.json").read_text())

    with pytest.raises(InputError, match="less than all updates, which are 6"):
        train("rnp", rnp.Config(out=tmp_path / "m", **SMALL, narrowing=6), *halves, labels=REVIEW_LABELS)
    whole = run("whole")
    assert [epoch["standing"] for epoch in whole["epochs"]] == [0, 0, 1]
    assert whole["best_epoch"] == 3
    store, stored = Run.store, []

    def stopped(*arguments: object) -> None:
        if len(stored) == 1:
            raise KeyboardInterrupt
        stored.append(store(*arguments))

    with monkeypatch.context() as patch:
        patch.setattr(Run, "store", stopped)
        with pytest.raises(KeyboardInterrupt):
            run("stopped")
    assert [epoch["loss"] for epoch in run("stopped")["epochs"]] == [epoch["loss"] for epoch in whole["epochs"]]


@pytest.mark.parametrize(
    "options",
    [{"sparsity": 1.5}, {"perturb": -0.1}, {"temperature": 0.0}, {"narrowing": -1}, {"narrowing": 1, "sparsity": 0.0}],
)
def test_options_must_make_sense(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        rnp.Config(**options)


def test_numbers_are_no_classes(tmp_path: Path) -> None:
    numbers = [dataclasses.replace(example, label=index + 0.5) for index, example in enumerate(reviews(8, seed=0))]
    with pytest.raises(InputError, match="tells classes apart"):
        train("rnp", rnp.Config(out=tmp_path / "m", **SMALL), numbers, numbers)


def test_a_network_held_fixed_passes_gradients_on_and_keeps_none() -> None:
    layer, given = torch.nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
    held(layer, given).sum().backward()
    assert layer.weight.grad is None
    assert torch.allclose(given.grad, layer.weight.sum(0).expand(4, 3))


def test_padding_counts_if_wanted(task, tmp_path: Path) -> None:
    counting = game(task, tmp_path, count_pads=True, continuity_weight=0.0, sparsity_weight=1.0, sparsity=0.0).eval()
    view = seen(counting, task, range(6))
    pads = ~view.batch.keep
    assert pads.any()
    draw = Draw(torch.ones_like(pads), torch.ones(pads.shape))
    everywhere = float(pads.numel() / view.batch.content.sum())  # more than all tokens of the texts
    assert float(counting.regularised(view, draw)) == pytest.approx(everywhere)
    assert torch.equal(counting.vicinity(view, draw).hard, view.batch.content)
    assert counting.counted(view).all()
    usual = game(task, tmp_path, continuity_weight=0.0, sparsity_weight=1.0, sparsity=0.0).eval()
    assert float(usual.regularised(view, draw)) == pytest.approx(1.0)
