"""What all recipes share: batches, the schedule, groups of parameters, the session, the run's directory."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import save_file
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rationales.errors import FileFormatError, InputError, ModelError
from rationales.train import checkpoint
from rationales.train.loop import Buckets, Settings, _groups, _progress, _schedule, fit, gathered, session

LENGTHS = [int(length) for length in np.random.default_rng(0).integers(3, 80, 1003)]


def test_batches_hold_every_row_once_and_only_the_last_is_short():
    for seed in (None, 5):
        batches = list(Buckets(LENGTHS, 16, seed))
        assert sorted(itertools.chain(*batches)) == list(range(1003))
        assert [len(batch) for batch in batches] == [16] * 62 + [11]


def test_batches_waste_little_padding():
    def padded(batches):
        return sum(len(batch) * max(LENGTHS[row] for row in batch) for batch in batches)

    shuffled = np.random.default_rng(1).permutation(1003)
    plain = padded([shuffled[start : start + 16] for start in range(0, 1003, 16)])
    assert padded(Buckets(LENGTHS, 16, 0)) < 1.1 * sum(LENGTHS) < 0.65 * plain


def test_order_follows_from_seed_and_epoch():
    def order(seed, epoch):
        buckets = Buckets(LENGTHS, 16, seed)
        buckets.epoch = epoch
        return list(buckets)

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(0, 2)
    assert order(0, 1) != order(1, 1)
    lengths = [max(LENGTHS[row] for row in batch) for batch in order(0, 0)]
    assert lengths != sorted(lengths, reverse=True)  # batches are shuffled too, not only rows


def test_learning_rate_rises_then_falls_to_almost_nothing():
    rates = [_schedule(step, 100, 0.1) for step in range(100)]
    assert rates[:10] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert rates[10:] == pytest.approx(np.linspace(1, 1 / 90, 90))
    assert [_schedule(step, 1, 0.1) for step in range(1)] == [1.0]
    assert [_schedule(step, 2, 0.0) for step in range(2)] == [1.0, 0.5]


def test_vectors_do_not_decay_and_frozen_parameters_are_left_out():
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    module[2].weight.requires_grad_(False)
    groups = _groups(module, Settings(learning_rate=0.1, weight_decay=0.5), lambda name: 0.2 if name[0] == "2" else 0.1)
    found = {(group["lr"], group["weight_decay"]): [tuple(p.shape) for p in group["params"]] for group in groups}
    assert found == {(0.1, 0.5): [(4, 3)], (0.1, 0.0): [(4,), (4,), (4,)], (0.2, 0.0): [(2,)]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", -1.0),
        ("learning_rate", float("nan")),
        ("warmup", 1.0),
        ("clip", -1.0),
        ("seed", -1),
        ("seed", 2**63),
        ("precision", "fp8"),
    ],
)
def test_bad_settings_are_named(name, value):
    with pytest.raises(InputError, match=name):
        Settings(**{name: value})


def test_session_gives_random_numbers_and_precision_back():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for precision in ("bf16", "no"):
        with session(Settings(precision=precision)) as accelerator:
            assert accelerator.mixed_precision == precision
            torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)


def test_half_precision_needs_a_device_that_has_it(monkeypatch):
    monkeypatch.setattr(Accelerator, "device", torch.device("cpu"))
    with pytest.raises(InputError, match="fp16 needs an accelerator"), session(Settings(precision="fp16")):
        pass
    with session(Settings()) as accelerator:
        assert accelerator.mixed_precision == "no"


@pytest.mark.parametrize(
    ("columns", "figures"),
    [
        (80, "classification 0.125  dev accuracy 0.875"),
        (120, "classification 0.125  dev accuracy 0.875  loss 0.500  gradient 0.250"),
        (200, "adversarial 0.250  guidance 0.250  learning rate 5.0e-05"),
        (40, ""),
    ],
)
def test_the_bar_keeps_its_steps_and_time_in_a_narrow_terminal(monkeypatch, capsys, columns, figures):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    terms = {"gradient": 0.25, "parameters": 99.5, "adversarial": 0.25, "guidance": 0.25}
    with session(Settings()) as accelerator, _progress(accelerator, 1050, "accuracy") as show:
        show(350, rate=5e-5, loss=0.5, classification=0.125, dev=0.875, **terms)
        show(1050)
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err).rstrip().splitlines()[-1]
    line = last.rpartition("\r")[2].strip()
    assert len(line) <= columns
    assert re.fullmatch(rf"\S{{16}} 1050/1050 (.*){re.escape(figures)} +\d:\d\d:\d\d", line), line


class Line(nn.Module):
    """The loss of a line through points, with random numbers in it as dropout has them."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 2))
        self.tied = self.weight
        self.unused = nn.Parameter(torch.zeros(2))
        self.frozen = nn.Parameter(torch.zeros(2), requires_grad=False)
        self.poison = 0.0

    def forward(self, rows: list[int]) -> torch.Tensor:
        x = torch.tensor(rows, dtype=torch.float32)[:, None] / 10
        noise = torch.rand(len(rows), 1)
        return ((x + noise) * self.weight - 1).square().mean() + self.poison


def run_line(
    settings: Settings, *, scores: list[float], standings: list[tuple[int, float]] | None = None, poison: float = 0.0
) -> Line:
    given = iter(scores)
    ranks = None if standings is None else iter(standings).__next__

    def evaluate() -> float:
        score = next(given)
        if score < 0:
            raise KeyboardInterrupt
        return score

    def save(directory: Path) -> None:
        (directory / "part").mkdir(parents=True)
        save_file({"weight": line.weight.detach()}, directory / "part" / "line.safetensors")

    run = settings.run("line", {"data": 1})
    with session(settings) as accelerator:
        line = Line()
        line.poison = poison
        if not run.finished():
            fit(settings, run, accelerator, line, [1] * 10, evaluate=evaluate, save=save, score="score", standing=ranks)
    return line


def steps_of(settings: Settings) -> tuple[list[float], list[float]]:
    """The learning rate, and the length of the gradient, with which each step was taken."""
    rates, lengths = [], []

    def note(optimizer: torch.optim.Optimizer, *_given: object) -> None:
        every = [own.grad for group in optimizer.param_groups for own in group["params"] if own.grad is not None]
        rates.append(optimizer.param_groups[0]["lr"])
        lengths.append(float(torch.nn.utils.get_total_norm(every)))

    handle = register_optimizer_step_pre_hook(note)
    try:
        run_line(settings, scores=[0.5] * settings.epochs)
    finally:
        handle.remove()
    return rates, lengths


@pytest.mark.parametrize(("decay", "then"), [(True, [0.4, 0.3, 0.2, 0.1]), (False, [0.4] * 4)])
def test_the_learning_rate_falls_unless_told_otherwise(tmp_path, decay, then):
    rates, _ = steps_of(Settings(tmp_path, epochs=3, batch_size=5, learning_rate=0.4, warmup=0.3, decay=decay))
    assert rates == pytest.approx([0.2, 0.4, *then])


def test_gradients_are_no_longer_than_clip(tmp_path):
    free, barely, short = (
        steps_of(Settings(tmp_path / str(clip), epochs=1, batch_size=5, learning_rate=0.0, clip=clip))[1]
        for clip in (0.0, 1e6, 1e-3)
    )
    assert min(free) > 1e-2
    assert barely == pytest.approx(free)
    assert short == pytest.approx([1e-3, 1e-3], rel=1e-3)


def weights(out: Path) -> bytes:
    return (out / "part" / "line.safetensors").read_bytes()


def record(out: Path) -> dict:
    return json.loads((out / "rationales.json").read_text())


@pytest.mark.parametrize("stopped_in", [1, 2, 3])
def test_a_stopped_run_goes_on_and_ends_the_same(tmp_path, stopped_in):
    scores = [0.2, 0.5, 0.4]
    whole = Settings(out=tmp_path / "whole", batch_size=3, learning_rate=0.1)
    last = run_line(whole, scores=scores)
    stopped = Settings(out=tmp_path / "stopped", batch_size=3, learning_rate=0.1)
    with pytest.raises(KeyboardInterrupt):
        run_line(stopped, scores=[*scores[: stopped_in - 1], -1.0])
    assert not (stopped.out / "rationales.json").exists()
    resumed = run_line(stopped, scores=scores[stopped_in - 1 :])

    assert torch.equal(last.weight, resumed.weight)
    assert weights(whole.out) == weights(stopped.out)
    assert record(stopped.out)["best_epoch"] == 2
    assert [epoch["score"] for epoch in record(stopped.out)["epochs"]] == scores
    losses = [[epoch["loss"] for epoch in record(one.out)["epochs"]] for one in (whole, stopped)]
    assert losses[0] == losses[1]
    assert sorted(entry.name for entry in stopped.out.iterdir()) == ["part", "rationales.json"]


def test_what_became_of_the_directory_is_noted(tmp_path, caplog):
    settings = Settings(out=tmp_path, epochs=3)
    with caplog.at_level("INFO", "rationales.train.checkpoint"):
        with pytest.raises(KeyboardInterrupt):
            run_line(settings, scores=[0.2, 0.3, -1.0])
        assert noted(caplog) == []
        run_line(settings, scores=[0.5])
        assert noted(caplog) == [f"{tmp_path}: going on after epoch 2 of 3"]
        run_line(settings, scores=[])
        assert noted(caplog)[1:] == [f"{tmp_path}: finished before; nothing was trained"]


def noted(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "rationales.train.checkpoint"]


@pytest.mark.parametrize("moment", ["before the record", "after the record"])
def test_killed_while_the_best_epoch_is_moved(tmp_path, monkeypatch, moment):
    settings = Settings(out=tmp_path, epochs=1)
    with monkeypatch.context() as patch:

        def killed(*_arguments, **_options):
            raise KeyboardInterrupt

        if moment == "before the record":
            patch.setattr(checkpoint, "package_version", killed)
        else:
            patch.setattr(
                checkpoint.shutil, "rmtree", lambda path, **_: killed() if path.name == "checkpoint" else None
            )
        with pytest.raises(KeyboardInterrupt):
            run_line(settings, scores=[0.5])
    moved = weights(tmp_path)
    run_line(settings, scores=[])
    assert record(tmp_path)["best_score"] == 0.5
    assert weights(tmp_path) == moved
    assert not (tmp_path / "checkpoint").exists()


def test_the_first_of_equal_epochs_is_the_best_and_patience_ends_the_run(tmp_path):
    run_line(Settings(out=tmp_path, epochs=9, patience=2), scores=[0.1, 0.3, 0.3, 0.2])
    assert record(tmp_path)["best_epoch"] == 2
    assert len(record(tmp_path)["epochs"]) == 4


def test_epochs_of_a_lower_standing_are_neither_the_best_nor_the_end(tmp_path):
    settings = Settings(out=tmp_path, epochs=9, patience=2)
    run_line(settings, scores=[0.9, 0.8, 0.8, 0.3, 0.4, 0.1, 0.1], standings=[(0, 0.0)] * 3 + [(1, 0.0)] * 4)
    assert record(tmp_path)["best_epoch"] == 5
    assert len(record(tmp_path)["epochs"]) == 7


def test_of_epochs_with_the_same_score_the_nearest_is_the_best(tmp_path):
    settings = Settings(out=tmp_path, epochs=4)
    run_line(settings, scores=[0.5, 0.9, 0.9, 0.9], standings=[(1, 0.0), (1, -0.3), (1, -0.1), (1, -0.2)])
    assert record(tmp_path)["best_epoch"] == 3


def test_to_be_nearer_is_not_enough_to_go_on(tmp_path):
    settings = Settings(out=tmp_path, epochs=9, patience=2)
    run_line(settings, scores=[0.9, 0.9, 0.9], standings=[(1, -0.3), (1, -0.2), (1, -0.1)])
    assert record(tmp_path)["best_epoch"] == 3
    assert len(record(tmp_path)["epochs"]) == 3


def test_a_finished_run_is_not_repeated_and_another_one_not_replaced(tmp_path):
    settings = Settings(out=tmp_path, epochs=1)
    run_line(settings, scores=[0.5])
    before = weights(tmp_path)
    run_line(settings, scores=[])  # nothing is evaluated again
    other = Settings(out=tmp_path, epochs=1, learning_rate=0.5)
    with pytest.raises(InputError, match=r"learning_rate 5e-05 instead of 0.5.*overwrite"):
        run_line(other, scores=[])
    assert weights(tmp_path) == before
    run_line(Settings(out=tmp_path, epochs=1, learning_rate=0.5, overwrite=True), scores=[0.4])
    assert weights(tmp_path) != before
    run_line(other, scores=[])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"config": {"seed": 1, "epochs": 2}}, "epochs 1 instead of 2, seed 0 instead of 1"),
        ({"recipe": "arc", "data": 2, "config": {}}, "recipe 'line' instead of 'arc'"),
        ({"data": {"checksum": "5f1d"}}, "other data"),
        ({"labels": ["a" * 80]}, f"labels ['red'] instead of ['{'a' * 58}…"),
        (
            {"config": {"seed": 1, "epochs": 2, "clip": 2.0, "warmup": 0.5}},
            "epochs 1 instead of 2, warmup 0.1 instead of 0.5, clip 1.0 instead of 2.0 and more",
        ),
    ],
)
def test_what_differs_from_another_run_is_said_in_a_line(tmp_path, changed, said):
    own = Settings(tmp_path, epochs=1).run("line", {"data": 1, "labels": ["red"]}).identity
    config = {**own["config"], **changed.pop("config", {})}
    (tmp_path / "rationales.json").write_text(json.dumps({"run": own}))
    with pytest.raises(InputError) as caught:
        checkpoint.Run(tmp_path, {**own, "config": config, **changed}).finished()
    hint = "Give another directory (--out), or replace what it holds (--overwrite)"
    assert str(caught.value) == f"{tmp_path} holds another run, with {said}. {hint}"


def test_what_is_not_ours_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not empty"):
        run_line(Settings(out=tmp_path), scores=[])
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot be used as output directory"):
        run_line(Settings(out=file), scores=[])
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_damaged_files_are_reported(tmp_path):
    (tmp_path / "rationales.json").write_text("{")
    with pytest.raises(FileFormatError, match="damaged"):
        run_line(Settings(out=tmp_path), scores=[])
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "last.safetensors").write_bytes(b"not tensors at all")
    with pytest.raises(FileFormatError, match="damaged"):
        run_line(Settings(out=tmp_path), scores=[])
    run_line(Settings(out=tmp_path, epochs=1, overwrite=True), scores=[0.5])
    assert record(tmp_path)["best_score"] == 0.5


def test_a_loss_that_is_no_number_ends_the_run(tmp_path):
    with pytest.raises(ModelError, match=r"nan in epoch 1.*learning_rate"):
        run_line(Settings(out=tmp_path), scores=[], poison=float("nan"))


def test_a_batch_that_does_not_fit_in_memory(tmp_path, monkeypatch):
    def full(_self, _rows):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Line, "forward", full)
    with pytest.raises(ModelError, match=r"a batch of 10 texts does not fit.*batch_size"):
        run_line(Settings(out=tmp_path), scores=[])


def test_checkpoint_refers_to_the_best_epoch_only(tmp_path):
    settings = Settings(out=tmp_path, epochs=4)
    with pytest.raises(KeyboardInterrupt):
        run_line(settings, scores=[0.3, 0.6, 0.5, -1.0])
    assert sorted(entry.name for entry in (tmp_path / "checkpoint").iterdir()) == ["epoch-2", "last.safetensors"]


def test_gathered_results_are_in_order():
    with session(Settings()) as accelerator:
        found = gathered(accelerator, lambda rows: torch.tensor(rows)[:, None] * 2.0, LENGTHS, 64)
    assert torch.equal(found, torch.arange(1003)[:, None] * 2.0)
