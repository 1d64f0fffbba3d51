"""LIME on links: a linear model of what the model does with subsets of the links between two texts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.alignment import cells, in_groups, linked_logits
from rationales.explainers.base import Links, aligners
from rationales.explainers.induced import LinkScorer
from rationales.explainers.lime import Lime
from rationales.explainers.surrogate import fitted
from rationales.models import Batch, CoAttentive, Output, chosen
from rationales.registry import option


@aligners("link_lime")
@dataclass(frozen=True)
class LinkLime(LinkScorer):
    """Coefficients of a linear model fitted to the output on random subsets of the links (`samples` forward passes).

    β = argmin Σ_z π(z) (f_y(x_z) - β₀ - βᵀz)² + λ‖β‖², with z_ij ~ Bernoulli(½), weights π(z) = exp(-d²/width²) and d
    the cosine distance from z to all links. Signed. Ribeiro et al. (2016).
    """

    samples: int = option(1000, "subsets per pair")
    width: float = option(0.25, "width of the kernel over cosine distances")
    ridge: float = option(1.0, "penalty λ on the coefficients")
    output: Output = option("probability", "the output that is fitted")
    seed: int = option(0, "seed of the subsets")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lime()

    def _lime(self) -> Lime:
        """The same on tokens, which knows what options may be."""
        return Lime(self.samples, self.width, self.ridge)

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Links:
        def compute(part: Batch, rows: Tensor) -> Links:
            return Links(self._fitted(model, part, targets[rows]))

        with torch.no_grad():
            return in_groups(batch, self.samples, compute)

    def _fitted(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor:
        """Coefficients [B, P, H]; holds all subsets of all rows."""
        there = cells(batch)

        def ask(rows: Tensor, drop: Tensor) -> Tensor:
            def links(numbers: Tensor) -> Tensor:
                return ~drop[numbers.cpu()].to(there.device).view(-1, *there.shape[1:])

            return chosen(model, linked_logits(model, batch, rows, links), targets[rows], self.output)

        found = fitted(there.flatten(1), batch.generators(self.seed), self._lime().draw, ask, self.ridge)
        return found.values.view(there.shape)
