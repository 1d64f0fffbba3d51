"""The terms of REGEX against second, slow computations in double precision."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from rationales.explainers.integrated_gradients import integrated_gradients
from rationales.models import Batch
from rationales.train.regex_terms import (
    agreement,
    divergence,
    importance,
    least_important,
    norm_of,
    projected,
    shares,
    smoothness,
    stability,
    worst_perturbation,
)
from tiny import classifier, pairs, singles

torch.manual_seed(0)


def batch_of(*lengths: int) -> Batch:
    """Texts of so many tokens between two special ones, padded."""
    width = max(lengths) + 2
    keep = torch.tensor([[column < length + 2 for column in range(width)] for length in lengths])
    own = torch.tensor([[0 < column <= length for column in range(width)] for length in lengths])
    return Batch(torch.ones_like(keep).long(), keep, torch.where(own, 0, -1))


def test_the_gradient_of_a_logistic_regression() -> None:
    weights, texts = torch.randn(6, 2, dtype=torch.float64), torch.randn(5, 3, 2, dtype=torch.float64)
    targets = torch.tensor([0, 1, 1, 0, 1])
    inputs = texts.clone().requires_grad_()
    logits = inputs.flatten(1) @ weights
    found = smoothness(cross_entropy(logits, targets, reduction="sum"), inputs, 5)
    errors = softmax(logits, -1) - nn.functional.one_hot(targets, 2)  # ∂ℓ/∂logits, so ∂ℓ/∂x = W (p - y)
    assert float(found.detach()) == pytest.approx(float((errors @ weights.T).norm(dim=1).mean().detach()))


def test_the_norm_of_several_and_its_gradient() -> None:
    tensors = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((3, 2), (4,), (1, 1))]
    assert float(norm_of(tensors).detach()) == pytest.approx(
        float(torch.cat([own.detach().flatten() for own in tensors]).norm())
    )
    assert torch.autograd.gradcheck(lambda *some: 3 * norm_of(some), tensors)
    nothing = torch.zeros(2, requires_grad=True)
    assert torch.equal(torch.autograd.grad(norm_of([nothing]), nothing)[0], torch.zeros(2))


def test_the_gradient_term_has_a_gradient() -> None:
    layer = nn.Linear(4, 2).double()
    texts, targets = torch.randn(3, 2, 2, dtype=torch.float64), torch.tensor([0, 1, 1])

    def term() -> torch.Tensor:
        inputs = texts.clone().requires_grad_()
        return smoothness(cross_entropy(layer(inputs.flatten(1)), targets, reduction="sum"), inputs, 3)

    (slope,) = torch.autograd.grad(term(), layer.weight)
    small = 1e-6
    with torch.no_grad():
        layer.weight[1, 2] += small
    up = float(term().detach())
    with torch.no_grad():
        layer.weight[1, 2] -= 2 * small
    assert (up - float(term().detach())) / (2 * small) == pytest.approx(float(slope[1, 2]), rel=1e-4)


def test_other_rows_do_not_count() -> None:
    inputs = torch.randn(4, 2, 2, dtype=torch.float64, requires_grad=True)
    weights, targets = torch.randn(4, 2, dtype=torch.float64), torch.tensor([0, 1])
    logits = inputs.flatten(1) @ weights
    first = smoothness(cross_entropy(logits[:2], targets, reduction="sum"), inputs, 2)
    alone = inputs.detach()[:2].requires_grad_()
    wanted = smoothness(cross_entropy(alone.flatten(1) @ weights, targets, reduction="sum"), alone, 2)
    assert float(first.detach()) == pytest.approx(float(wanted.detach()))


def test_divergence_is_that_of_kullback_and_leibler() -> None:
    one, other = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    wanted = kl_div(log_softmax(other, -1), softmax(one, -1), reduction="batchmean")
    assert float(divergence(one, other)) == pytest.approx(float(wanted))
    assert float(divergence(one, one)) == pytest.approx(0.0, abs=1e-12)


def test_stability_is_zero_for_equal_predictions_and_moves_both() -> None:
    clean = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    moved = (clean.detach() + torch.randn(4, 3)).requires_grad_()
    assert float(stability(clean, clean).detach()) == pytest.approx(0.0, abs=1e-12)
    term = stability(moved, clean)
    assert float(term.detach()) > 0
    by_moved, by_clean = torch.autograd.grad(term, [moved, clean])
    wanted = (softmax(moved, -1) - softmax(clean, -1)) / 4  # each against a target that stands still
    assert torch.allclose(by_moved, wanted)
    assert torch.allclose(by_clean, -wanted)


def test_the_perturbation_goes_where_the_prediction_moves_most() -> None:
    slope = torch.tensor([0.0, 3.0, 0.0], dtype=torch.float64)

    def predict(delta: torch.Tensor) -> torch.Tensor:
        moved = (delta @ slope).sum(1)
        return torch.stack([moved, -moved], 1)

    like, keep = torch.zeros(2, 2, 3, dtype=torch.float64), torch.tensor([[True, True], [True, False]])
    torch.manual_seed(0)
    found = worst_perturbation(
        predict, torch.zeros(2, 2, dtype=torch.float64), like, keep, steps=3, rate=1.0, start=1e-3,
        project=lambda delta: projected(delta, "normalize", 1.0, 1e-5),
    )  # fmt: skip
    assert not found[1, 1].any()  # padding
    assert torch.allclose(found[keep].abs().amax(-1), torch.ones(3, dtype=torch.float64), atol=1e-2)
    assert (found[keep].abs().argmax(-1) == 1).all()
    assert divergence(predict(found), predict(torch.zeros_like(like))) > 0.1


def test_the_sizes_of_perturbations() -> None:
    delta = torch.tensor([[[0.5, -2.0], [0.0, 1e-9]]])
    normal = projected(delta, "normalize", 0.3, 1e-5)
    assert float(normal[0, 0].abs().max()) == pytest.approx(0.3, rel=1e-4)
    assert float(normal.abs().max()) <= 0.3
    assert float(projected(delta, "ball", 0.3, 1e-5).abs().max()) == pytest.approx(1e-5)


@pytest.mark.parametrize(("share", "length", "number"), [(0.15, 1, 1), (0.15, 20, 3), (0.15, 7, 2), (0.5, 4, 2)])
def test_so_many_tokens_are_masked_and_never_a_special_one(share: float, length: int, number: int) -> None:
    batch = batch_of(length, 2)
    values = torch.rand(batch.ids.shape)
    chosen = least_important(values, batch, share)
    assert int(chosen[0].sum()) == number == max(1, math.ceil(round(share * length, 4)))
    assert not (chosen & ~batch.content).any()
    lowest = values[0][batch.content[0]].sort().values[:number]
    assert torch.equal(values[0][chosen[0]].sort().values, lowest)


def test_agreement_is_zero_if_and_only_if_they_agree() -> None:
    batch = batch_of(3, 1)
    guide = shares(torch.rand(batch.ids.shape, dtype=torch.float64), batch)
    twice = 2 * guide + torch.where(batch.content, 0.0, 5.0)  # what special tokens get is left out
    for direction in ("forward", "reverse"):
        assert float(agreement(guide, twice, batch, direction)) == pytest.approx(0.0, abs=1e-9)
    other = shares(torch.rand(batch.ids.shape, dtype=torch.float64), batch)
    own = batch.content[0]
    wanted = kl_div(other[0][own].log(), guide[0][own], reduction="sum") / 2  # the second text has one token only
    assert float(agreement(guide, other, batch, "forward")) == pytest.approx(float(wanted))
    reverse = kl_div(guide[0][own].log(), other[0][own], reduction="sum") / 2
    assert float(agreement(guide, other, batch, "reverse")) == pytest.approx(float(reverse))


def test_only_attention_learns_from_agreement() -> None:
    batch = batch_of(3)
    guide = torch.rand(batch.ids.shape, requires_grad=True)
    attention = torch.rand(batch.ids.shape, requires_grad=True)
    agreement(shares(guide, batch), attention, batch, "forward").backward()
    assert guide.grad is None
    assert attention.grad is not None


@pytest.mark.parametrize("guide", ["integrated_gradients", "gradient", "input_x_gradient", "deeplift"])
@pytest.mark.parametrize("aggregate", ["l2", "mean"])
@pytest.mark.parametrize("examples", [singles(), pairs()])
def test_importance_is_shares_of_the_texts_own_tokens(guide: str, aggregate: str, examples) -> None:
    model = classifier()
    model.model.train()
    batch = model.encode(examples)
    found = importance(model, batch, torch.zeros(len(batch), dtype=torch.long), guide, aggregate, 4)
    assert not found.requires_grad
    assert model.model.training
    assert torch.allclose(found.sum(-1), torch.ones(len(batch)), atol=1e-5)
    assert not found[~batch.content].any()
    assert (found >= 0).all()


@pytest.mark.parametrize("guide", ["integrated_gradients", "gradient", "input_x_gradient", "deeplift"])
def test_a_norm_over_dimensions_is_not_their_mean(guide: str) -> None:
    model = classifier()
    batch = model.encode(singles())
    targets = torch.tensor([0, 1, 2, 0, 1])
    by_norm, by_mean = (importance(model, batch, targets, guide, aggregate, 4) for aggregate in ("l2", "mean"))
    assert (by_norm - by_mean).abs().amax() > 1e-3


def test_importance_is_that_of_the_explainer() -> None:
    model = classifier()
    batch = model.encode(singles())
    targets = torch.tensor([0, 1, 2, 0, 1])
    values = integrated_gradients(model, batch, targets, steps=6, rule="gauss", aggregate="l2") * batch.content
    found = importance(model, batch, targets, "integrated_gradients", "l2", 6)
    assert torch.allclose(found, values / values.sum(-1, keepdim=True), atol=1e-6)
