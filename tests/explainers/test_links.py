"""Each method that scores links against its equation, written out cell by cell and pair by pair in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients as CaptumIntegratedGradients
from one_pair import KINDS, SOME, Pair, close, each, exact, weights
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import tiny
from planted_links import deciding, planted_model, planted_pairs
from rationales.errors import InputError, QualityWarning
from rationales.explainers import (
    CoAttention,
    LinkBackSelect,
    LinkGradient,
    LinkIntegratedGradients,
    LinkLeaveOneOut,
    LinkLime,
    LinkRandom,
    alignment,
)

ANY = 1e9
"""A tolerance that is always met: nothing is warned about."""
ROUNDED = 1e-9
"""What differences of outputs, divided by a step of 1e-5, are exact to."""

every = pytest.mark.parametrize("kind", KINDS)
outputs = pytest.mark.parametrize(("kind", "output"), [*((kind, "probability") for kind in KINDS), ("da", "logit")])


def softmax(scores: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


class TestCoAttention:
    @pytest.mark.parametrize("kind", ["da", "esim"])
    def test_is_the_mean_of_both_softmaxes(self, kind: str) -> None:
        model = exact(kind)
        reader = model.network.reader
        for pair, found in each(CoAttention(), model):
            vectors = [model.embed(pair.batch)[:, pair.batch.segments[0] == side] for side in (0, 1)]
            with torch.no_grad():
                if kind == "da":
                    first, second = (reader.attend(reader.project(side))[0].numpy() for side in vectors)
                else:
                    first, second = (
                        reader.reader(side, torch.ones(1, side.shape[1], dtype=torch.bool))[0].numpy()
                        for side in vectors
                    )
            scores = np.array([[one @ other for other in second] for one in first])
            assert close(found, (softmax(scores, 1) + softmax(scores, 0)) / 2)

    def test_is_the_mean_over_layers_and_heads_and_both_blocks(self) -> None:
        model = exact("bert")
        eager = tiny.network("bert", attn_implementation="eager").double()
        for pair, found in each(CoAttention(), model):
            batch = pair.batch
            with torch.no_grad():
                seen = eager(batch.ids, token_type_ids=batch.types, output_attentions=True).attentions
            maps = torch.stack(seen)[:, 0].flatten(0, 1).mean(0).numpy()  # [T, T]
            first, second = (np.flatnonzero(batch.segments[0].numpy() == side) for side in (0, 1))
            wanted = np.array([[(maps[i, j] + maps[j, i]) / 2 for j in second] for i in first])
            assert close(found, wanted)


class TestLeaveOneOut:
    @outputs
    def test_is_what_a_missing_link_takes_away(self, kind: str, output: str) -> None:
        for pair, found in each(LinkLeaveOneOut(output), exact(kind)):
            wanted = np.zeros(pair.shape)
            for cell in pair.cells():
                links = np.ones(pair.shape)
                links[cell] = 0
                wanted[cell] = pair.output(np.ones(pair.shape), output) - pair.output(links, output)
            assert close(found, wanted)


class TestBackSelect:
    @outputs
    def test_is_brute_force(self, kind: str, output: str) -> None:
        for pair, found in each(LinkBackSelect(output), exact(kind), SOME[1:]):
            wanted, left = np.zeros(pair.shape), np.ones(pair.shape)
            for number in range(1, left.size + 1):
                best, gone = -np.inf, None
                for cell in pair.cells():
                    if left[cell]:
                        links = left.copy()
                        links[cell] = 0
                        outcome = pair.output(links, output)
                        if outcome >= best - 1e-6 * max(1.0, abs(best)):
                            best, gone = max(best, outcome), cell
                wanted[gone], left[gone] = number, 0
            assert np.array_equal(found, wanted)


class TestLime:
    @every
    def test_is_weighted_ridge_regression(self, kind: str) -> None:
        method = LinkLime(samples=30, width=0.4, ridge=0.7, seed=3)
        for pair, found in each(method, exact(kind)):
            whole = np.ones(pair.shape)
            if whole.size == 1:
                assert close(found, np.array([[pair.output(whole) - pair.output(whole - 1)]]))
                continue
            (generator,) = pair.batch.generators(3)
            subsets = (generator.random((30, whole.size)) < 0.5).astype(float)
            cosine = [
                z @ whole.ravel() / (np.linalg.norm(z) * np.linalg.norm(whole)) if z.any() else 0 for z in subsets
            ]
            roots = np.sqrt(np.exp(-((1 - np.array(cosine)) ** 2) / 0.4**2))
            seen = np.array([pair.output(z.reshape(pair.shape)) for z in subsets])
            design = np.column_stack([subsets, np.ones(30)])
            penalty = np.sqrt(0.7) * np.eye(whole.size, whole.size + 1)  # rows of pretended data; not for the intercept
            stacked = np.vstack([roots[:, None] * design, penalty])
            fit, *_ = np.linalg.lstsq(stacked, np.append(roots * seen, np.zeros(whole.size)), rcond=None)
            assert close(found, fit[:-1].reshape(pair.shape))


def slopes(pair: Pair, links: np.ndarray, output: str = "probability") -> np.ndarray:
    """∂f_y/∂z by differences."""
    found = np.zeros(pair.shape)
    for cell in pair.cells():
        step = np.zeros(pair.shape)
        step[cell] = 1e-5
        found[cell] = (pair.output(links + step, output) - pair.output(links - step, output)) / 2e-5
    return found


class TestGradient:
    @outputs
    def test_is_the_size_of_differences(self, kind: str, output: str) -> None:
        for pair, found in each(LinkGradient(output), exact(kind)):
            assert close(found, np.abs(slopes(pair, np.ones(pair.shape), output)), 1e-6, ROUNDED)


class TestIntegratedGradients:
    @outputs
    def test_is_the_quadrature_of_the_definition(self, kind: str, output: str) -> None:
        nodes, parts = np.polynomial.legendre.leggauss(5)
        method = LinkIntegratedGradients(5, ANY, rule="gauss", output=output)
        for pair, found in each(method, exact(kind), SOME[:2]):
            wanted = np.zeros(pair.shape)
            for node, part in zip(nodes, parts, strict=True):
                wanted += part / 2 * slopes(pair, np.full(pair.shape, (node + 1) / 2), output)
            assert close(found, wanted, 1e-6, ROUNDED)

    @every
    def test_equals_captum(self, kind: str) -> None:
        model = exact(kind)
        for pair, found in each(LinkIntegratedGradients(12, ANY, rule="gauss"), model):

            def forward(links: Tensor, pair: Pair = pair) -> Tensor:
                many = pair.batch.take(torch.zeros(len(links), dtype=torch.long))
                return model.logits(many, alignment=links).softmax(-1)[:, pair.target]

            ones = torch.ones(1, *pair.shape, dtype=torch.float64)
            wanted = CaptumIntegratedGradients(forward).attribute(ones, n_steps=12, method="gausslegendre")
            assert close(found, wanted[0].detach().numpy())

    @every
    def test_adds_up_and_says_how_well(self, kind: str) -> None:
        model = exact(kind)
        found = LinkIntegratedGradients(steps=3, tolerance=1e-4)(model, model.encode(SOME))
        for example, explanation in zip(SOME, found, strict=True):
            pair = Pair(model, example)
            change = pair.output(np.ones(pair.shape)) - pair.output(np.zeros(pair.shape))
            gap = abs(weights(explanation).sum() - change) / max(abs(change), 0.01)
            assert explanation.checks["completeness_error"] == pytest.approx(gap, abs=1e-9)
            assert gap <= 1e-4
            assert explanation.checks["steps"] >= 3

    def test_warns_where_called_when_it_does_not_add_up(self) -> None:
        model = tiny.coattentive("esim")
        with pytest.warns(QualityWarning, match=r"link_integrated_gradients: \d of 5 texts do not add up") as caught:
            LinkIntegratedGradients(steps=1, tolerance=1e-9, rule="gauss")(model, model.encode(SOME))
        assert caught[0].filename == __file__

    def test_bad_steps(self) -> None:
        with pytest.raises(InputError, match=r"steps must lie in 1 … max_steps \(4\), got 5"):
            LinkIntegratedGradients(steps=5, max_steps=4)


class TestRandom:
    def test_is_standard_normal(self) -> None:
        model = tiny.coattentive("da")
        long = tiny.Example("long", ("so good " * 40, "so bad " * 30))
        model.max_length = 200
        found = weights(LinkRandom()(model, model.encode([long]))[0])
        assert found.shape == (80, 60)
        assert abs(found.mean()) < 0.05
        assert abs(found.std() - 1) < 0.05
        assert len(np.unique(found)) == found.size


class Largest(TorchDispatchMode):
    """The bytes of the largest tensor that is made."""

    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for made in found if isinstance(found, tuple | list) else (found,):
            if isinstance(made, Tensor):
                self.bytes = max(self.bytes, made.untyped_storage().nbytes())
        return found


class TestMemory:
    """A round is explained in groups where that saves memory, and nothing else is different."""

    METHODS = (
        LinkLime(40, within=0.3),
        LinkIntegratedGradients(within=0.3),
        LinkIntegratedGradients(steps=5, rule="gauss", tolerance=ANY),
    )

    @pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'rule', '')}")
    @every
    def test_groups_change_nothing(self, kind: str, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        model = exact(kind)
        wanted = method(model, model.encode(SOME))
        for held in (1, 4000, 30_000):
            monkeypatch.setattr(alignment, "HELD", held)
            for one, other in zip(wanted, method(model, model.encode(SOME)), strict=True):
                assert close(weights(other), weights(one), 1e-9)
                assert (one.id, dict(one.checks)) == (other.id, pytest.approx(dict(other.checks), abs=1e-9))
                assert np.array_equal(one.body.keep, other.body.keep)

    @pytest.mark.parametrize("method", [LinkLime(120), LinkIntegratedGradients(20, rule="gauss", tolerance=ANY)])
    def test_one_long_pair_does_not_make_all_wide(self, method: Any) -> None:
        model = tiny.coattentive("da")
        model.max_length = 240
        long = tiny.Example("long", ("good " * 120, "bad " * 120))
        batch = model.encode([long, *[tiny.pairs()[0]] * 63])
        with Largest() as largest:
            found = method(model, batch)
        assert weights(found[0]).shape == (120, 120)
        assert close(weights(found[1]), weights(found[63]), 1e-4)
        assert largest.bytes <= alignment.HELD


@pytest.mark.parametrize(
    "method",
    [
        LinkLeaveOneOut(within=0.1),
        LinkBackSelect(within=0.1),
        LinkLime(200, within=0.1),
        LinkGradient(within=0.1),
        LinkIntegratedGradients(within=0.1),
    ],
    ids=lambda method: method.name,
)
def test_finds_the_link_that_decides(method: Any) -> None:
    model, examples = planted_model(), planted_pairs(12)
    for example, explanation in zip(examples, method(model, model.encode(examples)), strict=True):
        wanted = np.zeros(weights(explanation).shape, dtype=bool)
        wanted[deciding(example)] = True
        assert np.array_equal(explanation.body.keep, wanted)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (LinkLime, {"samples": 1}, "samples must be at least 2"),
        (LinkLime, {"width": 0.0}, "width above 0"),
        (LinkGradient, {"output": "odds"}, "output must be one of logit, probability"),
        (LinkRandom, {"seed": -1}, "seed must not be negative"),
        (CoAttention, {"within": -0.5}, "within is a distance and must not be negative, got -0.5"),
        (CoAttention, {"within": float("nan")}, "within must be a finite number"),
    ],
)
def test_bad_options(method: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        method(**options)
