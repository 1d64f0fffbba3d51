from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import torch
from captum.attr import KernelShap as CaptumKernelShap
from oracles import Text, exact, explain, scores

import tiny
from rationales.errors import InputError
from rationales.explainers import KernelShap

SHORT = (
    tiny.Example("two", ("awful food",)),
    tiny.Example("three", ("so unfriendly",)),
    tiny.Example("six", ("the food was very very good",)),
    tiny.Example("pair", ("rude staff", "they hated it")),
)


def shapley(text: Text) -> np.ndarray:
    """φ_i = Σ_S |S|! (n - |S| - 1)! / n! · (f(S ∪ i) - f(S)), over all subsets."""
    columns = text.columns()
    n = len(columns)
    value = {present: text.output(text.only(present)) for present in product((0, 1), repeat=n)}
    phi = np.zeros(len(text.ids))
    for place, column in enumerate(columns):
        others = [i for i in range(n) if i != place]
        for size in range(n):
            for subset in combinations(others, size):
                without = tuple(int(i in subset) for i in range(n))
                having = tuple(int(i in subset or i == place) for i in range(n))
                phi[column] += (value[having] - value[without]) / (n * comb(n - 1, size))
    return phi


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_converges_to_exact_shapley_values(kind: str) -> None:
    model = exact(kind)
    for explanation, example in zip(explain(KernelShap(800), model, SHORT), SHORT, strict=True):
        text = Text(model, example)
        wanted, error = shapley(text), explanation.body.standard_error
        assert (np.abs(scores(explanation) - wanted) <= 4 * error + 1e-6).all()
        assert error.max() < 0.2 * np.abs(wanted).max()
        nothing = text.output(text.only([0] * len(text.columns())))
        assert scores(explanation).sum() == pytest.approx(text.output() - nothing, abs=1e-4)


def test_equals_captums_kernel_shap_on_the_same_subsets() -> None:
    model = exact("bert")
    batch = model.encode(SHORT)
    explainer = KernelShap(60)
    for example, found, generator in zip(SHORT, explainer(model, batch), batch.generators(0), strict=True):
        text = Text(model, example)
        tokens = len(text.columns())
        drawn = torch.from_numpy(explainer.draw(generator, tokens)[0]).float()

        def forward(present: torch.Tensor) -> torch.Tensor:
            return torch.tensor([text.output(text.only(row.tolist())) for row in present])  # noqa: B023

        def perturbed(*_: object, **__: object) -> Iterator[torch.Tensor]:
            yield from drawn.unsqueeze(1)  # noqa: B023

        captum = CaptumKernelShap(forward)
        captum.perturb_func = perturbed
        wanted = captum.attribute(torch.ones(1, tokens), n_samples=60)
        assert scores(found)[text.columns()] == pytest.approx(wanted[0].numpy(), abs=1e-5)


def test_draws_subsets_by_the_shapley_kernel() -> None:
    subsets, weights = KernelShap(20_002).draw(np.random.default_rng(0), 6)
    assert not subsets[0].any()
    assert subsets[1].all()
    assert weights[:2].tolist() == [1e6, 1e6]
    assert (weights[2:] == 1).all()
    sizes = np.arange(1, 6)
    wanted = 1 / (sizes * (6 - sizes))
    found = np.bincount(subsets[2:].sum(-1), minlength=7)[1:6] / 20_000
    assert found == pytest.approx(wanted / wanted.sum(), abs=0.015)
    pairs = subsets[2:][subsets[2:].sum(-1) == 2]
    assert pairs.mean(0) == pytest.approx(np.full(6, 2 / 6), abs=0.03)


def test_adds_up_with_few_samples_too() -> None:
    model = exact("bert")
    for explanation, example in zip(explain(KernelShap(40), model, tiny.singles()), tiny.singles(), strict=True):
        text = Text(model, example)
        nothing = text.output(text.only([0] * len(text.columns())))
        assert scores(explanation).sum() == pytest.approx(text.output() - nothing, abs=1e-4)


def test_the_standard_error_is_calibrated() -> None:
    model = tiny.classifier()
    example = [tiny.Example("a", ("the food was very good and friendly",))]
    runs = [explain(KernelShap(100, seed=seed), model, example)[0] for seed in range(30)]
    content = runs[0].content
    spread = np.std([scores(run)[content] for run in runs], axis=0, ddof=1)
    recorded = np.mean([run.body.standard_error[content] for run in runs], axis=0)
    assert ((recorded / spread > 0.5) & (recorded / spread < 2)).all()


def test_one_token_has_one_answer() -> None:
    model = exact("bert")
    (found,) = explain(KernelShap(), model, [tiny.Example("a", ("awful",))])
    text = Text(model, tiny.Example("a", ("awful",)))
    assert scores(found) == pytest.approx([0, text.output() - text.output(text.only([0])), 0])
    assert not found.body.standard_error.any()


def test_too_few_samples() -> None:
    with pytest.raises(InputError, match="samples must be at least 3, got 2"):
        KernelShap(2)
