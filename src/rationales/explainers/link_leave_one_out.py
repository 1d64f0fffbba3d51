"""Leave one link between two texts out and see what changes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rationales.explainers.alignment import cells, linked_logits
from rationales.explainers.base import aligners
from rationales.explainers.induced import LinkScorer
from rationales.models import Batch, CoAttentive, Output, chosen, predict
from rationales.registry import option


def link_leave_one_out(model: CoAttentive, batch: Batch, targets: Tensor, *, output: Output = "probability") -> Tensor:
    """f_y(x) - f_y(x with z_ij = 0), [B, P, H]; 0 in padding."""
    there = cells(batch)
    rows, places = torch.nonzero(there.flatten(1), as_tuple=True)

    def links(numbers: Tensor) -> Tensor:
        return 1 - one_hot(places[numbers], there[0].numel()).view(-1, *there.shape[1:])

    without = chosen(model, linked_logits(model, batch, rows, links), targets[rows], output)
    whole = chosen(model, predict(model, batch), targets, output)
    return torch.zeros(there.shape).to(whole).masked_scatter(there, whole[rows] - without)


@aligners("link_leave_one_out")
@dataclass(frozen=True)
class LinkLeaveOneOut(LinkScorer):
    """How much the output falls when a link is left out (P·H forward passes for texts of P and H tokens).

    s_ij = f_y(x) - f_y(x with z_ij = 0), where z multiplies the attention between the texts. Signed. Li et al. (2016).
    """

    output: Output = option("probability", "the output that is watched")

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:
        with torch.no_grad():
            return link_leave_one_out(model, batch, targets, output=self.output)
