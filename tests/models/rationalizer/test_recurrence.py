"""The recurrence against PyTorch's GRU, and the kernels, run by Triton's interpreter, against the recurrence."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import grad, vmap

from interpreted import needs_interpreter
from rationales.models.rationalizer import recurrence, scoring
from rationales.models.rationalizer.encoders import BiGru

STACK, STEPS, TEXTS, HIDDEN = 2, 5, 3, 6
LENGTHS = torch.tensor([[5, 1, 3], [2, 5, 4]])


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels, on the processor."""
    needs_interpreter()
    monkeypatch.setattr(recurrence, "has_kernels", lambda _device: True)


def inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) / 2

    return [drawn(STACK, STEPS, TEXTS, 2, 3 * HIDDEN), drawn(STACK, 2, 3 * HIDDEN, HIDDEN), drawn(STACK, 2, 4 * HIDDEN)]


def pooled(*given: torch.Tensor) -> torch.Tensor:
    """The slow way."""
    states, lengths = recurrence._loop(*given), given[-1]
    outside = torch.arange(STEPS)[:, None] >= lengths
    return states.masked_fill(outside[:, :, None, None], -1e6).amax(0)


def gradients(function, weigh: torch.Tensor) -> tuple[torch.Tensor, ...]:
    def weighed(gates, weight, bias, lengths, by):
        return (function(gates, weight, bias, lengths) * by).sum()

    return vmap(grad(weighed, (0, 1, 2)))(*inputs(), LENGTHS, weigh)


def test_it_is_the_gru_of_pytorch() -> None:
    torch.manual_seed(0)
    rnn = BiGru(4, 2 * HIDDEN)
    texts = torch.randn(3, STEPS, 4)
    keep = torch.arange(STEPS) < torch.tensor([[5], [2], [4]])
    usual = rnn(texts, keep)
    rnn.stackable = True
    assert torch.allclose(rnn(texts, keep)[keep], usual[keep], atol=1e-6)
    assert torch.allclose(rnn.pooled(texts, keep), usual.masked_fill(~keep[..., None], -1e6).amax(1), atol=1e-6)


def test_the_second_direction_begins_at_the_last_token_of_each_text() -> None:
    rnn = BiGru(4, 2 * HIDDEN)
    rnn.stackable = True
    texts, keep = torch.randn(2, STEPS, 4), torch.arange(STEPS) < torch.tensor([[3], [5]])
    alone = rnn(texts[:1, :3], keep[:1, :3])
    assert torch.allclose(rnn(texts, keep)[:1, :3], alone, atol=1e-6)


@pytest.mark.usefixtures("kernels")
def test_kernels_give_the_states_and_gradients_of_the_loop() -> None:
    wanted = vmap(recurrence._loop)(*inputs(), LENGTHS)
    assert torch.allclose(vmap(recurrence.recurrence)(*inputs(), LENGTHS), wanted, atol=1e-6)
    weigh = torch.randn(wanted.shape)
    found, slow = gradients(recurrence.recurrence, weigh), gradients(recurrence._loop, weigh)
    for one, other in zip(found, slow, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.usefixtures("kernels")
def test_the_pooled_kernel_gives_the_largest_states_and_their_gradients() -> None:
    wanted = vmap(pooled)(*inputs(), LENGTHS)
    assert torch.allclose(vmap(recurrence.pooled_recurrence)(*inputs(), LENGTHS), wanted, atol=1e-6)
    weigh = torch.randn(wanted.shape)
    found, slow = gradients(recurrence.pooled_recurrence, weigh), gradients(pooled, weigh)
    for one, other in zip(found, slow, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.usefixtures("kernels")
def test_a_second_derivative_is_an_error_and_no_wrong_number() -> None:
    given = [tensor[0].requires_grad_() for tensor in inputs()]
    (first,) = torch.autograd.grad(recurrence.recurrence(*given, LENGTHS[0]).sum(), given[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        first.square().sum().backward()


@pytest.mark.usefixtures("kernels")
def test_kernels_work_without_a_stack_too() -> None:
    given = [tensor[0] for tensor in (*inputs(), LENGTHS)]
    assert torch.allclose(recurrence.recurrence(*given), recurrence._loop(*given), atol=1e-6)


def head(dropout: float) -> nn.Sequential:
    torch.manual_seed(0)
    made = nn.Sequential(nn.LayerNorm(12), nn.Dropout(dropout), nn.Linear(12, 2))
    for parameter in made[0].parameters():
        nn.init.normal_(parameter)
    return made


def padded_states() -> torch.Tensor:
    states = torch.randn(7, 4, 2, 8, generator=torch.Generator().manual_seed(1))
    states[..., 6:] = 0
    return states.requires_grad_()


@pytest.mark.usefixtures("kernels")
def test_the_scoring_kernel_is_layer_normalisation_and_a_linear_layer() -> None:
    layers, states = head(0.0), padded_states()
    wanted, found = layers(states[..., :6].flatten(-2)), scoring.scores(layers, states)
    assert torch.allclose(found, wanted, atol=1e-5)
    weigh, learned = torch.randn(wanted.shape), [states, *layers.parameters()]
    slow, quick = (torch.autograd.grad((some * weigh).sum(), learned) for some in (wanted, found))
    for one, other in zip(quick, slow, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


@pytest.mark.usefixtures("kernels")
def test_dropout_of_the_scoring_kernel_is_the_same_on_the_way_back() -> None:
    layers, states = head(0.4), padded_states()
    weigh, step = torch.randn(7, 4, 2), torch.randn(states.shape) * (states != 0)

    def total(given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return (scoring.scores(layers, given) * weigh).sum()

    by_states, by_weight = torch.autograd.grad(total(states), [states, layers[2].weight])
    small = 1e-3
    with torch.no_grad():
        slope = (total(states + small * step) - total(states - small * step)) / (2 * small)
        linear = total(states) - (layers[2].bias * weigh).sum()  # without the bias it is linear in the weight
        weighted = (by_weight * layers[2].weight).sum()
    assert float(slope) == pytest.approx(float((by_states * step).sum()), rel=0.02)
    assert float(weighted) == pytest.approx(float(linear), rel=1e-4)


@pytest.mark.usefixtures("kernels")
def test_a_share_of_the_features_is_dropped() -> None:
    layers = head(0.25)
    with torch.no_grad():
        layers[0].weight.zero_()
        layers[0].bias.fill_(1.0)
        layers[2].weight.copy_(torch.ones(2, 12) / 12)
        layers[2].bias.zero_()
    torch.manual_seed(0)
    values = scoring.scores(layers, torch.randn(400, 1, 2, 6)).detach()  # mean of kept features, scaled by 4 / 3
    assert float(values.mean()) == pytest.approx(1.0, abs=0.03)
    assert set(torch.round(values.flatten() * 9).int().tolist()) <= set(range(13))
