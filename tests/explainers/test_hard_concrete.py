from __future__ import annotations

import pytest
import torch

from rationales.explainers.hard_concrete import drawn, likelier, one_probability, zero_probability

KNOWN = [(0.0, 0.3824, 0.3824), (2.0, 0.0773, 0.8206), (-0.5, 0.5051, 0.2730)]


@pytest.mark.parametrize(("log_alpha", "zero", "one"), KNOWN)
def test_probabilities_of_the_ends(log_alpha: float, zero: float, one: float) -> None:
    value = torch.tensor(log_alpha, dtype=torch.float64)
    assert float(zero_probability(value)) == pytest.approx(zero, abs=1e-4)
    assert float(one_probability(value)) == pytest.approx(one, abs=1e-4)


@pytest.mark.parametrize(("log_alpha", "zero", "one"), KNOWN)
def test_samples_follow_them(log_alpha: float, zero: float, one: float) -> None:
    uniform = torch.rand(1_000_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = drawn(torch.tensor(log_alpha, dtype=torch.float64), uniform)
    assert float((samples == 0).double().mean()) == pytest.approx(zero, abs=2e-3)
    assert float((samples == 1).double().mean()) == pytest.approx(one, abs=2e-3)
    assert float(samples.mean()) <= 1 - zero


def test_expectations() -> None:
    uniform = torch.rand(1_000_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for log_alpha, mean in ((0.0, 0.5), (2.0, 0.879)):
        samples = drawn(torch.tensor(log_alpha, dtype=torch.float64), uniform)
        assert float(samples.mean()) == pytest.approx(mean, abs=2e-3)


def test_one_is_likelier_from_zero_on() -> None:
    values = torch.tensor([-1.0, -0.249, -1e-4, 1e-4, 1.0], dtype=torch.float64)
    assert likelier(values).tolist() == [False, False, False, True, True]


def test_samples_have_gradients_and_ends_have_none_that_are_not_numbers() -> None:
    log_alpha = torch.zeros(3, requires_grad=True)
    drawn(log_alpha, torch.tensor([0.0, 0.5, 1.0])).sum().backward()
    assert log_alpha.grad is not None
    assert log_alpha.grad.isfinite().all()
    assert log_alpha.grad[1] > 0
