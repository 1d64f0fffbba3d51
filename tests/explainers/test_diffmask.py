"""DiffMask: links from trained gates, alone and among others; gates as files; and gates that do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tiny
from planted_links import LABELS, deciding, planted_model, planted_pairs
from rationales.data import Example
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.explainers import DiffMask, aligners
from rationales.explainers.alignment import cells
from rationales.explainers.diffmask import Design, Gates
from rationales.explanation import Explanation
from rationales.models import Model, TransformersClassifier


def saved(directory: Path, model: Model, *, size: int) -> str:
    """Gates with random weights, which keep some links and not others."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gates = Gates(Design(size, 6, model.name, model.labels), start=0.0)
        with torch.no_grad():
            gates.outer.weight.mul_(5)
    gates.save_pretrained(directory)
    return str(directory)


@pytest.fixture(scope="module")
def bert() -> TransformersClassifier:
    return tiny.classifier()


@pytest.fixture(scope="module")
def of_bert(tmp_path_factory: pytest.TempPathFactory, bert: TransformersClassifier) -> str:
    return saved(tmp_path_factory.mktemp("gates"), bert, size=16)


def pairs() -> list[Example]:
    return [*tiny.pairs(), *(example for example in tiny.crowd() if len(example.texts) == 2)]


def same(one: Explanation, other: Explanation) -> None:
    assert one.body.weights.shape == other.body.weights.shape
    assert np.abs(one.body.weights - other.body.weights).max() < 1e-5
    assert np.array_equal(one.body.keep, other.body.keep)
    assert one.checks == pytest.approx(other.checks, abs=1e-5)


class TestLinks:
    def test_a_pair_alone_has_the_links_it_has_among_others(self, bert: TransformersClassifier, of_bert: str) -> None:
        method = DiffMask(gates=of_bert)
        among = method(bert, bert.encode(pairs()))
        for example, explanation in zip(pairs(), among, strict=True):
            same(method(bert, bert.encode([example]))[0], explanation)
        kept = [explanation.body.keep.mean() for explanation in among]
        assert 0.1 < np.mean(kept) < 0.9

    def test_a_small_budget_and_padding_on_the_left_change_nothing(self, tmp_path: Path) -> None:
        model, small, left = (
            tiny.classifier("llama", **options) for options in ({}, {"budget": 30}, {"padding": "left"})
        )
        method = DiffMask(gates=saved(tmp_path, model, size=16))
        whole = method(model, model.encode(pairs()))
        for other in (small, left):
            for one, explanation in zip(whole, method(other, other.encode(pairs())), strict=True):
                same(one, explanation)

    def test_checks_are_those_of_the_kept_links(self, bert: TransformersClassifier, of_bert: str) -> None:
        for example, explanation in zip(pairs(), DiffMask(gates=of_bert)(bert, bert.encode(pairs())), strict=True):
            assert np.array_equal(explanation.body.keep, explanation.body.weights > 0)
            batch = bert.encode([example])
            with torch.no_grad():
                plain = bert.logits(batch)[0]
                found = bert.logits(batch, torch.tensor(explanation.body.keep).float().unsqueeze(0))[0]
            assert explanation.checks["fidelity"] == pytest.approx(float((found - plain).norm()), abs=1e-5)
            assert explanation.checks["same_answer"] == (found.argmax() == plain.argmax())

    def test_attention_that_is_guided(self, of_bert: str) -> None:
        """Links that are not allowed anyway do not count, in texts of any length."""
        model = tiny.classifier(budget=30)
        batch = model.encode(pairs())
        allowed = torch.rand(cells(batch).shape, generator=torch.Generator().manual_seed(0)).round()
        found = DiffMask(gates=of_bert)(model, replace(batch, alignment=allowed))
        for row, (example, explanation) in enumerate(zip(pairs(), found, strict=True)):
            alone = model.encode([example])
            own = allowed[row, : explanation.body.keep.shape[0], : explanation.body.keep.shape[1]].unsqueeze(0)
            with torch.no_grad():
                plain = model.logits(alone, own)[0]
                left = model.logits(alone, own * torch.tensor(explanation.body.keep))[0]
            assert explanation.checks["fidelity"] == pytest.approx(float((left - plain).norm()), abs=1e-5)

    def test_gates_that_know_the_planted_words_keep_the_one_link(self, tmp_path: Path) -> None:
        """Weights written by hand: a hidden unit for each link that decides."""
        model = planted_model()
        size = model.architecture.vector_size
        effects = model.network.reader.effects.amax(0)
        decisive = torch.nonzero(effects).tolist()
        gates = Gates(Design(size, len(decisive), model.name, LABELS), start=0.0)
        with torch.no_grad():
            for tensor in gates.parameters():
                tensor.zero_()
            for unit, (first, second) in enumerate(decisive):
                gates.inner.weight[unit, first] = 1  # p
                gates.inner.weight[unit, size + second] = 1  # h
                gates.inner.bias[unit] = -1.5
            gates.outer.weight.fill_(1.0)
            gates.outer.bias.fill_(0.9051 * (len(decisive) - 1))  # tanh(-1.5) of the units that do not speak
        gates.save_pretrained(tmp_path)
        examples = planted_pairs(20)
        for example, explanation in zip(
            examples, DiffMask(gates=str(tmp_path))(model, model.encode(examples)), strict=True
        ):
            best = np.unravel_index(explanation.body.weights.argmax(), explanation.body.weights.shape)
            assert best == deciding(example)

    def test_the_hidden_layer_sees_both_words_their_difference_and_their_product(self) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            gates = Gates(Design(3, 4, "m", ("a",))).double()
            first, second = torch.randn(2, 5, 3, dtype=torch.float64), torch.randn(2, 4, 3, dtype=torch.float64)
        one, other = first.unsqueeze(2).expand(2, 5, 4, 3), second.unsqueeze(1).expand(2, 5, 4, 3)
        features = torch.cat([one, other, one - other, one * other], -1)
        wanted = gates.outer(torch.tanh(gates.inner(features))).squeeze(-1)
        assert torch.allclose(gates(first, second), wanted, atol=1e-12)

    def test_a_label_cannot_be_chosen(self, bert: TransformersClassifier, of_bert: str) -> None:
        with pytest.raises(InputError, match="diffmask explains a model's whole answer"):
            DiffMask(gates=of_bert)(bert, bert.encode(tiny.pairs()), 1)


class TestFiles:
    def test_what_was_saved_comes_back(self, tmp_path: Path) -> None:
        gates = Gates(Design(4, 3, "some/model", ("yes", "no")), params={"weight": 0.2})
        gates.scale.fill_(0.25)
        gates.save_pretrained(tmp_path / "new" / "place")
        loaded = Gates.from_pretrained(tmp_path / "new" / "place")
        assert loaded.design == gates.design
        assert loaded.params == {"weight": 0.2}
        assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in gates.state_dict().items())
        assert json.loads((tmp_path / "new" / "place" / "config.json").read_text())["model_type"] == "diffmask"

    def test_no_gates(self) -> None:
        with pytest.raises(InputError, match=r"needs gates .*: rationales train diffmask --model MODEL .*gates=GATES"):
            aligners["diffmask"]()

    def test_no_such_directory(self, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match=r"there is no directory .*nowhere with gates; train some: rationales train"
        ):
            DiffMask(gates=str(tmp_path / "nowhere"))

    def test_something_else_is_there(self, tmp_path: Path, bert: TransformersClassifier) -> None:
        with pytest.raises(ModelError, match=r"it holds no config\.json"):
            DiffMask(gates=str(tmp_path))
        bert.save_pretrained(tmp_path)
        with pytest.raises(ModelError, match="holds a bert and no gates; train some for it"):
            DiffMask(gates=str(tmp_path))

    def test_damaged(self, tmp_path: Path, bert: TransformersClassifier) -> None:
        directory = saved(tmp_path, bert, size=16)
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "design": {**config["design"], "hidden": 7}}))
        with pytest.raises(ModelError, match="its config and its weights do not go together"):
            DiffMask(gates=directory)
        (tmp_path / "config.json").write_text(json.dumps({**config, "design": {"hidden": 7}}))
        with pytest.raises(ModelError, match=r"its config\.json is damaged"):
            DiffMask(gates=directory)
        (tmp_path / "config.json").write_text(json.dumps(config))
        weights = (tmp_path / "model.safetensors").read_bytes()
        (tmp_path / "model.safetensors").write_bytes(weights[: len(weights) // 2])
        with pytest.raises(ModelError, match="its weights are damaged"):
            DiffMask(gates=directory)


class TestFit:
    def test_vectors_of_another_size(self, tmp_path: Path, bert: TransformersClassifier) -> None:
        method = DiffMask(gates=saved(tmp_path, bert, size=20))
        with pytest.raises(
            InputError, match=r"of 20 numbers, and those of .* have 16; train some for it: rationales train"
        ):
            method(bert, bert.encode(tiny.pairs()))

    def test_another_model(self, tmp_path: Path, bert: TransformersClassifier, of_bert: str) -> None:
        other = TransformersClassifier(tiny.network(seed=1), tiny.tokenizer(), name="other")
        with pytest.warns(UserWarning, match=r"trained on .*Bert.*, and this model is other; unless") as heard:
            DiffMask(gates=of_bert)(other, other.encode(tiny.pairs()))
        assert [each.filename for each in heard] == [__file__]
        fewer = TransformersClassifier(tiny.network(labels=2), tiny.tokenizer(), name=bert.name)
        with pytest.raises(
            InputError, match=r"LABEL_2\), and this model is .*LABEL_1\); train some for it: rationales"
        ):
            DiffMask(gates=of_bert)(fewer, fewer.encode(tiny.pairs()))

    def test_gates_in_the_same_directory_are_told_apart(self, tmp_path: Path, bert: TransformersClassifier) -> None:
        first = DiffMask(gates=saved(tmp_path, bert, size=16))
        again = DiffMask(gates=saved(tmp_path, bert, size=16))
        with torch.random.fork_rng():
            Gates(Design(16, 6, bert.name, bert.labels), start=1.0).save_pretrained(tmp_path)
        assert first.fingerprint == again.fingerprint != DiffMask(gates=tmp_path).fingerprint

    def test_single_texts(self, bert: TransformersClassifier, of_bert: str) -> None:
        with pytest.raises(InputError, match="diffmask links the words of two texts, and '0' is one"):
            DiffMask(gates=of_bert)(bert, bert.encode(tiny.singles()))

    def test_a_model_without_word_vectors(self, bert: TransformersClassifier, of_bert: str) -> None:
        class Closed:
            def __init__(self) -> None:
                for name in ("name", "labels", "budget", "regression", "max_length", "encode", "logits"):
                    setattr(self, name, getattr(bert, name))
                for name in ("probabilities", "erase", "borrowed", "coattention"):
                    setattr(self, name, getattr(bert, name))

        with pytest.raises(MissingCapability, match="needs an EmbeddedCoAttentive model; Closed has no embed"):
            DiffMask(gates=of_bert)(Closed(), bert.encode(tiny.pairs()))
