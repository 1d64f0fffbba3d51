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
from rationales.explainers import Lime, lime
from rationales.explainers.surrogate import LeastSquares

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


def test_fits_what_it_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples, outputs, weights and coefficients of one fit, each computed a second time."""
    drawn: list[Any] = []
    fit = LeastSquares.fit

    def spy(self: LeastSquares, train_data: Any, **rest: Any) -> None:
        drawn.extend(train_data)
        fit(self, drawn, **rest)

    monkeypatch.setattr(LeastSquares, "fit", spy)
    model = exact("bert")
    (found,) = explain(Lime(60, 0.3, 0.5), model, SHORT[:1])
    text = Text(model, SHORT[0])
    samples, outputs, weights = (torch.cat(column).double().numpy() for column in zip(*drawn, strict=True))
    assert samples.shape == (60, 4)
    assert 0.4 < samples.mean() < 0.6
    for present, output, weight in zip(samples, outputs.ravel(), weights.ravel(), strict=True):
        assert output == pytest.approx(text.output(text.only(present)), abs=1e-6)
        assert weight == pytest.approx(nearness(present, 0.3), abs=1e-6)
    wanted = Ridge(alpha=0.5).fit(samples, outputs.ravel(), sample_weight=weights.ravel()).coef_
    assert scores(found)[1:-1] == pytest.approx(wanted, rel=1e-6)


def test_equals_captums_lime_on_the_same_samples() -> None:
    model = exact("bert")
    batch = model.encode(SHORT[:1])
    (found,) = Lime(80, ridge=0.2)(model, batch)
    text = Text(model, SHORT[0])

    def forward(present: torch.Tensor) -> torch.Tensor:
        return torch.tensor([text.output(text.only(row.tolist())) for row in present])

    def similarity(_one: Any, _two: Any, present: torch.Tensor, **_: Any) -> float:
        return nearness(present[0].numpy(), 0.25)

    captum = CaptumLime(forward, interpretable_model=SkLearnRidge(alpha=0.2), similarity_func=similarity)
    with torch.random.fork_rng():
        torch.manual_seed(int(batch.generators(0)[0].integers(2**63)))
        wanted = captum.attribute(torch.ones(1, 4), n_samples=80)
    assert scores(found)[1:-1] == pytest.approx(wanted[0].numpy(), abs=1e-6)


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


def test_captum_missing_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])

    monkeypatch.setattr("rationales.errors.import_module", absent)
    with pytest.raises(ImportError, match=r'lime needs the package .* pip install "rationales\[captum\]"'):
        explain(Lime(), tiny.classifier())
    assert lime.Lime is Lime
