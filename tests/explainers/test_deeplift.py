from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import DeepLift as CaptumDeepLift
from oracles import SOME, Text, close, exact, explain, scores
from torch import Tensor, nn
from torch.nn import functional as F

import tiny
from rationales.explainers import DeepLift
from rationales.explainers.deeplift import multipliers
from rationales.explainers.deeplift_rules import ELEMENTWISE, RULES, multipliers_mode

ROWS, WIDTH = 6, 8


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gap(function: Callable[[Tensor], Tensor], inputs: Tensor, references: Tensor) -> float:
    """How far multipliers times differences miss the difference of outputs, relative to the largest of these."""
    weights = draw(*function(inputs).shape[1:], seed=9)

    def output(both: Tensor) -> Tensor:
        return (function(both) * weights).flatten(1).sum(1)

    shared = (multipliers(output, inputs, references) * (inputs - references)).flatten(1).sum(1)
    change = output(inputs) - output(references)
    assert change.abs().max() > 1e-3
    return float((shared - change).abs().max() / change.abs().max())


def seen(keep: Tensor) -> Tensor:
    return torch.zeros(keep.shape, dtype=torch.float64).masked_fill(~keep, torch.finfo(torch.float64).min)


def projected(x: Tensor, seed: int) -> Tensor:
    return x @ draw(WIDTH, WIDTH, seed=seed)


def centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def heads(x: Tensor, number: int) -> Tensor:
    return x.view(-1, 5, 4, 2)[:, :, :number].transpose(1, 2)


class RMSNorm(nn.Module):
    """As Llama and T5 write it."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


KEEP = torch.tensor([[True] * 5 + [False] * 3])
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(-1),
    "softmax over the first of two": lambda x: x.softmax(1),
    "softmax with dtype": lambda x: F.softmax(3 * x, dim=-1, dtype=torch.float64),
    "softmax with an additive mask": lambda x: F.softmax(5 * x + seen(KEEP), dim=-1),
    "softmax with -inf": lambda x: x.masked_fill(~KEEP, -torch.inf).softmax(-1),
    "softmax where all is masked": lambda x: x.masked_fill(torch.arange(5)[:, None] == 2, -1e308).softmax(-1),
    "softmax of large numbers": lambda x: (100 * x).softmax(-1),
    "layer norm": lambda x: F.layer_norm(x, (WIDTH,), draw(WIDTH, seed=1), draw(WIDTH, seed=2), 1e-12),
    "layer norm by hand": lambda x: centred(x) / (centred(x) ** 2).mean(-1, keepdim=True).add(1e-5).sqrt(),
    "layer norm module": nn.LayerNorm(WIDTH, dtype=torch.float64).requires_grad_(False),
    "layer norm over two": lambda x: F.layer_norm(x, (5, WIDTH)),
    "rms norm": lambda x: F.rms_norm(x, (WIDTH,), draw(WIDTH, seed=1), 1e-6),
    "rms norm of Llama": RMSNorm(),
    "rms norm weight first": lambda x: draw(WIDTH, seed=1) * (torch.rsqrt(x.square().mean(-1, True) + 1e-6) * x),
    "matmul": lambda x: torch.matmul(x, projected(x, 1).transpose(1, 2)),
    "@": lambda x: x @ projected(x, 1).transpose(1, 2),
    "bmm": lambda x: torch.bmm(x, projected(x, 1).transpose(1, 2)),
    "baddbmm": lambda x: torch.baddbmm(x @ draw(WIDTH, 5), x, projected(x, 1).transpose(1, 2), beta=2.0, alpha=0.5),
    "baddbmm by keywords": lambda x: torch.zeros(len(x), 5, 5, dtype=x.dtype).baddbmm(
        batch1=x, batch2=projected(x, 1).transpose(1, 2)
    ),
    "einsum": lambda x: torch.einsum("bid,bjd->bij", x, projected(x, 1)),
    "einsum with a constant": lambda x: torch.einsum("bid,de->bie", x, draw(WIDTH, 3)),
    "product": lambda x: x * projected(x, 1),
    "product in place": lambda x: x.clone().mul_(projected(x, 1)),
    "product with a broadcast factor": lambda x: x * x.mean(-1, keepdim=True),
    "product with a constant": lambda x: x * draw(WIDTH, seed=4) * 3,
    "torch.multiply": lambda x: torch.multiply(x, projected(x, 1)),
    "division": lambda x: x / (2 + projected(x, 1).square()),
    "division by a constant": lambda x: x / 3 / draw(WIDTH, seed=4),
    "division of a constant": lambda x: 1 / (2 + x.square()),
    "division in place": lambda x: x.clone().div_(2 + x.square()),
    "power": lambda x: x**3 + torch.pow(x, 2),
    "square root": lambda x: (1 + x.square()).sqrt(),
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu by hand": lambda x: 0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.044715 * torch.pow(x, 3.0)))),
    "gelu by erf": lambda x: x * 0.5 * (1.0 + torch.erf(x / 2**0.5)),
    "swiglu": lambda x: F.silu(x) * projected(x, 1),
    "glu": lambda x: F.glu(x, -1),
    "relu in place": lambda x: F.relu(x.clone(), inplace=True),
    "relu module in place": lambda x: nn.ReLU(inplace=True)(x.clone()),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "attention": lambda x: F.scaled_dot_product_attention(projected(x, 1), projected(x, 2), projected(x, 3)),
    "causal attention": lambda x: F.scaled_dot_product_attention(projected(x, 1), x, projected(x, 3), is_causal=True),
    "masked attention": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.eye(5).bool().logical_not()),
    "attention with a bias": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=draw(5, 5, seed=6), scale=2.0),
    "grouped attention": lambda x: F.scaled_dot_product_attention(
        heads(x, 4), heads(projected(x, 1), 2), heads(projected(x, 2), 2), enable_gqa=True
    ),
}  # fmt: skip


class TestRules:
    """Each rule by itself shares out all of the difference."""

    @pytest.mark.parametrize("name", FUNCTIONS)
    @pytest.mark.parametrize("reference", ["zero", "other", "near", "same"])
    def test_adds_up(self, name: str, reference: str) -> None:
        inputs = draw(ROWS, 5, WIDTH)
        references = {
            "zero": torch.zeros_like(inputs),
            "other": draw(ROWS, 5, WIDTH, seed=5),
            "near": inputs + 1e-3 * draw(ROWS, 5, WIDTH, seed=5),
            "same": torch.where(torch.arange(WIDTH) % 2 == 0, inputs, draw(ROWS, 5, WIDTH, seed=5)),
        }[reference]
        assert gap(FUNCTIONS[name], inputs, references) < 1e-6

    @pytest.mark.parametrize("name", ELEMENTWISE)
    def test_functions_of_one_number(self, name: str) -> None:
        inputs, references = draw(ROWS, WIDTH).abs() + 0.1, draw(ROWS, WIDTH, seed=5).abs() + 0.1
        if name not in ("log", "sqrt", "reciprocal"):
            inputs, references = draw(ROWS, WIDTH), draw(ROWS, WIDTH, seed=5)
        if name == "log1p":
            inputs, references = inputs.abs(), references.abs()
        options: dict[str, Any] = {"min": -0.3, "max": 0.7} if name in ("clamp", "clip") else {}
        function = {"log_sigmoid": F.logsigmoid}.get(name) or getattr(torch, name, None) or getattr(F, name)
        assert gap(lambda x: function(x, **options), inputs, references) < 1e-9

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_values_are_those_of_the_function(self, name: str) -> None:
        both = torch.cat([draw(ROWS, 5, WIDTH), torch.zeros(ROWS, 5, WIDTH, dtype=torch.float64)])
        wanted = FUNCTIONS[name](both.clone())
        with multipliers_mode():
            found = FUNCTIONS[name](both.clone().requires_grad_())
        assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-12)

    def test_values_are_exact_where_the_multipliers_are_huge(self) -> None:
        """A surrogate of 1e190 beside a value of 1: in the sum of the two the value would vanish."""
        both = torch.cat([450 * draw(2, 8), torch.zeros(2, 8, dtype=torch.float64)])
        with multipliers_mode():
            found = both.clone().requires_grad_().softmax(-1)
        assert torch.allclose(found, both.softmax(-1), rtol=1e-9, atol=1e-15)

    def test_an_operation_in_place_changes_its_tensor(self) -> None:
        both = draw(4, 3).requires_grad_()
        with multipliers_mode():
            y = both + 0
            y.mul_(both)
            z = both + 0
            F.relu(z, inplace=True)
        assert torch.equal(y, both * both)
        assert torch.equal(z, both.relu())

    def test_every_rule_has_been_tried(self) -> None:
        tried = {"mul", "multiply", "div", "__rdiv__", "matmul", "bmm", "baddbmm", "einsum", "softmax", "layer_norm"}
        tried |= {"rms_norm", "scaled_dot_product_attention", "rsqrt", "pow", "glu", "divide", "true_divide"}
        assert set(RULES) == tried

    def test_without_gradients_nothing_is_touched(self) -> None:
        with multipliers_mode(), torch.no_grad():
            assert torch.equal(draw(4, 3).requires_grad_().softmax(-1), draw(4, 3).softmax(-1))


TOYS: dict[str, Callable[[], nn.Module]] = {
    "relu": lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)),
    "tanh": lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)),
    "sigmoid": lambda: nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 3)),
    "elu": lambda: nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8), nn.LeakyReLU(), nn.Linear(8, 3)),
    "softplus": lambda: nn.Sequential(nn.Linear(4, 8), nn.Softplus(), nn.Linear(8, 3)),
    "linear": lambda: nn.Linear(4, 3),
}  # fmt: skip


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize("reference", [0.0, 1.0])
def test_equals_captum_where_captum_is_exact(toy: str, reference: float) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = TOYS[toy]().double()
    inputs, references = draw(5, 4), reference * draw(5, 4, seed=5)
    found = multipliers(lambda x: network(x)[:, 1], inputs, references) * (inputs - references)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it sets hooks
        wanted = CaptumDeepLift(network).attribute(inputs, references, target=1)
    assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_the_example_of_the_paper() -> None:
    """Shrikumar et al. (2017), section 2: y = max(0, x - 10), reference 0, x = 10 + ε: all of y goes to x."""
    x = torch.tensor([[10.5]], dtype=torch.float64)
    found = multipliers(lambda both: torch.relu(both - 10)[:, 0], x, torch.zeros_like(x)) * x
    assert found.item() == pytest.approx(0.5)


@pytest.mark.parametrize("baseline", ["zero", "mask", "pad"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert", "llama", "gpt2", "deberta", "bart"])
def test_adds_up_on_real_architectures(kind: str, baseline: str) -> None:
    for attention in ("sdpa", "eager") if kind in ("bert", "llama", "modernbert") else (None,):
        model = tiny.classifier(kind, **({"attn_implementation": attention} if attention else {}))
        for explanation in explain(DeepLift(baseline), model):
            assert explanation.checks["completeness_error"] < 1e-3
            assert np.abs(scores(explanation)).max() > 1e-3


@pytest.mark.parametrize("kind", ["bert", "gpt2", "bart"])
def test_sums_to_the_true_difference(kind: str) -> None:
    """The difference is computed here, through `inputs_embeds` where the model takes it as we mean it."""
    model = exact(kind)
    for explanation, example in zip(explain(DeepLift(), model), SOME, strict=True):
        if kind == "bart":
            batch = model.encode([example])
            with torch.no_grad():
                output = [model.logits_from(scale * model.embed(batch), batch) for scale in (1, 0)]
                change = float((output[0] - output[1])[0, explanation.target.index])
                assert torch.equal(output[0], model.logits(batch))
        else:
            text = Text(model, example)
            with torch.no_grad():
                ends = text.logit_from(text.embeddings()), text.logit_from(torch.zeros_like(text.embeddings()))
                change = float(ends[0] - ends[1])
        assert scores(explanation).sum() == pytest.approx(change, rel=1e-7)


def test_the_norm_is_that_of_each_tokens_parts_and_adding_up_is_still_watched() -> None:
    model = exact("bert")
    for norm, added, example in zip(
        explain(DeepLift(aggregate="l2"), model), explain(DeepLift(), model), SOME, strict=True
    ):
        batch = model.encode([example])
        twice = batch.take(torch.tensor([0, 0]))
        embeddings = model.embed(batch).detach()
        index = added.target.index
        slopes = multipliers(
            lambda both, twice=twice, index=index: model.logits_from(both, twice)[:, index],
            embeddings,
            torch.zeros_like(embeddings),
        )
        parts = (slopes * embeddings)[0].numpy()
        assert close(scores(norm), np.sqrt((parts**2).sum(-1)))
        assert close(scores(added), parts.sum(-1))
        assert norm.checks["completeness_error"] == pytest.approx(added.checks["completeness_error"], abs=1e-9)


def test_eager_and_fused_attention_give_the_same() -> None:
    one, two = (explain(DeepLift(), exact("bert", attn_implementation=name)) for name in ("sdpa", "eager"))
    assert all(close(scores(a), scores(b)) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta"])
def test_small_differences_are_not_lost_to_rounding(kind: str, seed: int) -> None:
    """In float32, Δy/Δx with Δx near zero: scores in float32 and float64 must agree."""
    narrow, wide = tiny.classifier(kind, seed=seed), exact(kind, seed=seed)
    few = tiny.crowd()[:24]
    for a, b in zip(explain(DeepLift(), narrow, few), explain(DeepLift(), wide, few), strict=True):
        assert np.abs(scores(a) - scores(b)).max() < 1e-4 * max(1, np.abs(scores(b)).max())
