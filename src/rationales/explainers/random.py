"""Random scores: the floor that every method has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.base import Explainer, explainers
from rationales.models import Batch, Model
from rationales.registry import option


def random(batch: Batch, *, seed: int) -> Tensor:
    """Independent standard normal scores, [B, T], decided by the seed and each text alone."""
    scores = torch.zeros(batch.ids.shape)
    for row, (generator, keep) in enumerate(zip(batch.generators(seed), batch.keep.cpu(), strict=True)):
        scores[row, keep] = torch.from_numpy(generator.standard_normal(int(keep.sum()))).float()
    return scores.to(batch.ids.device)


@explainers("random")
@dataclass(frozen=True)
class Random(Explainer):
    """Random scores, s_i ~ N(0, 1): the floor that every method has to beat. Costs nothing."""

    seed: int = option(0, "seed of the random scores")

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor:  # noqa: ARG002
        return random(batch, seed=self.seed)
