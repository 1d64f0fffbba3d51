from __future__ import annotations

import numpy as np
import torch
from scipy.stats import kstest

from rationales.explainers.noise import text_seeds, uniform

CPU = torch.device("cpu")


def numbers(count: int = 3, seed: int = 0) -> torch.Tensor:
    return text_seeds([2**63 + 5, 17, 2**64 - 1][:count], seed, CPU)


def test_uniform_and_inside_zero_and_one() -> None:
    found = uniform(numbers(), 1, 50, 40, 40)
    assert float(found.min()) > 0
    assert float(found.max()) < 1
    assert kstest(found.flatten().numpy(), "uniform").pvalue > 1e-3


def test_neighbours_are_not_correlated() -> None:
    found = uniform(numbers(1), 1, 20, 60, 60)[0].double().numpy() - 0.5
    for axis in range(3):
        one, other = np.delete(found, 0, axis).ravel(), np.delete(found, -1, axis).ravel()
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    steps = [uniform(numbers(1), step, 20, 60, 60).double().numpy().ravel() for step in (1, 2)]
    assert abs(np.corrcoef(*steps)[0, 1]) < 0.02


def test_a_text_has_its_own_numbers_whatever_stands_beside_it() -> None:
    alone, among = uniform(numbers(1), 4, 3, 5, 6), uniform(numbers(), 4, 7, 9, 8)
    assert torch.equal(alone[0], among[0, :3, :5, :6])
    assert not torch.equal(among[0], among[1])


def test_seeds_and_steps_change_them() -> None:
    first = uniform(numbers(), 1, 2, 3, 3)
    assert not torch.equal(first, uniform(numbers(seed=1), 1, 2, 3, 3))
    assert not torch.equal(first, uniform(numbers(), 2, 2, 3, 3))
    assert torch.equal(first, uniform(numbers(), 1, 2, 3, 3))
