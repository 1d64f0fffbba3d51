from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles import each, exact, explain, scores

import tiny
from rationales.errors import InputError
from rationales.explainers import Gradient, SmoothGrad

FEW = tiny.singles()[:2]


def test_without_noise_it_is_the_gradient() -> None:
    model = exact("bert")
    for one, two in zip(explain(SmoothGrad(3, 0.0), model), explain(Gradient(), model), strict=True):
        assert scores(one) == pytest.approx(scores(two), rel=1e-9)
        assert one.body.standard_error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("norm", ["l2", "mean"])
def test_converges_to_the_expectation(norm: str) -> None:
    """The expectation is estimated here with other noise, one draw at a time; both sides know their standard error."""
    model, draw = exact("bert"), np.random.default_rng(5)
    explainer = SmoothGrad(225, 0.3, norm=norm)
    found = explain(explainer, model, FEW[:1])
    ((text, values),) = each(model, found, FEW[:1])
    embeddings, rows = text.embeddings(), []
    spread = 0.3 * float(embeddings.numpy().std())
    for _ in range(225):
        noise = torch.from_numpy(draw.standard_normal(tuple(embeddings.shape)))
        slope = text.slope(embeddings + spread * noise).numpy()
        rows.append(np.sqrt((slope**2).sum(-1)) if norm == "l2" else np.abs(slope).mean(-1))
    wanted, wanted_error = np.mean(rows, 0), np.std(rows, 0, ddof=1) / 15
    error = np.hypot(wanted_error, found[0].body.standard_error)
    assert (np.abs(values - wanted) < 4.5 * error).all()
    assert found[0].body.standard_error == pytest.approx(wanted_error, rel=0.35)
    plain = scores(explain(Gradient(norm), model, FEW[:1])[0])
    assert (np.abs(plain - wanted) > 4.5 * error).any(), "this noise is too weak to tell smoothgrad from the gradient"


def test_the_standard_error_is_calibrated() -> None:
    model = tiny.classifier()
    runs = [explain(SmoothGrad(10, seed=seed), model, FEW) for seed in range(30)]
    for row in range(len(FEW)):
        spread = np.std([scores(run[row]) for run in runs], axis=0, ddof=1)
        recorded = np.mean([run[row].body.standard_error for run in runs], axis=0)
        assert 0.75 < np.median(recorded / spread) < 1.33
        assert ((recorded / spread > 0.5) & (recorded / spread < 2)).all()


def test_one_sample_has_no_standard_error() -> None:
    with pytest.raises(InputError, match="samples must be at least 2, got 1"):
        SmoothGrad(1)


def test_half_precision_gets_noise_too() -> None:
    model = tiny.classifier("bert")
    model.model.to(torch.bfloat16)
    (found,) = explain(SmoothGrad(samples=4, noise=0.5), model, [FEW[0]])
    assert (found.body.standard_error > 0).all()
