"""The gradient of the output with respect to the links between two texts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.alignment import cells, logits_under
from rationales.explainers.base import aligners
from rationales.explainers.induced import LinkScorer
from rationales.models import Batch, CoAttentive, Output, chosen, over_rows, predict
from rationales.registry import option


def output_and_slopes(
    model: CoAttentive, part: Batch, targets: Tensor, links: Tensor, output: Output
) -> tuple[Tensor, Tensor]:
    """f_y [n] and ∂f_y/∂z [n, P, H] where the links are so strong, [n, P, H]."""
    with torch.enable_grad():
        links = links.detach().requires_grad_()
        value = chosen(model, logits_under(model, part, links), targets, output)
        (slopes,) = torch.autograd.grad(value.sum(), links)
    return value.detach(), slopes


def link_gradient(model: CoAttentive, batch: Batch, targets: Tensor, *, output: Output = "probability") -> Tensor:
    """|∂f_y/∂z_ij| at z = 1, [B, P, H]."""
    _, first, second = cells(batch).shape
    logits = predict(model, batch)

    def compute(part: Batch, rows: Tensor) -> Tensor:
        _, slopes = output_and_slopes(model, part, targets[rows], logits.new_ones(len(part), first, second), output)
        return slopes.abs()

    return over_rows(model, batch, compute)


@aligners("link_gradient")
@dataclass(frozen=True)
class LinkGradient(LinkScorer):
    """Size of the gradient with respect to each link (one forward and one backward pass).

    s_ij = |∂f_y/∂z_ij| at z = 1, where z multiplies the attention between the texts. Not signed. Simonyan et al.
    (2014).
    """

    output: Output = option("probability", "the output whose gradient is taken")

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:
        return link_gradient(model, batch, targets, output=self.output)
