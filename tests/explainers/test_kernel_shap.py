from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
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
