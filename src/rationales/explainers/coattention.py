"""The model's own attention between the two texts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.alignment import cells, widened
from rationales.explainers.base import aligners
from rationales.explainers.induced import LinkScorer
from rationales.models import Batch, CoAttentive, over_rows


def coattention(model: CoAttentive, batch: Batch) -> Tensor:
    """The mean of the attention in both directions, [B, P, H], as far as the batch lets it through."""
    _, first, second = shape = cells(batch).shape
    weights = over_rows(model, batch, lambda part, _: widened(model.coattention(part), shape))
    return weights if batch.alignment is None else weights * batch.alignment[:, :first, :second]


@aligners("coattention")
@dataclass(frozen=True)
class CoAttention(LinkScorer):
    """How much attention the two tokens of a link pay to each other (one forward pass).

    s_ij = (A_ij + A_ji) / 2, where A are attention weights from one text to the other; in models of several layers and
    heads, their mean. Not signed; the same for every target. Parikh et al. (2016).
    """

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:  # noqa: ARG002
        with torch.no_grad():
            return coattention(model, batch)
