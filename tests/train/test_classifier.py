"""`rationales train classifier`, with a tiny encoder."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel, PreTrainedModel
from transformers.utils import logging as transformers_logging

from rationales.data import Example, load
from rationales.errors import DataError, InputError, ModelError
from rationales.models import TransformersClassifier
from rationales.train import classifier
from rationales.train.classifier import Config, train
from rationales.train.labels import read_task
from tiny import SIZE, STACK, network, tokenizer

GOOD, BAD = ("good", "great", "tasty", "loved"), ("bad", "awful", "bland", "hated")


def toy(size: int, seed: int = 0) -> list[Example]:
    """Short texts with one word that decides."""
    rng = random.Random(seed)
    examples = []
    for number in range(size):
        label = number % 2
        words = [*rng.choices(("the", "food", "was", "very", "soup", "and", "room"), k=rng.randint(2, 6))]
        words.insert(rng.randrange(len(words)), rng.choice((BAD, GOOD)[label]))
        examples.append(Example(f"{seed}-{number}", (" ".join(words),), label))
    return examples


def relabelled(examples: list[Example], label) -> list[Example]:
    return [Example(example.id, example.texts, label(example)) for example in examples]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    directory = tmp_path_factory.mktemp("encoder")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        bert = BertModel(BertConfig(**SIZE, **STACK))  # with small weights, from which it learns well
    saved(bert, directory)
    return str(directory)


def saved(module: PreTrainedModel, directory: Path, **options) -> None:
    module.save_pretrained(directory, **options)
    tokenizer().save_pretrained(directory)


@pytest.fixture
def config(encoder, tmp_path):
    def make(**options) -> Config:
        options = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2, "out": tmp_path / "out", **options}
        return Config(encoder=encoder, **options)

    return make


def record(out: Path) -> dict:
    return json.loads((out / "rationales.json").read_text())


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_learns_and_leaves_a_model_that_loads(config):
    out = train(config(epochs=4), toy(160), toy(40, seed=1), labels=("negative", "positive"))
    assert record(out)["best_score"] == 1.0
    files = {entry.name for entry in out.iterdir()}
    assert files == {"config.json", "model.safetensors", "rationales.json", "tokenizer.json", "tokenizer_config.json"}

    model = TransformersClassifier.from_pretrained(out, device="cpu")
    assert model.labels == ("negative", "positive")
    unseen = toy(20, seed=2)
    with torch.no_grad():
        predicted = model.logits(model.encode(unseen)).argmax(-1).tolist()
    assert predicted == [example.label for example in unseen]


def test_the_record_says_how_the_model_came_about(config):
    out = train(config(epochs=2, weight_decay=0.02), toy(24), toy(8, seed=1))
    found = record(out)
    assert found["run"]["recipe"] == "classifier"
    assert found["run"]["config"]["weight_decay"] == 0.02
    assert found["run"]["labels"] == ["0", "1"]
    assert found["run"]["metric"] == "accuracy"
    assert found["run"]["data"]["train"] == 24
    assert [epoch["number"] for epoch in found["epochs"]] == [1, 2]
    assert found["best_score"] == max(epoch["score"] for epoch in found["epochs"])
    assert found["version"]


def test_a_stopped_run_ends_bit_for_bit_like_a_whole_one(config, tmp_path, monkeypatch):
    data, dev = toy(60), toy(20, seed=1)
    whole = train(config(epochs=3), data, dev)
    resumed = config(epochs=3, out=tmp_path / "resumed")
    gathered, calls = classifier.gathered, []

    def stopped_in_second_epoch(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return gathered(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(classifier, "gathered", stopped_in_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            train(resumed, data, dev)
    assert TransformersClassifier.from_pretrained(resumed.out / "checkpoint" / "epoch-1", device="cpu")
    torch.rand(7)  # whatever else happens in the process
    train(resumed, data, dev)

    assert same(weights(whole), weights(resumed.out))
    assert [e["loss"] for e in record(whole)["epochs"]] == [e["loss"] for e in record(resumed.out)["epochs"]]
    assert not (resumed.out / "checkpoint").exists()


def test_nothing_is_pickled(config, monkeypatch):
    def refused(*_arguments, **_options):
        raise AssertionError("pickle")

    for module, name in ((torch, "save"), (torch, "load"), (__import__("pickle"), "loads")):
        monkeypatch.setattr(module, name, refused)
    train(config(), toy(16), toy(8, seed=1))


def test_the_seed_decides_everything(config, tmp_path):
    data, dev = toy(24), toy(8, seed=1)
    first, second, other = (
        weights(train(config(seed=seed, out=tmp_path / name), data, dev))
        for name, seed in (("first", 4), ("second", 4), ("other", 5))
    )
    assert same(first, second)
    assert not same(first, other)


def test_random_states_and_logging_of_the_process_are_left_alone(config, capfd):
    torch.manual_seed(11)
    states = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    levels = (transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled())
    train(config(), toy(16), toy(8, seed=1))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]
    assert (transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()) == levels
    output = capfd.readouterr()
    assert (output.out, output.err) == ("", "")  # no terminal: no bar, no report of new layers


def test_progress_in_a_terminal(config, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    train(config(), toy(16), toy(8, seed=1))
    shown = capsys.readouterr().err
    for word in ("loss", "learning rate", "dev accuracy", "2/2"):
        assert word in shown


def test_an_epoch_is_logged(config, caplog):
    with caplog.at_level(logging.INFO, "rationales.train"):
        train(config(), toy(16), toy(8, seed=1))
    assert "epoch 1 of 1: loss" in caplog.text


def test_numbers_are_predicted(config):
    data, dev = (relabelled(toy(size, seed), lambda e: 0.2 + 0.6 * e.label) for size, seed in ((160, 0), (40, 1)))
    out = train(config(epochs=4), data, dev)
    assert record(out)["run"]["metric"] == "pearson"
    assert record(out)["best_score"] > 0.95
    model = TransformersClassifier.from_pretrained(out, device="cpu")
    assert model.regression
    assert model.labels == ("value",)


def test_pairs_and_class_names(config):
    def paired(size: int, seed: int) -> list[Example]:
        return [
            Example(one.id, (one.texts[0], "it was good"), "agrees" if one.label else "differs")
            for one in toy(size, seed)
        ]

    out = train(config(epochs=4, metric="macro_f1", head_learning_rate=2e-2), paired(160, 0), paired(40, 1))
    assert record(out)["run"]["labels"] == ["agrees", "differs"]
    assert record(out)["run"]["metric"] == "macro_f1"
    assert record(out)["best_score"] > 0.9


def test_bfloat16(config):
    out = train(config(epochs=3, precision="bf16"), toy(160), toy(40, seed=1))
    assert record(out)["best_score"] > 0.9
    assert {tensor.dtype for tensor in weights(out).values()} == {torch.float32}


def test_only_the_layers_on_top_learn_at_rate_zero_below(config, encoder):
    out = train(config(learning_rate=0.0, head_learning_rate=1e-2), toy(16), toy(8, seed=1))
    before = load_file(Path(encoder) / "model.safetensors")
    after = weights(out)
    assert all(torch.equal(before[name], after[f"bert.{name}"]) for name in before)
    assert not torch.equal(after["classifier.bias"], torch.zeros(2))


def test_class_names_of_a_data_set_go_into_the_model(config, tmp_path):
    file = tmp_path / "train.csv"
    file.write_text("text,label\n" + "".join(f"{e.texts[0]},{'yes' if e.label else 'no'}\n" for e in toy(16)))
    out = train(config(), load(file), load(file))
    assert TransformersClassifier.from_pretrained(out, device="cpu").labels == ("no", "yes")


def test_a_classifier_of_other_classes_gets_a_new_layer_on_top(config, encoder, tmp_path):
    saved(network("bert"), tmp_path / "three")
    out = train(Config(encoder=str(tmp_path / "three"), epochs=1, out=tmp_path / "two"), toy(16), toy(8, seed=1))
    assert weights(out)["classifier.weight"].shape[0] == 2


def test_cut_texts_are_counted_once_for_each_part(config):
    with pytest.warns(UserWarning, match="of .* texts were longer than 5 tokens") as caught:
        train(config(max_length=5), toy(24), toy(8, seed=1))
    assert [str(warning.message).split(":")[0] for warning in caught] == ["training data", "dev data"]


def test_texts_are_cut_in_use_as_they_were_in_training_unless_told_otherwise(config):
    with pytest.warns(UserWarning, match="longer than 5 tokens"):
        out = train(config(max_length=5), toy(24), toy(8, seed=1))
    assert TransformersClassifier.from_pretrained(out).max_length == 5
    assert TransformersClassifier.from_pretrained(out, max_length=9).max_length == 9
    again = train(Config(encoder=str(out), epochs=1, out=out.parent / "again"), toy(24), toy(8, seed=1))
    assert TransformersClassifier.from_pretrained(again).max_length == 64


def test_weights_that_the_encoder_lacks_are_reported(tmp_path):
    bert = network("bert").bert
    state = {name: tensor for name, tensor in bert.state_dict().items() if "layer.1.output.dense" not in name}
    saved(bert, tmp_path / "half", state_dict=state)
    with pytest.warns(UserWarning, match="lacks 2 weights of BertForSequenceClassification"):
        train(Config(encoder=str(tmp_path / "half"), epochs=1, out=tmp_path / "out"), toy(16), toy(8, seed=1))


LABELLED = toy(8)
NUMBERED = relabelled(LABELLED, lambda example: example.label / 2)
BROKEN = {
    "training data are empty": ([], LABELLED),
    "dev data are empty": (LABELLED, []),
    "none of the 8 training examples has a label": (relabelled(LABELLED, lambda _: None), LABELLED),
    "all 8 training labels are 1": (relabelled(LABELLED, lambda _: 1), LABELLED),
    "dev example '0-0' has label 7.*: 0, 1": (LABELLED, relabelled(LABELLED, lambda _: 7)),
    "some training labels are names": (relabelled(LABELLED, lambda e: e.label or "none"), LABELLED),
    "not all dev labels are: .*'red'": (NUMBERED, relabelled(LABELLED, lambda _: "red")),
    "dev labels are all the same number": (NUMBERED, relabelled(LABELLED, lambda _: 0.5)),
    "not all training labels are finite": (relabelled(LABELLED, lambda e: float("inf") if e.label else 0.0), LABELLED),
    "has choices": ([Example("q", ("the food ?",), 0, choices=("good", "bad"))], LABELLED),
}


@pytest.mark.parametrize("message", BROKEN)
def test_data_that_cannot_be_learned_from(config, message):
    options = config()
    with pytest.raises(DataError, match=message):
        train(options, *BROKEN[message])
    assert not options.out.exists()


def test_labels_out_of_range_of_the_names(config):
    with pytest.raises(DataError, match=r"'0-1' has label 1; the labels are only"):
        train(config(), LABELLED, LABELLED, labels=("only",))
    with pytest.raises(DataError, match=r"class names were given \(no, yes\)"):
        train(config(), NUMBERED, NUMBERED, labels=("no", "yes"))


def test_examples_without_a_label_are_left_out(config):
    with pytest.warns(UserWarning, match="1 of 17 training examples have no label"):
        out = train(config(), [*toy(16), Example("x", ("the food",))], toy(8, seed=1))
    assert record(out)["run"]["data"]["train"] == 16


def test_other_data_in_the_same_directory(config):
    train(config(), toy(16), toy(8, seed=1))
    with pytest.raises(InputError, match=r"holds another run, with other data\. Give another directory"):
        train(config(), toy(16, seed=3), toy(8, seed=1))


def test_a_finished_run_returns_at_once(config, monkeypatch):
    out = train(config(), toy(16), toy(8, seed=1))
    monkeypatch.setattr(classifier, "fit", None)
    assert train(config(), toy(16), toy(8, seed=1)) == out


def test_the_command_says_whether_it_trained_and_what_the_score_is(call, encoder, tmp_path, monkeypatch):
    for split, texts in (("train", toy(16)), ("dev", toy(8, seed=1))):
        rows = "".join(f"{one.texts[0]},{'yes' if one.label else 'no'}\n" for one in texts)
        (tmp_path / f"{split}.csv").write_text(f"text,label\n{rows}")
    command = ("train", "classifier", "--data", str(tmp_path), "--encoder", encoder, "--metric", "macro_f1",
               "--epochs", "2", "--out", str(tmp_path / "out"))  # fmt: skip
    gathered, scored = classifier.gathered, []

    def stopped_in_second_epoch(*arguments):
        scored.append(1)
        if len(scored) == 2:
            raise KeyboardInterrupt
        return gathered(*arguments)

    monkeypatch.setattr(classifier, "gathered", stopped_in_second_epoch)
    assert call(*command)[0] == 130
    for note in ("going on after epoch 1 of 2", "finished before; nothing was trained"):
        status, _, err = call(*command)
        assert status == 0, err
        assert err.splitlines()[0] == f"{tmp_path / 'out'}: {note}"
        assert f"best dev score {record(tmp_path / 'out')['best_score']:.4f} (macro_f1) in epoch" in err
    assert len(scored) == 3
    assert not logging.getLogger("rationales.train.checkpoint").handlers


def test_metric_and_labels_must_fit(config):
    with pytest.raises(InputError, match="classes, which metric='pearson' does not score"):
        train(config(metric="pearson"), LABELLED, LABELLED)
    with pytest.raises(InputError, match="numbers, which metric='accuracy' does not score"):
        train(config(metric="accuracy"), NUMBERED, NUMBERED)
    with pytest.raises(InputError, match="metric must be one of"):
        config(metric="f2")
    with pytest.raises(InputError, match="head_learning_rate must be"):
        config(head_learning_rate=-1.0)


def test_an_encoder_that_is_not_there(tmp_path):
    with pytest.raises(ModelError, match="there is no directory"):
        train(Config(encoder=str(tmp_path / "nowhere"), out=tmp_path / "out"), LABELLED, LABELLED)


def test_max_length_beyond_the_encoder(config):
    with pytest.raises(InputError, match="max_length must lie in 1 … 64"):
        train(config(max_length=65), LABELLED, LABELLED)


def test_whole_numbers_written_as_floats_are_pointed_out():
    examples = [Example(str(n), (f"text {n}",), float(n % 2)) for n in range(6)]
    with pytest.warns(UserWarning, match="so a number is predicted"):
        read_task(examples, examples)
