"""Recorded steps: what is replayed is what would have been computed. A stand-in takes the place of CUDA's graphs."""

from __future__ import annotations

import pytest
import torch
from recorded import Again
from torch import Tensor, nn

from rationales.train import replay
from rationales.train.replay import Loss, Replays, fresh_leaves


@pytest.fixture
def weights() -> nn.ParameterList:
    return nn.ParameterList([torch.randn(3), torch.randn(3), torch.randn(2)])


def loss_of(weights: nn.ParameterList, inputs: Tensor) -> Loss:
    """Has no gradient for the last of the weights."""
    term = ((inputs * weights[0]).sum() - weights[1].prod()).square()
    return 3 * term, {"term": term.detach()}


def test_losses_figures_and_gradients_are_those_of_the_computation(
    graphs: list[Again], weights: nn.ParameterList
) -> None:
    replays = Replays(weights)
    for number in range(4):
        inputs = torch.randn(5, 3)
        loss, figures = replays("key", lambda given: loss_of(weights, given), inputs)
        (2 * loss).backward()
        wanted, told = loss_of(weights, inputs)
        slopes = torch.autograd.grad(2 * wanted, list(weights[:2]))
        torch.testing.assert_close(loss, wanted)
        torch.testing.assert_close(figures, told)
        for weight, slope in zip(weights, slopes, strict=False):
            torch.testing.assert_close(weight.grad, slope)
        assert weights[2].grad is None
        for weight in weights[:2]:
            weight.data -= 0.1 * weight.grad  # type: ignore[operator]
            weight.grad = None
        assert [graph.times for graph in graphs] == ([] if number == 0 else [number])


def test_each_shape_and_each_key_has_its_own_graph(graphs: list[Again], weights: nn.ParameterList) -> None:
    replays = Replays(weights)
    for key, rows in [("a", 5), ("a", 4), ("b", 5)] * 3:
        replays(key, lambda given: loss_of(weights, given), torch.randn(rows, 3))
    assert [graph.times for graph in graphs] == [2, 2, 2]


def test_two_replays_before_one_backward_keep_their_own_gradients(
    graphs: list[Again], weights: nn.ParameterList
) -> None:
    replays = Replays(weights)
    several = [torch.randn(5, 3) for _ in range(4)]
    first, *_, third, fourth = (replays(0, lambda given: loss_of(weights, given), inputs)[0] for inputs in several)
    third.backward()
    wanted = torch.autograd.grad(loss_of(weights, several[2])[0], weights[0])[0]
    torch.testing.assert_close(weights[0].grad, wanted)
    assert first.requires_grad
    assert fourth.requires_grad
    assert graphs[0].times == 3


def test_where_there_are_no_graphs_everything_is_computed(weights: nn.ParameterList) -> None:
    replays = Replays(weights)
    for _ in range(3):
        inputs = torch.randn(5, 3)
        loss, _ = replays(0, lambda given: loss_of(weights, given), inputs)
        torch.testing.assert_close(loss, loss_of(weights, inputs)[0])


def test_what_cannot_be_recorded_is_computed(
    weights: nn.ParameterList, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Recorder:
        def __init__(self, _device: torch.device) -> None: ...

        def record(self, run: object) -> None:
            try:
                raise RuntimeError("operation not permitted\nand more")
            finally:
                raise RuntimeError("the end of it")

    monkeypatch.setattr(replay, "recordable", lambda _device: True)
    monkeypatch.setattr(replay, "Recorder", Recorder)
    replays = Replays(weights)
    for _ in range(4):
        inputs = torch.randn(5, 3)
        loss, _ = replays(0, lambda given: loss_of(weights, given), inputs)
        torch.testing.assert_close(loss, loss_of(weights, inputs)[0])
    assert caplog.messages == ["steps cannot be recorded and are taken one by one: operation not permitted"]


def test_networks_that_keep_lists_of_their_weights_are_not_recorded(graphs: list[Again]) -> None:
    network = nn.GRU(2, 2)
    replays = Replays(network)
    for _ in range(3):
        loss, _ = replays(0, lambda given: (network(given)[0].sum(), {}), torch.randn(3, 1, 2))
        loss.backward()
    assert not graphs
    assert network.weight_ih_l0.grad is not None


def test_fresh_leaves_are_other_parameters_on_the_same_memory() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    module[1].bias.requires_grad_(False)
    before = dict(module.named_parameters(remove_duplicate=False))
    module(torch.ones(1, 2)).sum().backward()
    with fresh_leaves(module):
        inside = dict(module.named_parameters(remove_duplicate=False))
        assert inside["0.weight"] is inside["1.weight"]
        for name, own in before.items():
            assert inside[name] is not own
            assert inside[name].data_ptr() == own.data_ptr()
            assert inside[name].requires_grad == own.requires_grad
            assert inside[name].grad is None
    after = dict(module.named_parameters(remove_duplicate=False))
    assert all(after[name] is own for name, own in before.items())
