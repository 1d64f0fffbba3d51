"""Attention weights times their gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rationales.explainers.attention import read_out
from rationales.explainers.base import Explainer, explainers
from rationales.models import Attentive, Batch, over_rows, pick
from rationales.registry import option


def scaled_attention(
    model: Attentive,
    batch: Batch,
    targets: Tensor,
    *,
    layers: str = "last",
    heads: str = "all",
    create_graph: bool = False,
) -> Tensor:
    """α_i · mean over heads of ∂logit/∂A_i, [B, T]; see `ScaledAttention`."""
    with model.tap() as tap:

        def compute(part: Batch, rows: Tensor) -> Tensor:
            tap.clear()
            with torch.enable_grad():
                embeddings = model.embed(part)
                if not embeddings.requires_grad:
                    embeddings.requires_grad_()
                output = pick(model.logits_from(embeddings, part), targets[rows]).sum()
                gradients = torch.autograd.grad(
                    output, tap.probabilities, create_graph=create_graph, materialize_grads=True
                )
            weights = read_out(model, part, tap.probabilities, layers, heads)
            slopes = read_out(model, part, gradients, layers, heads)
            return weights * slopes if create_graph else (weights * slopes).detach()

        return over_rows(model, batch, compute, tokens=True)


@explainers("scaled_attention")
@dataclass(frozen=True)
class ScaledAttention(Explainer):
    """Attention times its gradient, α∇α, in the last layer (one forward and one backward pass).

    s_i = α_i · 1/H Σ_h ∂f_y/∂A^h[read-out, i], with α as in `attention`. Signed. Serrano and Smith (2019).
    """

    layers: str = option("last", 'which layers to average: "last", "all" or a number')
    heads: str = option("all", 'which heads to average: "all" or a number')
    needs: ClassVar[type] = Attentive

    def attribute(self, model: Attentive, batch: Batch, targets: Tensor) -> Tensor:  # type: ignore[override]
        return scaled_attention(model, batch, targets, layers=self.layers, heads=self.heads)
