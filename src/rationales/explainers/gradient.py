"""The gradient of the output with respect to the word embeddings."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rationales.explainers.base import Explainer, explainers
from rationales.models import Batch, Differentiable, over_rows, pick
from rationales.registry import option

Norm: TypeAlias = Literal["l2", "mean"]


def output_and_gradient(
    model: Differentiable, part: Batch, targets: Tensor, point: Tensor, *, create_graph: bool = False
) -> tuple[Tensor, Tensor]:
    """f_y [n] and ∂f_y/∂e [n, T, d] at the embeddings `point`."""
    # Fused attention kernels have no second derivative.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH) if create_graph else nullcontext():
        if not (create_graph and point.requires_grad):
            point = point.detach().requires_grad_()
        output = pick(model.logits_from(point, part), targets)
        (gradient,) = torch.autograd.grad(output.sum(), point, create_graph=create_graph)
    return output, gradient


def embedding_gradient(
    model: Differentiable, part: Batch, targets: Tensor, point: Tensor, *, create_graph: bool = False
) -> Tensor:
    """∂f_y/∂e at the embeddings `point`, [n, T, d]."""
    return output_and_gradient(model, part, targets, point, create_graph=create_graph)[1]


def reduced(vectors: Tensor, norm: Norm) -> Tensor:
    """[…, d] → […]."""
    # The mean of signed derivatives would say nothing: behind a LayerNorm, as in BERT, it is 0 for every token.
    return vectors.norm(dim=-1) if norm == "l2" else vectors.abs().mean(-1)


def gradient(
    model: Differentiable, batch: Batch, targets: Tensor, *, norm: Norm = "l2", create_graph: bool = False
) -> Tensor:
    """‖∂f_y/∂e_i‖₂ or the mean of |∂f_y/∂e_id| over d, [B, T]."""

    def compute(part: Batch, rows: Tensor) -> Tensor:
        slopes = embedding_gradient(model, part, targets[rows], model.embed(part), create_graph=create_graph)
        return reduced(slopes, norm)

    return over_rows(model, batch, compute, tokens=True)


@explainers("gradient")
@dataclass(frozen=True)
class Gradient(Explainer):
    """Size of the gradient with respect to each word embedding (one forward and one backward pass).

    s_i = ‖∂f_y/∂e_i‖₂, or the mean of |∂f_y/∂e_id| over the d dimensions. Not signed. Simonyan et al. (2014).
    """

    norm: Norm = option("l2", "how the d partial derivatives of a token become one number")
    needs: ClassVar[type] = Differentiable

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Tensor:  # type: ignore[override]
        return gradient(model, batch, targets, norm=self.norm)
