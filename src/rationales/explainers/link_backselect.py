"""Backward selection of links: take away the least missed link between two texts, again and again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rationales.explainers.alignment import cells, linked_logits
from rationales.explainers.backselect import rounds_of_removal
from rationales.explainers.base import aligners
from rationales.explainers.induced import LinkScorer
from rationales.models import Batch, CoAttentive, Output, chosen
from rationales.registry import option


def link_backselect(model: CoAttentive, batch: Batch, targets: Tensor, *, output: Output = "probability") -> Tensor:
    """The round in which a link was taken away, 1 for the first, [B, P, H]; 0 in padding, NaN without outputs."""
    there = cells(batch)

    def without(left: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        def links(numbers: Tensor) -> Tensor:
            others = left[rows[numbers]] & ~one_hot(places[numbers], left.shape[1]).bool()
            return others.view(-1, *there.shape[1:])

        return chosen(model, linked_logits(model, batch, rows, links), targets[rows], output)

    return rounds_of_removal(there.flatten(1), without).view(there.shape)


@aligners("link_backselect")
@dataclass(frozen=True)
class LinkBackSelect(LinkScorer):
    """The order in which links can be spared (about m²/2 forward passes for the m = P·H links of P and H tokens).

    Again and again the link is removed without which the output stays highest; s_ij is the round in which link ij went,
    so the link that mattered to the end has the largest score. Only the order means something. Carter et al. (2019).
    """

    output: Output = option("probability", "the output that is watched")

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:
        with torch.no_grad():
            return link_backselect(model, batch, targets, output=self.output)
