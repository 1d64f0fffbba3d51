from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import Saliency
from derivatives import check_second_order
from oracles import SOME, close, each, exact, explain

from rationales.explainers import Gradient
from rationales.explainers.gradient import gradient


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_is_the_norm_or_mean_of_the_derivative(kind: str) -> None:
    model = exact(kind)
    for norm in ("l2", "mean"):
        for text, found in each(model, explain(Gradient(norm), model)):
            slope = text.slope(text.embeddings()).numpy()
            wanted = [np.sqrt(np.sum(row**2)) if norm == "l2" else np.sum(np.abs(row)) / len(row) for row in slope]
            assert close(found, wanted)


def test_equals_finite_differences() -> None:
    model = exact("bert")
    text, found = next(each(model, explain(Gradient(), model)))
    for column in range(len(text.ids)):
        size = text.embeddings().shape[-1]
        moved = text.embeddings().repeat(2 * size, 1, 1)
        moved[:size, column] += 1e-5 * torch.eye(size)
        moved[size:, column] -= 1e-5 * torch.eye(size)
        up, down = text.logit_from(moved).detach().chunk(2)
        assert found[column] == pytest.approx(float(((up - down) / 2e-5).norm()), rel=1e-6)


@pytest.mark.parametrize("kind", ["bert", "llama", "gpt2"])
def test_equals_captum_saliency(kind: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(Gradient(), model)):
        slope = Saliency(text.logit_from).attribute(text.embeddings().requires_grad_(), abs=False)
        assert close(found, slope[0].norm(dim=-1), 1e-5 if kind == "llama" else 1e-8)


@pytest.mark.parametrize("norm", ["l2", "mean"])
def test_can_be_differentiated_again(norm: str) -> None:
    check_second_order(lambda *given: gradient(*given, norm=norm, create_graph=True))


def test_without_create_graph_there_is_no_graph() -> None:
    model = exact()
    batch = model.encode(SOME[:1])
    assert not gradient(model, batch, torch.tensor([0])).requires_grad
