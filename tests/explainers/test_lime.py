from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import Lime as CaptumLime
from oracles import Text, exact, explain, scores
from sklearn.linear_model import Ridge

import tiny
from rationales.errors import InputError
from rationales.explainers import Lime
from rationales.explainers.surrogate import least_squares

SHORT = (tiny.Example("four", ("the food was awful",)), tiny.Example("pair", ("rude staff", "they hated it")))


def nearness(present: Any, width: float) -> float:
    """exp(-d²/width²) with the cosine distance of a 0/1 vector to the vector of ones."""
    ones = np.ones(len(present))
    size = np.linalg.norm(present) * np.linalg.norm(ones)
    distance = 1 - (float(np.dot(present, ones)) / size if size else 0.0)
    return float(np.exp(-(distance**2) / width**2))


@pytest.mark.parametrize(("width", "ridge"), [(0.25, 1.0), (1.0, 0.01)])
def test_converges_to_the_weighted_ridge_over_all_subsets(width: float, ridge: float) -> None:
    model, samples = exact("bert"), 2000
    for explanation, example in zip(explain(Lime(samples, width, ridge), model, SHORT), SHORT, strict=True):
        text = Text(model, example)
        subsets = list(product((0.0, 1.0), repeat=len(text.columns())))
        weights = [samples / len(subsets) * nearness(present, width) for present in subsets]
        fitted = Ridge(alpha=ridge).fit(subsets, [text.output(text.only(p)) for p in subsets], sample_weight=weights)
        found, error = scores(explanation)[text.columns()], explanation.body.standard_error[text.columns()]
        assert (np.abs(found - fitted.coef_) <= 4 * error + 1e-6).all()
        assert error.max() < 0.2 * np.abs(found).max()


def test_draws_each_token_half_of_the_time_and_weighs_by_nearness() -> None:
    subsets, weights = Lime(2000, 0.3).draw(np.random.default_rng(0), 7)
    assert subsets.shape == (2000, 7)
    assert np.abs(subsets.mean(0) - 0.5).max() < 0.05
    assert len(np.unique(subsets, axis=0)) == 2**7
    assert weights == pytest.approx([nearness(present.astype(float), 0.3) for present in subsets])


def test_equals_captums_lime_on_the_same_samples() -> None:
    model = exact("bert")
    batch = model.encode(SHORT)
    explainer = Lime(80, ridge=0.2)
    for example, found, generator in zip(SHORT, explainer(model, batch), batch.generators(0), strict=True):
        text = Text(model, example)
        tokens = len(text.columns())
        drawn = iter(torch.from_numpy(explainer.draw(generator, tokens)[0]).float())

        def forward(present: torch.Tensor) -> torch.Tensor:
            return torch.tensor([text.output(text.only(row.tolist())) for row in present])  # noqa: B023

        def similarity(_one: Any, _two: Any, present: torch.Tensor, **_: Any) -> float:
            return nearness(present[0].numpy(), 0.25)

        captum = CaptumLime(
            forward,
            interpretable_model=SkLearnRidge(alpha=0.2),
            similarity_func=similarity,
            perturb_func=lambda *_, **__: next(drawn)[None],  # noqa: B023
        )
        wanted = captum.attribute(torch.ones(1, tokens), n_samples=80)
        assert scores(found)[text.columns()] == pytest.approx(wanted[0].numpy(), abs=1e-6)


def test_the_fit_is_that_of_scikit_learn() -> None:
    drawn = np.random.default_rng(3)
    samples, outputs, weights = drawn.random((60, 4)) < 0.5, drawn.normal(size=60), drawn.random(60)
    wanted = Ridge(alpha=0.5).fit(samples, outputs, sample_weight=weights).coef_
    found, error = least_squares(*map(torch.tensor, (samples.astype(float), outputs, weights)), 0.5)
    assert found.numpy() == pytest.approx(wanted, rel=1e-9)
    assert (error > 0).all()


def test_the_fit_is_that_of_scikit_learn_also_with_fewer_samples_than_unknowns() -> None:
    drawn = np.random.default_rng(3)
    samples, outputs, weights = drawn.random((20, 50)) < 0.5, drawn.normal(size=20), drawn.random(20)
    wanted = Ridge(alpha=0.5).fit(samples, outputs, sample_weight=weights).coef_
    found, error = least_squares(*map(torch.tensor, (samples.astype(float), outputs, weights)), 0.5)
    assert found.numpy() == pytest.approx(wanted, rel=1e-9)
    assert error.isnan().all()
    nothing, _ = least_squares(*map(torch.tensor, (samples.astype(float), outputs, 0 * weights)), 0.5)
    assert not nothing.any()


def test_no_more_samples_than_unknowns_have_no_standard_error() -> None:
    model = exact("bert")
    found = explain(Lime(5), model, SHORT)
    assert [bool(np.isnan(e.body.standard_error[e.content]).all()) for e in found] == [True, True]
    assert all(np.isfinite(scores(e)).all() for e in found)


def test_the_standard_error_is_calibrated() -> None:
    model = tiny.classifier()
    example = [tiny.Example("a", ("the food was very good and friendly",))]
    runs = [explain(Lime(100, output="logit", seed=seed), model, example)[0] for seed in range(30)]
    content = runs[0].content
    spread = np.std([scores(run)[content] for run in runs], axis=0, ddof=1)
    recorded = np.mean([run.body.standard_error[content] for run in runs], axis=0)
    assert ((recorded / spread > 0.5) & (recorded / spread < 2)).all()


@pytest.mark.parametrize("options", [{"samples": 1}, {"width": 0.0}, {"ridge": -1.0}])
def test_options_must_make_sense(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="samples must be at least 2, width above 0 and ridge at least 0"):
        Lime(**options)
