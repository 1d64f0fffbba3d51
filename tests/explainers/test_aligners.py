"""What holds for every method that links the tokens of two texts, on every kind of model.

A new one is tested here as soon as it is registered. `QUICK` gives options that make a slow one quick.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from one_pair import exact, network_of, weights
from test_contract import BlackBox, Boom, fingerprint, unchanged
from torch import Tensor, nn

import rationales
import tiny
from rationales.data import Example
from rationales.errors import InputError, MissingCapability, QualityWarning
from rationales.explainers import Aligner, aligners, explainers
from rationales.explainers.diffmask import Design, Gates
from rationales.explanation import Explanation, Explanations
from rationales.models import resolve_targets

QUICK: dict[str, dict[str, Any]] = {
    "arec": {"steps": 3, "samples": 2},
    "link_integrated_gradients": {"steps": 3, "tolerance": 100.0},
    "link_lime": {"samples": 20},
}
WHOLE_ANSWER = {"arec", "diffmask"}  # they explain the answer and no single label
ANY_LABEL = {"coattention", "link_random"}  # the same whatever the label
STOCHASTIC = {"arec", "link_lime", "link_random"}
ONE_FACE = {"arec", "diffmask", "link_lime"}  # an optimisation, a trained network and a fit have no graph
WITHOUT_PASSES = {"link_random"}
KINDS = ("da", "esim", "bert")

every = pytest.mark.parametrize("name", list(aligners))
all_kinds = pytest.mark.parametrize("kind", KINDS)

PAIRS = (
    Example("a", ("the soup was tasty", "good food")),
    Example("b", ("bad", "they hated it")),
    Example("c", ("rude", "rude")),
    Example("d", ("so so good", "so so bad")),
    Example("e", ("we came back again and again", "never")),
    Example("f", ("clean room", "dirty view")),
)


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], str]:
    """Gates with random weights for a model, in a directory."""
    made: dict[tuple[str, int], str] = {}

    def of(model: Any) -> str:
        size = model.embed(model.encode(PAIRS[:1])).shape[-1]
        if (model.name, size) not in made:
            with torch.random.fork_rng():
                torch.manual_seed(0)
                network = Gates(Design(size, 4, model.name, model.labels), start=0.0)
            made[model.name, size] = str(tmp_path_factory.mktemp("gates"))
            network.save_pretrained(made[model.name, size])
        return made[model.name, size]

    return of


@pytest.fixture
def quick(gates: Callable[[Any], str]) -> Callable[..., Aligner]:
    def method(name: str, model: Any, **options: Any) -> Aligner:
        own = {"gates": gates(model)} if name == "diffmask" else QUICK.get(name, {})
        made = aligners[name](**own | options)
        assert isinstance(made, Aligner)
        return made

    return method


def same(left: Explanations, right: Explanations, tolerance: float = 1e-6) -> None:
    assert [one.id for one in left] == [other.id for other in right]
    for one, other in zip(left, right, strict=True):
        assert (one.tokens, one.target.index) == (other.tokens, other.target.index)
        mine, theirs = weights(one), weights(other)
        assert mine.shape == theirs.shape
        assert np.isfinite(mine).all()
        assert np.abs(mine - theirs).max() <= tolerance * max(1.0, np.abs(mine).max())
        assert (one.body.keep is None) == (other.body.keep is None)
        assert one.body.keep is None or np.array_equal(one.body.keep, other.body.keep)
        assert dict(one.checks) == pytest.approx(dict(other.checks), abs=tolerance)


def test_the_registry_holds_what_the_package_promises() -> None:
    assert set(aligners) >= {
        *("arec", "coattention", "diffmask", "link_leave_one_out", "link_backselect", "link_lime", "link_gradient"),
        *("link_integrated_gradients", "link_random"),
    }
    assert not set(aligners) & set(explainers)


class TestBatches:
    @every
    @all_kinds
    def test_a_pair_alone_as_among_others_in_any_order(self, kind: str, name: str, quick: Any) -> None:
        model = exact(kind)
        method = quick(name, model, **({} if name in WHOLE_ANSWER else {"within": 0.3}))
        among = method(model, model.encode(PAIRS))
        same(among, Explanations(list(method(model, model.encode(PAIRS[::-1])))[::-1]))
        same(among, Explanations(method(model, model.encode([pair]))[0] for pair in PAIRS))
        assert [weights(found).shape for found in among] == [
            tuple(sum(token.segment == side for token in found.tokens) for side in (0, 1)) for found in among
        ]

    @every
    def test_padding_on_the_left_changes_nothing(self, name: str, quick: Any) -> None:
        right, left = exact("llama"), exact("llama", padding="left")
        found = [quick(name, model)(model, model.encode(PAIRS)) for model in (right, left)]
        same(*found)

    @every
    @all_kinds
    def test_memory_that_runs_out_or_is_small_changes_nothing(self, kind: str, name: str, quick: Any) -> None:
        wanted = quick(name, exact(kind))(exact(kind), exact(kind).encode(PAIRS))
        small = exact(kind, budget=30)
        same(wanted, quick(name, small)(small, small.encode(PAIRS)))
        model, raised = tiny.coattentive(kind), []
        network = network_of(model).double()

        def full(_module: nn.Module, given: tuple[Tensor]) -> None:
            if given[0].numel() > 40:
                raised.append(1)
                raise torch.OutOfMemoryError("too many tokens")

        inputs = network.vectors if hasattr(network, "vectors") else network.get_input_embeddings()
        inputs.register_forward_pre_hook(full)
        same(wanted, quick(name, model)(model, model.encode(PAIRS)))
        assert raised


class TestDeterminism:
    @every
    def test_twice_the_same_and_no_global_generator_is_touched(self, name: str, quick: Any) -> None:
        model = exact("bert")
        method, batch = quick(name, model), model.encode(PAIRS)
        before = torch.get_rng_state(), np.random.get_state(), random.getstate()
        one = method(model, batch)
        after = torch.get_rng_state(), np.random.get_state(), random.getstate()
        assert torch.equal(before[0], after[0])
        assert all(np.array_equal(a, b) for a, b in zip(before[1], after[1], strict=True))
        assert before[2] == after[2]
        torch.rand(3), np.random.rand(3), random.random()
        same(one, method(model, batch), 0.0)

    @every
    def test_those_with_a_seed_differ_by_it(self, name: str, quick: Any) -> None:
        seeded = "seed" in {field.name for field in dataclasses.fields(aligners[name])}
        assert seeded == (name in STOCHASTIC)
        if seeded:
            model = exact("bert")
            one, other = (quick(name, model, seed=seed)(model, model.encode(PAIRS[:1]))[0] for seed in (0, 1))
            assert (one.provenance.seed, other.provenance.seed) == (0, 1)
            assert not np.allclose(weights(one), weights(other))


def disorderly(kind: str) -> Any:
    """A model with mixed modes, mixed `requires_grad`, gradients and a hook of the user's."""
    model = tiny.coattentive(kind)
    network = network_of(model).double()
    for number, module in enumerate(network.modules()):
        module.training = number % 2 == 0
    for number, parameter in enumerate(network.parameters()):
        parameter.requires_grad_(number % 3 != 0)
        if number % 4 == 1:
            parameter.grad = torch.full_like(parameter, float(number))
    network.register_forward_hook(lambda *_: None)
    return model


class TestBorrowing:
    @every
    @all_kinds
    def test_the_model_comes_back_as_it_was_even_when_it_raises(self, kind: str, name: str, quick: Any) -> None:
        """Its embedding is used in each pass; it raises at the first, then at the second, and so on."""
        model = disorderly(kind)
        network, calls = network_of(model), [0, 0]

        def explode(*_: Any) -> None:
            calls[0] += 1
            if calls[0] == calls[1]:
                raise Boom

        inputs = network.vectors if hasattr(network, "vectors") else network.get_input_embeddings()
        inputs.register_forward_hook(explode)
        method, batch, before = quick(name, model), model.encode(PAIRS[:3]), fingerprint(network)
        for calls[1] in (1, 2, 3, 4, 0):  # and at last not at all
            calls[0] = 0
            try:
                found = method(model, batch)
            except Boom:
                assert calls[1]
            unchanged(before, fingerprint(network))
        assert calls[0] > (0 if name in WITHOUT_PASSES else 1)
        same(found, quick(name, exact(kind))(exact(kind), exact(kind).encode(PAIRS[:3])))

    @every
    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_works_without_gradients_around_it(self, mode: Any, name: str, quick: Any) -> None:
        model = exact("esim")
        method = quick(name, model)
        wanted = method(model, model.encode(PAIRS))
        with mode():
            same(wanted, method(model, model.encode(PAIRS)), 0.0)


class TestResult:
    @every
    def test_files_round_trip(self, name: str, quick: Any, tmp_path: Path) -> None:
        model = exact("bert")
        method = quick(name, model, **({} if name in WHOLE_ANSWER else {"within": 0.3}))
        found = method(model, model.encode(PAIRS))
        found.save(tmp_path / "e.parquet")
        found.to_jsonl(tmp_path / "e.jsonl")
        for back in (Explanations.load(tmp_path / "e.parquet"), Explanations.from_jsonl(tmp_path / "e.jsonl")):
            same(found, back, 0.0)
            for one, other in zip(found, back, strict=True):
                assert (one.texts, one.target, one.provenance) == (other.texts, other.target, other.provenance)
        made = found[0].provenance
        assert made.method == name == method.name
        assert dict(made.params) == dataclasses.asdict(method)
        assert made.version == rationales.__version__

    @every
    def test_the_target_is_the_predicted_class_or_any_other(self, name: str, quick: Any) -> None:
        model = exact("da")
        method, batch = quick(name, model), model.encode(PAIRS)
        with torch.no_grad():
            wanted = model.probabilities(model.logits(batch))
        predicted = method(model, batch)
        assert [found.target.index for found in predicted] == wanted.argmax(-1).tolist()
        assert [found.target.score for found in predicted] == pytest.approx(wanted.amax(-1).tolist())
        if name in WHOLE_ANSWER:
            with pytest.raises(InputError, match="leave out the target"):
                method(model, batch, 1)
            return
        one, other = (method(model, batch, target) for target in ("a", [1, 1, 1, 1, 1, 1]))
        assert {found.target.label for found in one} == {"a"}
        assert {found.target.label for found in other} == {"b"}
        alike = all(np.allclose(weights(a), weights(b)) for a, b in zip(one, other, strict=True))
        assert alike == (name in ANY_LABEL)

    @every
    @all_kinds
    def test_the_two_faces_agree(self, kind: str, name: str, quick: Any) -> None:
        module = import_module(f"rationales.explainers.{name}")
        assert hasattr(module, name) != (name in ONE_FACE)
        if name in ONE_FACE:
            return
        model = exact(kind)
        method, batch = quick(name, model), model.encode(PAIRS)
        function: Callable[..., Tensor] = getattr(module, name)
        names = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
        options = {key: value for key, value in dataclasses.asdict(method).items() if key in names}
        with model.borrowed():
            known = {"model": model, "batch": batch, "targets": resolve_targets(model, batch, None)}
            found = function(**{key: value for key, value in known.items() if key in names}, **options)
        for own, explanation in zip(found, method(model, batch), strict=True):
            first, second = weights(explanation).shape
            assert np.array_equal(own[:first, :second].numpy(), weights(explanation))
            assert float(own.abs().sum()) == pytest.approx(np.abs(weights(explanation)).sum())  # nothing in padding

    @pytest.mark.parametrize("name", sorted(set(aligners) - {"diffmask", "link_random"}))  # they look at words alone
    @all_kinds
    def test_links_that_the_user_cut_do_not_count(self, kind: str, name: str, quick: Any) -> None:
        model = exact(kind, budget=30)  # so that not all pairs are in one batch
        batch = model.encode(PAIRS)
        guided = torch.ones(model.coattention(batch).shape)
        guided[:, 0, 0] = 0
        found = quick(name, model)(model, dataclasses.replace(batch, alignment=guided))
        whole = quick(name, model)(model, batch)
        assert not all(np.allclose(weights(a), weights(b)) for a, b in zip(found, whole, strict=True))
        if name not in ("arec", "link_backselect", "link_lime"):  # these are not 0 of what does nothing
            assert all(weights(explanation)[0, 0] == pytest.approx(0, abs=1e-12) for explanation in found)


class TestBadInput:
    @every
    def test_one_text(self, name: str, quick: Any) -> None:
        model = exact("bert")
        with pytest.raises(InputError, match=f"{name} links the words of two texts, and 'x' is one; give it pairs"):
            quick(name, model)(model, model.encode([*PAIRS[:1], Example("x", ("good",))]))

    @every
    @pytest.mark.parametrize(("texts", "which"), [(("", "bad"), "first"), (("bad", "  "), "second")])
    def test_a_text_without_words(self, texts: tuple[str, str], which: str, name: str, quick: Any) -> None:
        model = exact("bert")
        with pytest.raises(InputError, match=f"the {which} text of '0' has no words, so there is no link"):
            rationales.explain(model, texts, quick(name, model))

    @every
    @all_kinds
    def test_texts_without_words_among_others(self, kind: str, name: str, quick: Any, tmp_path: Path) -> None:
        """They have no links, the others have theirs as ever, and all can be saved."""
        model = exact(kind)
        method = quick(name, model, **({} if name in WHOLE_ANSWER else {"within": 0.3}))
        some = [
            Example("x", ("we came back", " ")),
            *PAIRS[:2],
            Example("y", ("", "bad food")),
            Example("z", ("", "so")),
        ]
        message = (
            "^the second text of 'x' has no words, so there is no link; "
            "nor is there for the first text of 'y', the first text of 'z'$"
        )
        with pytest.warns(QualityWarning, match=message) as caught:
            found = list(method(model, model.encode(some)))
        assert [str(one.message) for one in caught if "has no words" not in str(one.message)] == []
        assert caught[0].filename == __file__
        assert [weights(found[row]).shape for row in (0, 3, 4)] == [(3, 0), (0, 2), (0, 1)]
        assert all(found[row].body.keep is None and found[row].target.index >= 0 for row in (0, 3, 4))
        same(Explanations(found[1:3]), method(model, model.encode(PAIRS[:2])))
        Explanations(found).save(tmp_path / "e.parquet")
        Explanations(found).to_jsonl(tmp_path / "e.jsonl")
        for back in (Explanations.load(tmp_path / "e.parquet"), Explanations.from_jsonl(tmp_path / "e.jsonl")):
            assert [weights(one).shape for one in back] == [weights(one).shape for one in found]

    @every
    def test_no_pair_with_words_in_both_texts(self, name: str, quick: Any) -> None:
        model = exact("da")
        with pytest.warns(QualityWarning, match=r"the first text of 'x' has no words.*the second text of 'y'"):
            found = quick(name, model)(model, model.encode([Example("x", ("", "bad")), Example("y", ("bad", ""))]))
        assert [(weights(one).shape, one.body.keep) for one in found] == [((0, 1), None), ((1, 0), None)]

    @every
    @all_kinds
    def test_one_word_each(self, kind: str, name: str, quick: Any) -> None:
        model = exact(kind)
        (found,) = quick(name, model)(model, model.encode([Example("x", ("soup", "food"))]))
        assert weights(found).shape == (1, 1)
        assert np.isfinite(weights(found)).all()

    @pytest.mark.parametrize("name", sorted(set(aligners) - WITHOUT_PASSES))
    @pytest.mark.parametrize("kind", ["deberta", "bart"])
    def test_attention_that_cannot_be_changed(self, kind: str, name: str, quick: Any) -> None:
        model = exact(kind)
        before = fingerprint(model.model)
        with pytest.raises(MissingCapability, match=type(model.model).__name__) as raised:
            quick(name, model)(model, model.encode(PAIRS))
        unchanged(before, fingerprint(model.model))
        working = listed(str(raised.value))
        assert {"gradient", "leave_one_out", "lime"} <= set(working)
        assert not {*aligners, "attention", "attention_rollout"} & set(working)
        for other in ("gradient", "backselect"):
            explainers[other]()(model, model.encode(PAIRS[:1]))

    @every
    def test_a_black_box(self, name: str, quick: Any) -> None:
        box: Any = BlackBox(exact("bert"))
        with pytest.raises(
            MissingCapability, match=rf"{name} needs an? \w*CoAttentive model; BlackBox has no coatt"
        ) as raised:
            quick(name, exact("bert"))(box, box.encode(PAIRS))
        assert listed(str(raised.value)) == ["backselect", "kernel_shap", "leave_one_out", "lime", "random"]

    def test_a_method_for_tokens_names_those_for_links_if_the_texts_are_pairs(self) -> None:
        model = exact("da")
        with pytest.raises(MissingCapability, match="needs an Attentive model") as raised:
            explainers["attention"]()(model, model.encode(PAIRS))
        working = set(listed(str(raised.value)))
        assert {"gradient", "link_gradient", "arec", "coattention"} <= working
        assert "attention_rollout" not in working
        bart = exact("bart")
        with pytest.raises(MissingCapability, match="decoder") as raised:
            explainers["attention"]()(bart, bart.encode(tiny.singles()))
        assert not set(aligners) & set(listed(str(raised.value)))

    @every
    @all_kinds
    def test_an_answer_that_is_no_number_stays_its_own_problem(self, kind: str, name: str, quick: Any) -> None:
        model = tiny.coattentive(kind)
        network = network_of(model).double()
        table = network.vectors if hasattr(network, "vectors") else network.get_input_embeddings()
        batch = model.encode([Example("x", ("the slow waiter", "was slow")), *PAIRS])
        method = quick(name, model, **({} if name in WHOLE_ANSWER else {"within": 0.3}))
        wanted = method(model, batch)
        with torch.no_grad():
            table.weight[model.tokenizer.convert_tokens_to_ids("slow")] = torch.nan
        with pytest.warns(QualityWarning, match=r"answers NaN or infinity to 1 of 7 texts \('x'\)") as caught:
            found = method(model, batch)
        assert caught[0].filename == __file__
        broken: Explanation = found[0]
        assert np.isnan(weights(broken)).all()
        assert broken.body.keep is None  # and not nothing, which would be as few links as can be
        assert (broken.target.index, broken.target.label) == (-1, "")
        same(Explanations(list(found)[1:]), Explanations(list(wanted)[1:]))


def listed(message: str) -> list[str]:
    """The methods that an error says do work."""
    return message.partition("Methods that work on it: ")[2].split(", ")
