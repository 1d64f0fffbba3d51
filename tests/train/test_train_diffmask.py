"""`rationales train diffmask`: its loss against a slow one, what gates learn of planted links, and its command."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import tiny
from planted_links import LABELS, deciding, planted_model, planted_pairs
from rationales.data import Example
from rationales.errors import DataError, InputError, MissingCapability, QualityWarning
from rationales.explainers import DiffMask
from rationales.explainers.diffmask import Gates
from rationales.models import PairClassifier
from rationales.models.pairs import Architecture
from rationales.models.rationalizer.words import word_tokenizer
from rationales.train import diffmask
from rationales.train.diffmask import Config, Pairs, losses, new_gates, train

QUICK = {"epochs": 6, "batch_size": 16, "learning_rate": 2e-2, "hidden": 16}


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on planted links."""
    config = Config(out=tmp_path_factory.mktemp("gates") / "out", **QUICK)
    return train(config, planted_pairs(200), planted_pairs(40, seed=1), model=planted_model())


def record(out: Path) -> dict:
    return json.loads((out / "rationales.json").read_text())


# The loss


def slow_loss(model: PairClassifier, gates: Gates, example: Example, noise: Tensor, weight: float) -> float:
    """Of one pair, from the equations, one mask and one window at a time."""
    batch = model.encode([example])
    vectors = model.embed(batch)[0] / gates.scale
    first, second = (vectors[batch.segments[0] == side] for side in (0, 1))
    logits = model.logits(batch)[0]
    log_alpha = torch.zeros(len(first), len(second), dtype=torch.float64)
    for i, j in itertools.product(range(len(first)), range(len(second))):
        p, h = first[i], second[j]
        inner = torch.tanh(gates.inner(torch.cat([p, h, p - h, p * h])))
        log_alpha[i, j] = gates.outer(inner)
    distances, kept = [], 0
    for own in noise:
        stretched = -0.1 + 1.2 * torch.sigmoid((log_alpha + torch.log(own) - torch.log(1 - own)) / 0.2)
        answer = model.logits(batch, stretched.clamp(0, 1).unsqueeze(0))[0]
        distances.append(float((answer - logits).square().sum().sqrt()))
        kept += int(answer.argmax() == logits.argmax())
    zero = torch.sigmoid(0.2 * torch.log(torch.tensor(0.1 / 1.1, dtype=torch.float64)) - log_alpha)
    readable = float((1 - zero).sum())
    for i, j in itertools.product(range(len(first) - 1), range(len(second) - 1)):
        window = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)]
        for gone in window:
            chance = float(zero[gone])
            for other in window:
                chance *= float(1 - zero[other]) if other != gone else 1.0
            readable += chance
    return sum(distances) / len(noise) + weight * kept / len(noise) * readable


def random_model() -> PairClassifier:
    words = ("the", "a", "dog", "cat", "red", "big")
    architecture = Architecture("da", ("yes", "no", "perhaps"), len(words) + 2, vector_size=5, hidden=7)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = architecture.network().double().eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(3)  # answers that masks can change
    return PairClassifier(network, word_tokenizer(words), architecture)


def test_the_loss_is_that_of_a_slow_loop_over_pairs_and_samples() -> None:
    model = random_model()
    texts = [("the dog", "a big red cat"), ("red", "big"), ("the big dog the cat", "a dog cat"), ("cat", "the red dog")]
    examples = [Example(str(number), pair) for number, pair in enumerate(texts)]
    generator = torch.Generator().manual_seed(0)
    noise = torch.rand(4, 6, 5, 4, generator=generator, dtype=torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = new_gates(Config(hidden=8), Pairs(model, examples, [1] * 4)).double()
    with torch.no_grad():
        made.outer.weight.mul_(8)  # log α on both sides of 0
        batch = model.encode(examples)
        found = losses(model, batch, made.of(model, batch), noise, 0.15)
        wanted = []
        for row, example in enumerate(examples):
            first, second = (len(text.split()) for text in example.texts)
            wanted.append(slow_loss(model, made, example, noise[row, :, :first, :second], 0.15))
    assert found.tolist() == pytest.approx(wanted, rel=1e-9)
    assert len({round(loss, 3) for loss in wanted}) == 4


def test_the_weight_follows_the_share_of_samples_that_keep_the_answer_and_has_no_gradient() -> None:
    model = planted_model()
    batch = model.encode([Example("a", ("dog", "cat"))])
    log_alpha = torch.zeros(1, 1, 1, requires_grad=True)
    noise = torch.tensor([0.999, 0.999, 0.001, 0.001]).view(1, 4, 1, 1)  # masks of 1, 1, 0 and 0
    loss = losses(model, batch, log_alpha, noise, 0.5)
    there = 1 - 0.382365  # P(z ≠ 0) at log α = 0
    assert loss.item() == pytest.approx(4 / 2 + 0.5 * 0.5 * there, abs=1e-5)
    loss.sum().backward()
    assert log_alpha.grad.item() == pytest.approx(0.5 * 0.5 * there * (1 - there), abs=1e-5)  # masks are at their ends


# Training


def test_from_all_links_to_the_one_that_decides(gates: Path) -> None:
    model, unseen = planted_model(), planted_pairs(40, seed=2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        new = new_gates(Config(**QUICK), Pairs(model, unseen, [1] * 40))
    batch = model.encode(unseen)
    with torch.no_grad():
        assert (new.of(model, batch) > 0).float().mean() > 0.9
    found = DiffMask(gates=str(gates))(model, batch)
    for example, each in zip(unseen, found, strict=True):
        assert [tuple(cell) for cell in np.argwhere(each.body.keep)] == [deciding(example)]
        assert each.checks == {"fidelity": 0, "same_answer": 1}


def test_the_record_and_the_config_say_how_gates_came_about(gates: Path) -> None:
    assert {entry.name for entry in gates.iterdir()} == {"config.json", "model.safetensors", "rationales.json"}
    run = record(gates)["run"]
    assert (run["recipe"], run["model"], run["labels"]) == ("diffmask", "planted", list(LABELS))
    assert (run["data"]["train"], run["data"]["dev"]) == (200, 40)
    loaded = Gates.from_pretrained(gates)
    assert (loaded.design.hidden, loaded.design.model, loaded.design.labels) == (16, "planted", LABELS)
    assert loaded.params["learning_rate"] == 2e-2


def test_the_dev_score_is_minus_the_loss_of_the_kept_links(gates: Path) -> None:
    model = planted_model()
    costs = []
    for each in DiffMask(gates=str(gates))(model, model.encode(planted_pairs(40, seed=1))):
        keep = each.body.keep.astype(int)
        windows = keep[:-1, :-1] + keep[:-1, 1:] + keep[1:, :-1] + keep[1:, 1:]
        costs.append(each.checks["fidelity"] + 0.15 * (keep.sum() + (windows == 3).sum()))
    assert record(gates)["best_score"] == pytest.approx(-sum(costs) / 40, abs=1e-5)


def test_the_model_comes_back_as_it_was(tmp_path: Path) -> None:
    model = tiny.classifier()
    before = {name: tensor.clone() for name, tensor in model.model.state_dict().items()}
    model.model.train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        train(Config(out=tmp_path / "out", epochs=1, hidden=4), tiny.pairs(), tiny.pairs(), model=model)
    assert model.model.training
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.model.parameters())
    after = model.model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_a_stopped_run_ends_like_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, dev = planted_pairs(48), planted_pairs(8, seed=1)
    configs = [Config(out=tmp_path / name, **{**QUICK, "epochs": 3}) for name in ("whole", "resumed")]
    whole = train(configs[0], data, dev, model=planted_model())
    gathered, calls = diffmask.gathered, []

    def stopped_in_second_epoch(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return gathered(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(diffmask, "gathered", stopped_in_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            train(configs[1], data, dev, model=planted_model())
    resumed = train(configs[1], data, dev, model=planted_model())
    one, other = (Gates.from_pretrained(out).state_dict() for out in (whole, resumed))
    assert all(torch.equal(one[name], other[name]) for name in one)

    monkeypatch.setattr(diffmask, "fit", None)
    assert train(configs[1], data, dev, model=planted_model()) == resumed  # it is finished
    with pytest.raises(InputError, match="holds another run, with model 'planted' instead of 'other'"):
        train(configs[1], data, dev, model=planted_model("other"))


def test_gates_that_keep_nothing_are_pointed_out(tmp_path: Path) -> None:
    config = Config(out=tmp_path / "out", **{**QUICK, "epochs": 1, "start": -9.0})
    with pytest.warns(QualityWarning, match="keep no links of the dev pairs; .*lower weight"):
        train(config, planted_pairs(16), planted_pairs(8, seed=1), model=planted_model())


def test_pairs_without_words_are_left_out(tmp_path: Path) -> None:
    pairs = [*planted_pairs(16), Example("empty", ("the dog", " "))]
    config = Config(out=tmp_path / "out", **{**QUICK, "epochs": 1})
    with pytest.warns(UserWarning, match="1 of 17 training pairs have a text without words and are left out"):
        train(config, pairs, planted_pairs(8, seed=1), model=planted_model())


PAIR, SINGLE = Example("p", ("the dog", "a cat")), Example("s", ("the dog",))
BROKEN = {
    "the training data are empty": ([], [PAIR]),
    "the dev data are empty": ([PAIR], []),
    r"training example 's' is one; say .*--pair-column": ([PAIR, SINGLE], [PAIR]),
    "none of the 1 dev pairs has words in both texts": ([PAIR], [Example("e", ("", "a cat"))]),
}


@pytest.mark.parametrize("message", BROKEN)
def test_data_that_cannot_be_learned_from(message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        train(Config(out=tmp_path / "out"), *BROKEN[message], model=planted_model())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("hidden", 0), ("samples", 0), ("weight", -1.0), ("weight", float("nan"))]
)
def test_options_that_mean_nothing(option: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{option} must be"):
        Config(**{option: value})


def test_a_model_without_links(tmp_path: Path) -> None:
    with pytest.raises(MissingCapability, match="methods that read attention"):
        train(Config(out=tmp_path / "out", epochs=1), tiny.pairs(), tiny.pairs(), model=tiny.classifier("bart"))


def test_another_model_of_the_same_name_does_not_get_these_gates(tmp_path: Path) -> None:
    config = Config(out=tmp_path / "out", epochs=1, batch_size=2, hidden=4, start=3.0)

    def trained(seed: int) -> Path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QualityWarning)
            return train(config, tiny.pairs(), tiny.pairs(), model=tiny.pair_classifier("da", seed=seed))

    trained(0)
    weights = (tmp_path / "out" / "model.safetensors").stat()
    assert (trained(0) / "model.safetensors").stat() == weights  # the run was finished
    with pytest.raises(InputError, match=r"holds another run, with other answers of the model\. Give"):
        trained(1)


# The command


def test_the_command(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    file, model, out = tmp_path / "pairs.jsonl", tmp_path / "model", tmp_path / "gates"
    rows = [{"premise": each.texts[0], "hypothesis": each.texts[1]} for each in planted_pairs(60)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("the", "a", "is", "red", "big", "old", "so", "dog", "up", "cat", "down")
    architecture = Architecture("da", LABELS, len(words) + 2, vector_size=6, hidden=8)
    PairClassifier(architecture.network(), word_tokenizer(words), architecture).save_pretrained(model)

    status, shown, _ = call("train", "diffmask", "--help")
    assert status == 0
    for option in ("--model", "--hidden", "--samples", "--weight", "--start", "--learning-rate", "--pair-column"):
        assert option in shown
    flags = ("--data", str(file), "--dev", str(file), "--epochs", "1", "--hidden", "4", "--start", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        status, shown, errors = call("train", "diffmask", "--model", str(model), *flags, "--out", str(out))
    assert (status, shown) == (0, f"{out}\n")
    assert "kept links of the dev pairs" in errors
    assert f"--method diffmask --gates {out}" in errors
    assert DiffMask(gates=out).gates == str(out)

    status, _, errors = call("train", "diffmask", "--data", str(file))
    assert status == 2
    assert "--model" in errors
