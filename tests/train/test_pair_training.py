"""`rationales train da` and `rationales train esim`, with tiny networks on planted pairs."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from rationales.data import Example
from rationales.data.planted import PAIR_LABELS, pairs
from rationales.errors import DataError, InputError, ModelError
from rationales.models import PairClassifier, load
from rationales.train import da, esim, pair_training
from rationales.train.labels import read_task
from rationales.train.pair_training import Pairs, answers, new_model

RECIPES = {"da": da, "esim": esim}
SMALL: dict[str, Any] = {"hidden": 16, "vector_size": 8, "batch_size": 8, "epochs": 1, "learning_rate": 1e-2}

both = pytest.mark.parametrize("kind", RECIPES)


def easy(size: int, seed: int = 0) -> list[Example]:
    """Pairs of few words, in which one word decides."""
    return list(pairs(size, seed=seed, deciding=("object",), scenes=1, details=0))


@pytest.fixture
def config(tmp_path: Path):
    def make(kind: str, **options: Any) -> Any:
        return RECIPES[kind].Config(**{"out": tmp_path / kind, **SMALL, **options})

    return make


def trained(kind: str, config: Any, train: Any = None, dev: Any = None, **options: Any) -> Path:
    given = (easy(24) if train is None else train, easy(9, seed=1) if dev is None else dev)
    return RECIPES[kind].train(config, *given, **{"labels": PAIR_LABELS, **options})


def record(out: Path) -> dict[str, Any]:
    return json.loads((out / "rationales.json").read_text())


def same(one: Path, other: Path) -> bool:
    first, second = (load_file(out / "model.safetensors") for out in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def compared(size: int, seed: int = 0) -> list[Example]:
    """Whether two texts name the same colour; neither tells it by itself, and all else is drawn by chance."""
    drawn, examples = random.Random(seed), []
    for number in range(size):
        colours = ("red", "blue", "green", "black")
        first = drawn.choice(colours)
        second = first if number % 2 else drawn.choice([colour for colour in colours if colour != first])
        texts = []
        for colour in (first, second):
            words = drawn.choices(("the", "a", "coat", "is", "on", "table"), k=drawn.randint(1, 5))
            words.insert(drawn.randint(0, len(words)), colour)
            texts.append(" ".join(words))
        examples.append(Example(f"{seed}-{number}", tuple(texts), number % 2))
    return examples


@both
def test_learns_what_it_takes_both_texts_to_know_and_leaves_a_model_that_loads(config, kind: str) -> None:
    options = config(kind, hidden=24, vector_size=12, epochs=5, dropout=0.0)
    out = trained(kind, options, compared(400), compared(60, seed=1), labels=("differs", "same"))
    assert record(out)["best_score"] > 0.9
    files = {entry.name for entry in out.iterdir()}
    assert files == {"config.json", "model.safetensors", "rationales.json", "tokenizer.json", "tokenizer_config.json"}

    model = load(out, device="cpu")
    assert isinstance(model, PairClassifier)
    assert (model.labels, model.architecture.kind) == (("differs", "same"), kind)
    assert model.params["dropout"] == 0.0
    unseen = compared(60, seed=2)
    with torch.no_grad():
        predicted = model.logits(model.encode(unseen)).argmax(-1).tolist()
    assert sum(one == example.label for one, example in zip(predicted, unseen, strict=True)) > 54


@both
def test_what_is_trained_is_what_the_model_computes(config, kind: str) -> None:
    """Training reads each text by itself; the saved model finds both in one row."""
    task = read_task(pairs(20, seed=0), easy(9), PAIR_LABELS)
    model = new_model(kind, config(kind), task)
    model.network.eval()
    rows = Pairs(model, task.train, "training", torch.device("cpu"), warn=False)
    assert rows.lengths == [len(model.encode([example]).ids[0]) for example in task.train.examples]
    with torch.no_grad():
        for some in ([3], [17, 2, 2, 9], list(range(20))):
            logits, targets = answers(model.network, rows, some)
            wanted = model.logits(model.encode([task.train.examples[row] for row in some]))
            assert torch.allclose(logits, wanted, atol=1e-6)
            assert targets.tolist() == [task.train.examples[row].label for row in some]


@both
def test_a_stopped_run_ends_bit_for_bit_like_a_whole_one(config, tmp_path: Path, monkeypatch, kind: str) -> None:
    whole = trained(kind, config(kind, epochs=3))
    resumed = config(kind, epochs=3, out=tmp_path / "resumed")
    gathered, calls = pair_training.gathered, []

    def stopped_in_second_epoch(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return gathered(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(pair_training, "gathered", stopped_in_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            trained(kind, resumed)
    with pytest.raises(ModelError, match="its training is not finished"):
        load(resumed.out)
    torch.rand(7)  # whatever else happens in the process
    trained(kind, resumed)
    assert same(whole, resumed.out)
    assert [e["loss"] for e in record(whole)["epochs"]] == [e["loss"] for e in record(resumed.out)["epochs"]]


@both
def test_the_seed_decides_everything(config, tmp_path: Path, kind: str) -> None:
    first, second, other = (
        trained(kind, config(kind, seed=seed, out=tmp_path / name))
        for name, seed in (("first", 4), ("second", 4), ("other", 5))
    )
    assert same(first, second)
    assert not same(first, other)


def test_texts_are_tokenised_once(config, monkeypatch) -> None:
    encode, seen = PairClassifier.encode, []
    monkeypatch.setattr(
        PairClassifier, "encode", lambda self, examples, **more: seen.extend(examples) or encode(self, examples, **more)
    )
    trained("da", config("da", epochs=3))
    assert len(seen) == 24 + 9


class TestVectors:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        """Words of the pairs, and some that none of them has; "Paris", "u.s." and "[PAD]" no text can have."""
        path = tmp_path / "glove.txt"
        words = ["the", "Paris", "zebra", "u.s.", "[PAD]", "a", "is", "red", "blue", "coat", "gnu"]
        path.write_text("".join(f"{word} {number}.5 -{number} 1\n" for number, word in enumerate(words)))
        return path

    def trained(self, kind: str, config: Any) -> PairClassifier:
        return load(trained(kind, config, compared(24), compared(8, seed=1), labels=None), device="cpu")

    @both
    def test_of_a_file_are_left_as_they_are(self, config, file: Path, kind: str) -> None:
        model = self.trained(kind, config(kind, vectors=str(file), freeze_vectors=True, more_words=0))
        assert model.architecture.vector_size == 3
        known, weight = model.tokenizer.get_vocab(), model.network.vectors.weight
        assert set(known) == {"[PAD]", "[UNK]", "the", "a", "is", "red", "blue", "coat"}
        assert weight[known["the"]].tolist() == [0.5, 0, 1]
        assert weight[known["coat"]].tolist() == [9.5, -9, 1]
        assert not weight[:2].any()

    @both
    def test_may_learn_too(self, config, file: Path, kind: str) -> None:
        model = self.trained(kind, config(kind, vectors=str(file), freeze_vectors=False, more_words=11))
        known, weight = model.tokenizer.get_vocab(), model.network.vectors.weight
        assert weight[known["the"]].tolist() != [0.5, 0, 1]
        assert weight[known["zebra"]].tolist() == [2.5, -2, 1], "no text has it"
        assert not weight[known["[PAD]"]].any()

    def test_more_words_are_those_at_the_beginning_that_texts_can_have(self, config, file: Path) -> None:
        model = self.trained("da", config("da", vectors=str(file), more_words=5))
        known = model.tokenizer.get_vocab()
        assert set(known) == {"[PAD]", "[UNK]", "the", "zebra", "a", "is", "red", "blue", "coat"}
        assert model.network.vectors.weight[known["zebra"]].tolist() == [2.5, -2, 1]
        batch = model.encode([Example("x", ("The Zebra", "a gnu"))])
        assert batch.ids[0].tolist() == [known["the"], known["zebra"], known["a"], known["[UNK]"]]

    @both
    def test_without_a_file_words_of_the_training_texts_are_known_and_no_others(self, config, kind: str) -> None:
        dev = [*compared(8, seed=1), Example("new", ("the zebra", "a gnu"), 1)]
        model = load(trained(kind, config(kind), compared(24), dev, labels=None), device="cpu")
        words = {word for example in compared(24) for text in example.texts for word in text.split()}
        assert set(model.tokenizer.get_vocab()) == {"[PAD]", "[UNK]", *words}
        assert not model.network.vectors.weight[:2].any()

    def test_a_file_that_fits_badly_or_not(self, config, tmp_path: Path) -> None:
        path = tmp_path / "few.txt"
        path.write_text("a 1 2\nzebra 3 4\n")
        with pytest.warns(
            UserWarning, match=r"only \d+% of the words of these texts have a vector in .*few.txt"
        ) as said:
            self.trained("da", config("da", vectors=str(path)))
        assert said[0].filename == __file__
        path.write_text("zebra 3 4\n")
        with pytest.raises(DataError, match="none of the words"):
            self.trained("da", config("da", vectors=str(path), more_words=0, out=tmp_path / "other"))
        with pytest.raises(DataError, match="no such file of word vectors"):
            self.trained("da", config("da", vectors=str(tmp_path / "nowhere.txt"), out=tmp_path / "other"))


@both
class TestBadInput:
    def test_single_texts(self, config, kind: str) -> None:
        single = [*easy(6), Example("alone", ("a boy",), 1)]
        options = config(kind)
        with pytest.raises(InputError, match=rf"{kind} compares two texts, and training example 'alone' is one"):
            trained(kind, options, single)
        with pytest.raises(InputError, match=r"dev example 'alone' is one; .*--pair-column"):
            trained(kind, options, dev=single)
        assert not options.out.exists()

    def test_numbers(self, config, kind: str) -> None:
        scored = [Example(each.id, each.texts, each.label / 4) for each in easy(9)]
        with pytest.raises(InputError, match=f"{kind} tells classes apart; these labels are numbers"):
            trained(kind, config(kind), scored, scored, labels=None)

    def test_an_empty_side_is_learned_from_like_any_other(self, config, kind: str) -> None:
        empty = [Example(f"empty {number}", (text, ""), number) for number, text in enumerate(("a boy", "", "girl"))]
        out = trained(kind, config(kind), [*easy(9), empty[0], empty[2]], [empty[0], empty[2]])
        assert 0 <= record(out)["best_score"] <= 1
        with pytest.raises(InputError, match="'empty 1' has no tokens"):
            trained(kind, config(kind, overwrite=True), [*easy(9), empty[1]])

    def test_only_empty_sides(self, config, kind: str) -> None:
        half = [Example(each.id, (each.texts[0], ""), each.label) for each in easy(9)]
        assert trained(kind, config(kind), half, half)

    def test_long_pairs_are_counted(self, config, kind: str) -> None:
        with pytest.warns(UserWarning, match="texts were longer than 6 tokens") as caught:
            trained(kind, config(kind, max_length=6))
        assert [str(warning.message).split(":")[0] for warning in caught] == ["training data", "dev data"]

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            ({"hidden": 0}, "hidden must be at least 1, got 0"),
            ({"vector_size": 0}, "vector_size must be at least 1"),
            ({"more_words": -1}, "more_words must be at least 0"),
            ({"max_length": 1}, "max_length must be at least 2"),
            ({"dropout": 1.0}, "dropout must lie between 0 and below 1"),
            ({"dropout": float("nan")}, "dropout must lie between 0 and below 1"),
            ({"epochs": 0}, "epochs must be a number from 1 up"),
        ],
    )
    def test_options(self, config, kind: str, option: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            config(kind, **option)

    def test_answers_that_are_no_numbers(self, config, monkeypatch, kind: str) -> None:
        monkeypatch.setattr(pair_training, "gathered", lambda *_: torch.full((9, 3), torch.nan))
        with pytest.raises(ModelError, match="NaN or infinity to dev texts; use a lower learning_rate"):
            trained(kind, config(kind))


def test_bfloat16(config) -> None:
    out = trained("esim", config("esim", precision="bf16"))
    assert {tensor.dtype for tensor in load_file(out / "model.safetensors").values()} == {torch.float32}


def test_an_epoch_is_logged(config, caplog) -> None:
    with caplog.at_level(logging.INFO, "rationales.train"):
        trained("da", config("da"))
    assert "epoch 1 of 1: loss" in caplog.text


class TestCommand:
    @both
    def test_trains_and_says_what_to_try(self, call, tmp_path: Path, kind: str) -> None:
        out = tmp_path / "model"
        sizes = ("--hidden", "8", "--vector-size", "8", "--epochs", "1", "--max-length", "64")
        code, shown, said = call("train", kind, "--data", "planted-pairs", "--limit", "20", "--out", str(out), *sizes)
        assert (code, shown.strip()) == (0, str(out))
        hint = f'rationales explain --model {out} "first text" --pair "second text" --method arec'
        assert hint in said
        code, shown, _ = call(
            "explain", "--model", str(out), "A boy eats.", "--pair", "A child eats.", "--method", "random"
        )
        assert code == 0
        code, _, said = call("explain", "--model", str(out), "A boy eats.")
        assert code == 2
        assert "compares two texts" in said

    @both
    def test_help(self, call, kind: str) -> None:
        code, shown, _ = call("train", kind, "--help")
        assert code == 0
        for word in ("--vectors", "--freeze-vectors", "--more-words", "--method arec"):
            assert word in shown

    @both
    def test_single_texts(self, call, tmp_path: Path, kind: str) -> None:
        code, _, said = call(
            "train", kind, "--data", "planted-reviews", "--limit", "20", "--out", str(tmp_path / "out")
        )
        assert code == 2
        assert f"{kind} compares two texts" in said


def test_recipes_are_alike() -> None:
    """What a user knows of one recipe holds for the other."""
    modules: list[ModuleType] = [da, esim]
    one, other = (set(vars(module.Config())) for module in modules)
    assert one == other

    def test_says_that_nothing_was_learned(self, call, tmp_path: Path) -> None:
        small = ("--limit", "30", "--epochs", "1", "--hidden", "4", "--vector-size", "4")
        code, _, said = call("train", "da", "--data", "planted-pairs", *small, "--out", str(tmp_path / "model"))
        assert code == 0
        assert "hardly better than always giving the commonest label" in said
