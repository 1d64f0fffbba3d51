"""Random scores of links: the floor that every method has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.alignment import cells
from rationales.explainers.base import aligners
from rationales.explainers.induced import LinkScorer
from rationales.models import Batch, CoAttentive
from rationales.registry import option


def link_random(batch: Batch, *, seed: int) -> Tensor:
    """Independent standard normal scores, [B, P, H], decided by the seed and each pair alone; 0 in padding."""
    there = cells(batch)
    scores = torch.zeros(there.shape)
    for row, (generator, own) in enumerate(zip(batch.generators(seed), there.cpu(), strict=True)):
        scores[row, own] = torch.from_numpy(generator.standard_normal(int(own.sum()))).float()
    return scores.to(there.device)


@aligners("link_random")
@dataclass(frozen=True)
class LinkRandom(LinkScorer):
    """Random scores, s_ij ~ N(0, 1): the floor that every method has to beat. Costs nothing."""

    seed: int = option(0, "seed of the random scores")

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:  # noqa: ARG002
        return link_random(batch, seed=self.seed)
