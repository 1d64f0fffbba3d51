from __future__ import annotations

import pytest
import torch

import tiny
from rationales.models.borrow import borrowed


@pytest.mark.parametrize("fails", [False, True])
def test_modes_and_flags_come_back_one_by_one(fails: bool) -> None:
    network = tiny.network()
    for number, module in enumerate(network.modules()):
        module.training = number % 3 == 0
    for number, parameter in enumerate(network.parameters()):
        parameter.requires_grad_(number % 2 == 0)
    modes = [module.training for module in network.modules()]
    flags = [parameter.requires_grad for parameter in network.parameters()]
    try:
        with borrowed(network):
            assert not any(module.training for module in network.modules())
            assert not any(parameter.requires_grad for parameter in network.parameters())
            if fails:
                raise KeyError("inside")
    except KeyError:
        assert fails
    assert [module.training for module in network.modules()] == modes
    assert [parameter.requires_grad for parameter in network.parameters()] == flags


def test_a_module_with_its_own_idea_of_training_is_not_asked() -> None:
    """`train()` may be overridden, to keep a part frozen; borrowing sets the flag itself and puts it back."""

    class Stubborn(torch.nn.Linear):
        def train(self, mode: bool = True) -> Stubborn:
            raise AssertionError("nobody calls this")

    module = torch.nn.Sequential(Stubborn(2, 2))
    with borrowed(module):
        assert not module[0].training
    assert module[0].training


def test_beside_an_accelerator_one_thread_plans() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with borrowed(torch.nn.Linear(2, 2, device="meta")):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with borrowed(torch.nn.Linear(2, 2)):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_borrowing_twice() -> None:
    network = tiny.network().train()
    with borrowed(network), borrowed(network):
        assert not network.training
    assert network.training
    assert all(parameter.requires_grad for parameter in network.parameters())
