"""What holds for every explainer in the registry, on every kind of model.

A new explainer is tested here as soon as it is registered. `QUICK` gives options that make a slow one quick.
"""

from __future__ import annotations

import dataclasses
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

import rationales
import tiny
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.explainers import Explainer, explainers
from rationales.explanation import Explanation, Explanations, Scores
from rationales.models import Attentive, Batch, Model, TransformersClassifier, predict, resolve_targets
from rationales.models.tap import _active

QUICK: dict[str, dict[str, Any]] = {
    "integrated_gradients": {"steps": 6, "tolerance": 100.0, "baseline": "mask"},
    "kernel_shap": {"samples": 30},
    "lime": {"samples": 30},
    "smoothgrad": {"samples": 4},
}
ATTENTIVE = {"attention", "attention_rollout", "scaled_attention"}
STOCHASTIC = {"kernel_shap", "lime", "random", "smoothgrad"}
ONE_FACE = {"kernel_shap", "lime"}  # a fit has no graph: there is nothing to differentiate
KINDS = ("bert", "llama")
MORE_KINDS = ("roberta", "distilbert", "modernbert", "deberta", "gpt2", "bart")
LEFT = ("llama", "gpt2")

every = pytest.mark.parametrize("name", list(explainers))
both = pytest.mark.parametrize("kind", KINDS)


def quick(name: str, **options: Any) -> Explainer:
    return explainers[name](**QUICK.get(name, {}) | options)


@cache
def model_of(kind: str, padding: str = "right") -> TransformersClassifier:
    return tiny.classifier(kind, padding=padding)


@cache
def explained(kind: str, name: str, padding: str = "right") -> Explanations:
    """A crowd of 64 texts and pairs, explained in one batch."""
    model = model_of(kind, padding)
    return quick(name)(model, model.encode(tiny.crowd()))


def runs_on(kind: str, name: str) -> bool:
    if name in ONE_FACE:
        return kind in KINDS  # slow, and all that they ask of a model is what backselect asks
    return name not in ATTENTIVE or kind not in ("deberta", "bart")


def values(explanation: Explanation) -> np.ndarray:
    assert isinstance(explanation.body, Scores)
    return explanation.body.values


def same(left: Explanations, right: Explanations, tolerance: float = 1e-5) -> None:
    assert [e.id for e in left] == [e.id for e in right]
    for one, other in zip(left, right, strict=True):
        assert one.tokens == other.tokens
        assert one.target.index == other.target.index
        for a, b in ((values(one), values(other)), (error_of(one), error_of(other))):
            assert np.isfinite(a).all()
            assert np.abs(a - b).max(initial=0) <= tolerance * max(1.0, np.abs(a).max(initial=0))


def error_of(explanation: Explanation) -> np.ndarray:
    error = explanation.body.standard_error
    return np.zeros(0) if error is None else error


def identical(left: Explanations, right: Explanations) -> None:
    same(left, right, 0.0)


def test_the_registry_holds_what_the_package_promises() -> None:
    assert set(explainers) >= {
        *("random", "attention", "scaled_attention", "attention_rollout", "gradient", "input_x_gradient"),
        *("integrated_gradients", "deeplift", "smoothgrad", "leave_one_out", "backselect", "lime", "kernel_shap"),
    }
    assert all(explainers[name]().name == name for name in explainers)


class TestBatches:
    @every
    @pytest.mark.parametrize("kind", [*KINDS, *MORE_KINDS])
    def test_a_text_alone_scores_as_among_63_others(self, kind: str, name: str) -> None:
        if not runs_on(kind, name):
            return
        model, among = model_of(kind), explained(kind, name)
        chosen = [0, 1, 2, 5, 12, 32, 38, 63]  # singles and pairs, short and long
        alone = [quick(name)(model, model.encode([tiny.crowd()[number]]))[0] for number in chosen]
        same(Explanations(alone), Explanations(among[number] for number in chosen))

    @every
    @pytest.mark.parametrize("kind", LEFT)
    def test_padding_on_the_left_changes_nothing(self, kind: str, name: str) -> None:
        if not runs_on(kind, name):
            return
        same(explained(kind, name), explained(kind, name, "left"))

    @every
    @both
    def test_neighbours_do_not_matter_in_any_order(self, kind: str, name: str) -> None:
        model, few = model_of(kind), tiny.crowd()[:9]
        forth = quick(name)(model, model.encode(few))
        back = quick(name)(model, model.encode(few[::-1]))
        same(forth, Explanations(list(back)[::-1]))

    @every
    def test_the_tokenizers_padding_side_changes_nothing(self, name: str) -> None:
        tokenizer = tiny.tokenizer.__wrapped__()
        tokenizer.padding_side = "left"
        model = TransformersClassifier(tiny.network("bert"), tokenizer)
        few = tiny.crowd()[:12]
        found = quick(name)(model, model.encode(few))
        identical(found, quick(name)(model_of("bert"), model_of("bert").encode(few)))
        assert tokenizer.padding_side == "left"

    @every
    @both
    def test_a_small_budget_gives_the_same(self, kind: str, name: str) -> None:
        few = tiny.crowd()[:12]
        whole, small = model_of(kind), tiny.classifier(kind, budget=40)
        same(quick(name)(whole, whole.encode(few)), quick(name)(small, small.encode(few)))

    @every
    @both
    def test_running_out_of_memory_gives_the_same(self, kind: str, name: str) -> None:
        few = tiny.crowd()[:12]
        model = tiny.classifier(kind)
        wanted = quick(name)(model, model.encode(few))
        raised = []

        def full(_module: nn.Module, given: tuple[Tensor]) -> None:
            if given[0].numel() > 70:
                raised.append(1)
                raise torch.OutOfMemoryError("too many tokens")

        handle = model.model.get_input_embeddings().register_forward_pre_hook(full)
        found = quick(name)(model, model.encode(few))
        handle.remove()
        assert raised
        same(wanted, found)

    def test_memory_that_holds_not_one_text_is_an_error(self) -> None:
        model = tiny.classifier()

        def full(*_: Any) -> None:
            raise torch.OutOfMemoryError("no room")

        model.model.base_model.register_forward_pre_hook(full)
        with pytest.raises(ModelError, match="one input of 6 tokens does not fit in memory"):
            quick("gradient")(model, model.encode([tiny.Example("a", ("the food was good",))]))


class TestDeterminism:
    @every
    @both
    def test_twice_the_same_and_no_global_generator_is_touched(self, kind: str, name: str) -> None:
        model = model_of(kind)
        batch = model.encode(tiny.crowd()[:6])
        before = torch.get_rng_state(), np.random.get_state(), random.getstate()
        one = quick(name)(model, batch)
        after = torch.get_rng_state(), np.random.get_state(), random.getstate()
        assert torch.equal(before[0], after[0])
        assert all(np.array_equal(a, b) for a, b in zip(before[1], after[1], strict=True))
        assert before[2] == after[2]
        torch.rand(3), np.random.rand(3), random.random()
        identical(one, quick(name)(model, batch))

    @every
    def test_those_with_a_seed_differ_by_it_and_record_their_error(self, name: str) -> None:
        seeded = "seed" in {field.name for field in dataclasses.fields(explainers[name])}
        assert seeded == (name in STOCHASTIC)
        if not seeded:
            return
        model = model_of("bert")
        batch = model.encode([tiny.singles()[0]])
        (one,), (other,) = (quick(name, seed=seed)(model, batch) for seed in (0, 1))
        assert one.provenance.seed == 0
        assert other.provenance.seed == 1
        assert not np.allclose(values(one), values(other))
        if name != "random":
            error = error_of(one)
            assert (error[one.content] > 0).all()


def fingerprint(network: PreTrainedModel) -> dict[str, Any]:
    """Everything of a model that must come back."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    configs = {id(m.config): m.config for m in network.modules() if isinstance(m, PreTrainedModel)}
    return {
        "state": {name: tensor.clone() for name, tensor in network.state_dict().items()},
        "training": [module.training for module in network.modules()],
        "requires_grad": [parameter.requires_grad for parameter in network.parameters()],
        "grad": [None if p.grad is None else p.grad.clone() for p in network.parameters()],
        "hooks": [len(getattr(module, kind)) for module in network.modules() for kind in hooks],
        "attention": [config._attn_implementation for config in configs.values()],
        "modules": [type(module) for module in network.modules()],
        "forwards": ["forward" in vars(module) for module in network.modules()],
        "softmax": (torch.softmax, nn.functional.softmax, nn.functional.scaled_dot_product_attention, Tensor.__mul__),
        "mode": torch.overrides._len_torch_function_stack(),
        "tap": _active.get(),
    }


def unchanged(before: Any, after: Any) -> None:
    assert type(before) is type(after)
    if isinstance(before, Tensor):
        assert torch.equal(before, after)
    elif isinstance(before, dict):
        assert before.keys() == after.keys()
        for key in before:
            unchanged(before[key], after[key])
    elif isinstance(before, list):
        assert len(before) == len(after)
        for left, right in zip(before, after, strict=True):
            unchanged(left, right)
    else:
        assert before == after


def disorderly(kind: str) -> TransformersClassifier:
    """A model with mixed modes, mixed `requires_grad`, gradients and a hook of the user's."""
    model = tiny.classifier(kind, attn_implementation="eager" if kind == "llama" else "sdpa")
    for number, module in enumerate(model.model.modules()):
        module.training = number % 2 == 0
    for number, parameter in enumerate(model.model.parameters()):
        parameter.requires_grad_(number % 3 != 0)
        if number % 4 == 1:
            parameter.grad = torch.full_like(parameter, float(number))
    model.model.base_model.register_forward_hook(lambda *_: None)
    return model


class Boom(Exception):
    pass


class TestBorrowing:
    @every
    @pytest.mark.parametrize("kind", [*KINDS, "gpt2", "modernbert"])
    def test_the_model_comes_back_as_it_was(self, kind: str, name: str) -> None:
        model = disorderly(kind)
        before = fingerprint(model.model)
        found = quick(name)(model, model.encode(tiny.crowd()[:6]))
        unchanged(before, fingerprint(model.model))
        same(
            found, quick(name)(model_of(kind), model_of(kind).encode(tiny.crowd()[:6]))
        )  # its disorder changed nothing

    @every
    @both
    def test_also_when_it_raises_anywhere(self, kind: str, name: str) -> None:
        """The embedding is used in each forward pass; it raises at its first use, at its second, and so on."""
        model = disorderly(kind)
        calls = [0, 0]

        def explode(*_: Any) -> None:
            calls[0] += 1
            if calls[0] == calls[1]:
                raise Boom

        model.model.get_input_embeddings().register_forward_hook(explode)
        before, batch, finished = fingerprint(model.model), model.encode(tiny.crowd()[:6]), False
        for calls[1] in range(1, 13):
            calls[0] = 0
            try:
                quick(name)(model, batch)
                finished = True
            except Boom:
                pass
            unchanged(before, fingerprint(model.model))
            if finished:
                break
        assert calls[1] > (1 if name == "random" else 2), "it never raised inside the method"

    @every
    @both
    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_works_without_gradients_around_it(self, mode: Any, kind: str, name: str) -> None:
        model = model_of(kind)
        wanted = quick(name)(model, model.encode(tiny.singles()))
        with mode():
            found = quick(name)(model, model.encode(tiny.singles()))
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()
        identical(wanted, found)


class TestResult:
    @every
    @both
    def test_files_round_trip(self, kind: str, name: str, tmp_path: Path) -> None:
        few = explained(kind, name)[:5]
        few.save(tmp_path / "e.parquet")
        few.to_jsonl(tmp_path / "e.jsonl")
        for back in (Explanations.load(tmp_path / "e.parquet"), Explanations.from_jsonl(tmp_path / "e.jsonl")):
            identical(few, back)
            for one, other in zip(few, back, strict=True):
                assert (one.texts, one.target, one.provenance) == (other.texts, other.target, other.provenance)
                assert dict(one.checks) == dict(other.checks)

    @every
    def test_provenance_says_who_and_how(self, name: str) -> None:
        explainer = quick(name)
        made = explained("bert", name)[0].provenance
        assert made.method == name
        assert dict(made.params) == dataclasses.asdict(explainer)
        assert made.model == model_of("bert").name == "BertForSequenceClassification"
        assert made.seed == (0 if name in STOCHASTIC else None)
        assert made.version == rationales.__version__

    @every
    @both
    def test_the_target_is_the_predicted_class_or_any_other(self, kind: str, name: str) -> None:
        model = model_of(kind)
        batch = model.encode(tiny.singles())
        with torch.no_grad():
            wanted = model.model.eval()(batch.ids, attention_mask=batch.keep.long()).logits.softmax(-1)
        for target in (None, 2, "LABEL_1", [0, 1, 2, 1, 0], torch.tensor([2, 2, 1, 0, 1])):
            found = quick(name)(model, batch, target)
            match target:
                case None:
                    indices = wanted.argmax(-1).tolist()
                case str():
                    indices = [1] * 5
                case int():
                    indices = [target] * 5
                case _:
                    indices = list(map(int, target))
            assert [e.target.index for e in found] == indices
            assert [e.target.label for e in found] == [f"LABEL_{i}" for i in indices]
            scores = wanted[range(5), indices].tolist()
            assert [e.target.score for e in found] == pytest.approx(scores, abs=1e-5)

    @every
    def test_another_target_gives_other_scores(self, name: str) -> None:
        model = model_of("bert")
        batch = model.encode(tiny.singles()[:1])
        one, other = (values(quick(name)(model, batch, target)[0]) for target in (0, 1))
        assert np.allclose(one, other) == (name in ("random", "attention", "attention_rollout"))

    @every
    @both
    def test_tokens_cover_the_texts(self, kind: str, name: str) -> None:
        for explanation, example in zip(explained(kind, name), tiny.crowd(), strict=True):
            assert explanation.id == example.id
            assert explanation.texts == example.texts
            assert len(values(explanation)) == len(explanation.tokens)
            for segment, text in enumerate(example.texts):
                covered = [0] * len(text)
                for token in explanation.tokens:
                    if token.segment == segment:
                        assert text[token.start : token.end] == token.text != ""
                        for place in range(token.start, token.end):
                            covered[place] += 1
                assert covered == [int(not letter.isspace()) for letter in text]
            special = [token.text for token in explanation.tokens if token.segment == -1]
            separators = ["[SEP]"] * len(example.texts)
            assert special == ([] if kind == "llama" else ["[CLS]", *separators])

    @every
    @both
    def test_a_text_without_words_is_explained_too(self, kind: str, name: str) -> None:
        model = model_of(kind)
        texts = [tiny.Example("empty", ("",)), tiny.Example("one", ("good",)), tiny.Example("pair", ("", "bad"))]
        if kind == "llama":  # it adds no token of its own
            with pytest.raises(InputError, match="'empty' has no tokens"):
                model.encode(texts)
            texts = texts[1:]
        found = quick(name)(model, model.encode(texts))
        assert [len(values(e)) for e in found] == ([2, 3, 4] if kind == "bert" else [1, 1])
        assert all(np.isfinite(values(e)).all() for e in found)

    @every
    @both
    def test_the_two_faces_agree(self, kind: str, name: str) -> None:
        module = import_module(f"rationales.explainers.{name}")
        assert hasattr(module, name) != (name in ONE_FACE)
        if name in ONE_FACE:
            return
        model, explainer = model_of(kind), quick(name)
        batch = model.encode(tiny.crowd()[:8])
        fields = dataclasses.asdict(explainer)
        function: Callable[..., Tensor] = getattr(module, name)
        names = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
        options = {key: value for key, value in fields.items() if key in names}
        with model.borrowed():
            targets = resolve_targets(model, batch, None)
            known = {"model": model, "batch": batch, "targets": targets}
            result = function(**{key: value for key, value in known.items() if key in names}, **options)
        tensor = result[0] if isinstance(result, tuple) else result
        assert tensor.shape == batch.ids.shape
        for row, explanation in zip(batch.unpadded(tensor), explainer(model, batch), strict=True):
            assert np.array_equal(row, values(explanation))
        assert not tensor[~batch.keep].any()

    def test_special_tokens_score_nothing_where_only_texts_are_erased(self) -> None:
        for name in ("leave_one_out", "backselect", "lime", "kernel_shap"):
            for explanation in explained("bert", name):
                assert not values(explanation)[~explanation.content].any()


class BlackBox:
    """A model that can only be asked: no embeddings, no attention."""

    def __init__(self, model: TransformersClassifier) -> None:
        self.name, self.labels, self.budget = model.name, model.labels, model.budget
        self.regression, self.max_length = model.regression, model.max_length
        self.encode, self.logits, self.probabilities = model.encode, model.logits, model.probabilities
        self.erase, self.borrowed = model.erase, model.borrowed


class TestCapabilities:
    @pytest.mark.parametrize("name", sorted(ATTENTIVE))
    @pytest.mark.parametrize("kind", ["deberta", "bart"])
    def test_attention_that_cannot_be_tapped(self, kind: str, name: str) -> None:
        model = model_of(kind)
        before = fingerprint(model.model)
        with pytest.raises(MissingCapability, match=f"{type(model.model).__name__}.*attention"):
            quick(name)(model, model.encode(tiny.singles()))
        unchanged(before, fingerprint(model.model))

    @every
    def test_a_black_box(self, name: str) -> None:
        box = BlackBox(model_of("bert"))
        assert isinstance(box, Model)
        batch = box.encode(tiny.singles())
        if explainers[name].needs is Attentive:
            missing = "needs an Attentive model; BlackBox has no embed, logits_from, readout, tap"
        elif explainers[name].needs is Model:
            identical(quick(name)(box, batch), quick(name)(model_of("bert"), batch))
            return
        else:
            missing = "needs a Differentiable model; BlackBox has no embed, logits_from"
        with pytest.raises(MissingCapability, match=f"{name} {missing}"):
            quick(name)(box, batch)

    def test_a_batch_must_know_its_texts(self) -> None:
        model = model_of("bert")
        batch = model.encode(tiny.singles()).take(torch.tensor([0, 1]))
        with pytest.raises(InputError, match="does not know its texts"):
            quick("gradient")(model, batch)


@pytest.fixture(autouse=True)
def _no_warning_is_left_over() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class TestOtherHeads:
    """Regression and multi-label heads: what is explained is the output itself, or the label's own probability."""

    @every
    def test_regression(self, name: str) -> None:
        model = TransformersClassifier(tiny.network("bert", labels=1), tiny.tokenizer())
        batch: Batch = model.encode(tiny.singles())
        found = quick(name)(model, batch)
        with torch.no_grad():
            output = predict(model, batch)[:, 0]
        assert [e.target.index for e in found] == [0] * 5
        assert [e.target.score for e in found] == pytest.approx(output.tolist(), abs=1e-6)

    @every
    def test_multi_label(self, name: str) -> None:
        network = tiny.network("bert", problem_type="multi_label_classification")
        model = TransformersClassifier(network, tiny.tokenizer())
        batch = model.encode(tiny.singles())
        found = quick(name)(model, batch, 1)
        with torch.no_grad():
            probability = predict(model, batch)[:, 1].sigmoid()
        assert [e.target.score for e in found] == pytest.approx(probability.tolist(), abs=1e-6)
