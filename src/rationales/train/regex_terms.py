"""The terms with which REGEX makes a classifier's attributions faithful: see `regex.py`.

smoothness   mean over texts of ‖∂ℓ/∂e‖₂, the gradient of the loss with respect to the word embeddings
stability    how far the prediction moves under the worst small perturbation of the embeddings
agreement    how far attention is from what an attribution method says
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import log_softmax

from rationales.explainers.deeplift import deeplift
from rationales.explainers.gradient import gradient
from rationales.explainers.input_x_gradient import input_x_gradient
from rationales.explainers.integrated_gradients import integrated_gradients
from rationales.models import Batch, Differentiable

Guide: TypeAlias = Literal["integrated_gradients", "gradient", "input_x_gradient", "deeplift"]
Aggregate: TypeAlias = Literal["l2", "mean"]
Projection: TypeAlias = Literal["normalize", "ball"]
Direction: TypeAlias = Literal["forward", "reverse"]

TINY = 1e-12


def smoothness(loss: Tensor, embeddings: Tensor, rows: int) -> Tensor:
    """Mean of ‖∂ℓ_b/∂e_b‖₂ over the first `rows` texts, with its graph.

    `loss` is the sum over these texts, so that a text's gradient does not depend on how many others there are.
    """
    (slopes,) = torch.autograd.grad(loss, embeddings, create_graph=True)
    return (slopes[:rows].flatten(1).square().sum(1) + TINY).sqrt().mean()


def norm_of(tensors: Sequence[Tensor]) -> Tensor:
    """‖·‖₂ of all of them together, at a few kernels for all forward and backward: a graph would take four for each."""
    total: Tensor = _Norm.apply(*tensors)
    return total


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        total: Tensor = torch.stack(torch._foreach_norm(tensors)).norm()
        ctx.save_for_backward(total, *tensors)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, ...]:
        total, *tensors = ctx.saved_tensors
        return tuple(torch._foreach_mul(tensors, slope / total.clamp(min=TINY)))


def divergence(of: Tensor, to: Tensor) -> Tensor:
    """KL(p ‖ q) of the classes, p and q given by logits [B, C], averaged over texts."""
    known, other = log_softmax(of, -1), log_softmax(to, -1)
    return (known.exp() * (known - other)).sum(-1).mean()


def stability(perturbed: Tensor, clean: Tensor) -> Tensor:
    """How far two predictions are apart, both ways; each moves towards the other, which stands still."""
    return divergence(clean.detach(), perturbed) + divergence(perturbed.detach(), clean)


def worst_perturbation(
    predict: Callable[[Tensor], Tensor],
    clean: Tensor,
    like: Tensor,
    keep: Tensor,
    *,
    steps: int,
    rate: float,
    start: float,
    project: Callable[[Tensor], Tensor],
) -> Tensor:
    """A perturbation [B, T, d] that moves the prediction away from `clean` [B, C]; zero at padding.

    δ ~ N(0, start²), then `steps` times δ ← project(δ + rate · ∇_δ KL(f(x + δ) ‖ f(x))). Miyato et al. (2018), Jiang et
    al. (2020).
    """
    inside = keep.unsqueeze(-1)
    delta = torch.randn_like(like) * start * inside
    for _ in range(steps):
        delta = delta.detach().requires_grad_()
        moved = len(clean) * divergence(predict(delta), clean.detach())
        (uphill,) = torch.autograd.grad(moved, delta)
        delta = project(delta.detach() + rate * uphill) * inside
    return delta.detach()


def projected(delta: Tensor, how: Projection, size: Tensor | float, epsilon: float) -> Tensor:
    """The perturbation of a wanted size.

    "normalize": the largest component of each token's becomes `size`, as programs do it, where ε only keeps the
    division finite. "ball": no component above ε, as the text of papers has it; with ε = 10⁻⁵ nothing is perturbed,
    and what the term compares are two passes with other dropout.
    """
    if how == "ball":
        return delta.clamp(-epsilon, epsilon)
    return delta / (delta.abs().amax(-1, keepdim=True) + epsilon) * size


def importance(
    model: Differentiable, batch: Batch, targets: Tensor, guide: Guide, aggregate: Aggregate, steps: int
) -> Tensor:
    """What the guide says of each token, [B, T], as shares of the whole that add up to 1; 0 for special ones.

    The model is in evaluation mode meanwhile, and nothing of it has a graph. `aggregate` makes one number of a token's
    dimensions: their ℓ2 norm or their mean, whose sign is left out.
    """
    kind: Literal["l2", "sum"] = "l2" if aggregate == "l2" else "sum"  # a mean, but for a factor
    with model.borrowed():
        if guide == "integrated_gradients":
            values = integrated_gradients(model, batch, targets, steps=steps, rule="gauss", aggregate=kind)
        elif guide == "input_x_gradient":
            values = input_x_gradient(model, batch, targets, aggregate=kind)
        elif guide == "deeplift":
            values = deeplift(model, batch, targets, aggregate=kind)
        else:
            values = gradient(model, batch, targets, norm=aggregate)
    return shares(values.detach().abs(), batch)


def shares(values: Tensor, batch: Batch) -> Tensor:
    """Values [B, T] of the texts' own tokens, divided by their sum; 0 for others."""
    own = values * batch.content
    return own / own.sum(-1, keepdim=True).clamp(min=TINY)


def least_important(values: Tensor, batch: Batch, share: float) -> Tensor:
    """The lowest max(1, ⌈share · n⌉) of a text's n tokens, [B, T]; never a special one."""
    content = batch.content
    number = (share * content.sum(-1, keepdim=True)).round(decimals=4).ceil().clamp(min=1)
    order = values.masked_fill(~content, torch.inf).argsort(dim=-1, stable=True)
    places = torch.arange(values.shape[1], device=values.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, places)
    return content & (rank < number)


def agreement(guide: Tensor, attention: Tensor, batch: Batch, direction: Direction) -> Tensor:
    """KL(guide ‖ attention) over the tokens of each text, or the other way round, averaged over texts.

    Both are shares [B, T]; only attention learns. A text without tokens of its own counts 0.
    """
    wanted, given = guide.detach(), shares(attention, batch)
    ratio = (wanted + TINY).log() - (given + TINY).log()
    terms = wanted * ratio if direction == "forward" else -given * ratio
    return (terms * batch.content).sum(-1).mean()
