from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients as CaptumIntegratedGradients
from captum.attr import LayerIntegratedGradients
from derivatives import check_second_order
from oracles import SOME, Text, close, each, exact, explain, scores
from torch import Tensor

import tiny
from rationales.errors import InputError
from rationales.explainers import IntegratedGradients
from rationales.explainers.integrated_gradients import integrated_gradients
from rationales.models import Batch

ANY = 1e9
"""A tolerance that is always met: nothing is warned about."""


def reference(text: Text, baseline: str) -> Tensor:
    """The embeddings where the way starts, written out id by id."""
    if baseline == "zero":
        return torch.zeros_like(text.embeddings())
    filler = {"mask": text.tokenizer.mask_token_id, "pad": text.tokenizer.pad_token_id}[baseline]
    return text.embeddings(
        [filler if content else number for number, content in zip(text.ids, text.content, strict=True)]
    )


@pytest.mark.parametrize("baseline", ["zero", "mask", "pad"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_is_the_quadrature_of_the_definition(kind: str, baseline: str) -> None:
    model = exact(kind)
    nodes, weights = np.polynomial.legendre.leggauss(7)
    for aggregate in ("sum", "l2"):
        explainer = IntegratedGradients(7, ANY, rule="gauss", baseline=baseline, aggregate=aggregate)
        for text, found in each(model, explain(explainer, model)):
            end, start = text.embeddings(), reference(text, baseline)
            total = np.zeros(tuple(end.shape[1:]))
            for node, weight in zip(nodes, weights, strict=True):
                slope = text.slope(start + (node + 1) / 2 * (end - start)).numpy()
                total += weight / 2 * slope * (end - start)[0].numpy()
            wanted = total.sum(-1) if aggregate == "sum" else np.sqrt((total**2).sum(-1))
            assert close(found, wanted)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta"])
def test_equals_captum_with_a_zero_baseline(kind: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(IntegratedGradients(20, ANY, rule="gauss"), model)):
        captum = CaptumIntegratedGradients(text.logit_from)
        wanted = captum.attribute(text.embeddings(), n_steps=20, method="gausslegendre", internal_batch_size=1)
        assert close(found, wanted[0].sum(-1), 1e-5)


@pytest.mark.parametrize("baseline", ["mask", "pad"])
@pytest.mark.parametrize("kind", ["bert", "distilbert", "llama"])
def test_equals_captums_layer_integrated_gradients(kind: str, baseline: str) -> None:
    """With a text of mask or padding tokens as baseline, in float32, as a user would call it."""
    model = tiny.classifier(kind)
    filler = {"mask": model.tokenizer.mask_token_id, "pad": model.tokenizer.pad_token_id}[baseline]
    explainer = IntegratedGradients(20, ANY, rule="gauss", baseline=baseline)
    for text, found in each(model, explain(explainer, model)):
        ids, empty = torch.tensor([text.ids]), torch.tensor([text.ids])
        empty[0, text.columns()] = filler

        def forward(given: Tensor, types: Tensor | None) -> Tensor:
            seen = {"attention_mask": torch.ones_like(given)}
            if types is not None:
                seen["token_type_ids"] = types
            return text.network(given, **seen).logits  # noqa: B023

        captum = LayerIntegratedGradients(forward, text.network.get_input_embeddings())
        types = None if text.types is None else torch.tensor([text.types])
        wanted = captum.attribute(
            ids, empty, target=text.target, additional_forward_args=(types,), n_steps=20, method="gausslegendre"
        )
        assert close(found, wanted[0].sum(-1), 1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "deberta", "bart"])
def test_adds_up_within_one_percent_by_default_and_says_so(kind: str) -> None:
    model = tiny.classifier(kind)
    for explanation in explain(IntegratedGradients(), model):
        assert 8 <= explanation.checks["steps"] <= 400
        assert explanation.checks["completeness_error"] < 0.01


@pytest.mark.parametrize("baseline", ["zero", "mask", "pad"])
def test_the_recorded_error_is_the_true_one(baseline: str) -> None:
    model = exact("bert")
    found = explain(IntegratedGradients(2, ANY, baseline=baseline), model)
    for explanation, example in zip(found, SOME, strict=True):
        text = Text(model, example)
        with torch.no_grad():
            whole = float(text.logit_from(text.embeddings()))
            change = whole - float(text.logit_from(reference(text, baseline)))
        wanted = abs(scores(explanation).sum() - change) / max(abs(change), 0.01)
        assert explanation.checks["completeness_error"] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_takes_more_steps_where_they_are_needed_and_only_there() -> None:
    model = exact("bert")
    found = explain(IntegratedGradients(1, 1e-3), model)
    steps = [explanation.checks["steps"] for explanation in found]
    assert min(steps) < max(steps)
    assert all(explanation.checks["completeness_error"] <= 1e-3 for explanation in found)


@pytest.mark.parametrize("aggregate", ["sum", "l2"])
@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta"])
def test_points_where_they_are_needed_find_the_integral(kind: str, aggregate: str) -> None:
    """Not only the sum: each token's score is what very many points give."""
    model = exact(kind)
    found = explain(IntegratedGradients(tolerance=1e-4, aggregate=aggregate), model)
    known = explain(IntegratedGradients(300, ANY, rule="gauss", aggregate=aggregate), model)
    for explanation, integral in zip(found, known, strict=True):
        wanted = scores(integral)
        assert np.abs(scores(explanation) - wanted).max() < 2e-3 * np.abs(wanted).max()
        assert explanation.checks["steps"] < 100


@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta"])
def test_50_gauss_points_add_up(kind: str) -> None:
    """Not with every encoder: some turn sharply near the zero baseline, and need the points placed where they do."""
    found = explain(IntegratedGradients(50, ANY, rule="gauss"), exact(kind))
    assert all(explanation.checks["completeness_error"] < 0.01 for explanation in found)


def test_as_many_gauss_points_as_were_asked_for() -> None:
    model = exact("bert")
    with pytest.warns(UserWarning, match="do not add up"):
        found = explain(IntegratedGradients(3, 1e-9, rule="gauss"), model)
    assert {explanation.checks["steps"] for explanation in found} == {3}


def test_norms_do_not_depend_on_how_many_steps_the_neighbours_need() -> None:
    model = exact("bert")
    explainer = IntegratedGradients(1, 1e-3, aggregate="l2")
    together = explain(explainer, model)
    assert len({explanation.checks["steps"] for explanation in together}) > 1
    for explanation, example in zip(together, SOME, strict=True):
        (alone,) = explain(explainer, model, [example])
        assert scores(explanation) == pytest.approx(scores(alone), rel=1e-9)


def test_says_when_it_does_not_add_up() -> None:
    model = exact("bert")
    message = r"\d of 7 texts do not add up to within 0% .* after 4 steps"
    with pytest.warns(UserWarning, match=message) as caught:
        found = explain(IntegratedGradients(2, 1e-9, max_steps=4), model)
    assert caught[0].filename.endswith("oracles.py")  # where it was called
    assert {explanation.checks["steps"] for explanation in found} == {4}


def test_a_model_that_returns_nan_does_not_pass_for_complete() -> None:
    model = tiny.classifier()
    with torch.no_grad():
        model.model.classifier.bias.fill_(float("nan"))
    with pytest.warns(UserWarning, match="answers NaN or infinity to 7 of 7 texts"):
        found = explain(IntegratedGradients(2, max_steps=2), model)
    assert all(np.isnan(scores(explanation)).all() for explanation in found)


class Linear:
    """f(e) = Σ w ⊙ e + b: a model whose attributions are known."""

    name, labels, budget = "linear", ("a", "b"), 64
    regression, max_length = False, 64

    def __init__(self) -> None:
        base = tiny.classifier()
        self.encode, self.erase, self.borrowed, self.embed = base.encode, base.erase, base.borrowed, base.embed
        self.weight = torch.randn(16, 2, generator=torch.Generator().manual_seed(3))

    def logits(self, batch: Batch) -> Tensor:
        return self.logits_from(self.embed(batch), batch)

    def logits_from(self, embeddings: Tensor, batch: Batch) -> Tensor:
        return (embeddings * batch.keep.unsqueeze(-1)).sum(1) @ self.weight + 1.0

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)


def test_one_step_is_exact_for_a_linear_model() -> None:
    model = Linear()
    batch = model.encode(SOME)
    for row, explanation in enumerate(IntegratedGradients(1)(model, batch, 1)):
        with torch.no_grad():
            wanted = model.embed(batch)[row][batch.keep[row]] @ model.weight[:, 1]
        assert scores(explanation) == pytest.approx(wanted.numpy(), abs=1e-5)
        assert explanation.checks["steps"] == 1
        assert explanation.checks["completeness_error"] < 1e-5


@pytest.mark.parametrize("steps", [0, -1, 401])
def test_steps_must_make_sense(steps: int) -> None:
    with pytest.raises(InputError, match=rf"steps must lie in 1 … max_steps \(400\), got {steps}"):
        IntegratedGradients(steps)


@pytest.mark.parametrize("baseline", ["zero", "mask"])
def test_can_be_differentiated_again(baseline: str) -> None:
    """With fixed points; adaptive ones move with the parameters, which the derivative rightly leaves out."""
    check_second_order(
        lambda *given: integrated_gradients(*given, steps=3, rule="gauss", baseline=baseline, create_graph=True)
    )


def test_no_gradient_reaches_the_parameters_unless_a_graph_is_wanted() -> None:
    model = tiny.classifier("bert")
    batch, targets = model.encode(tiny.singles()), torch.zeros(len(tiny.singles()), dtype=torch.long)
    assert not integrated_gradients(model, batch, targets, steps=2).requires_grad
    assert integrated_gradients(model, batch, targets, steps=2, create_graph=True).requires_grad


@pytest.mark.parametrize("kind", ["llama", "modernbert"])
def test_adds_up_also_where_zero_is_a_singular_point(kind: str) -> None:
    found = explain(IntegratedGradients(), tiny.classifier(kind))
    assert max(explanation.checks["completeness_error"] for explanation in found) <= 0.01
