"""Integrated gradients, which know how far they are from adding up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.baseline import Baseline, baseline_embeddings, relative_gap, warn_of_gaps
from rationales.explainers.gradient import embedding_gradient
from rationales.models import Batch, Differentiable, over, over_rows, pick
from rationales.registry import option


@cache
def gauss_legendre(steps: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights of the quadrature on [0, 1], float64, [steps] each."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return torch.from_numpy((nodes + 1) / 2), torch.from_numpy(weights / 2)


def integrated_gradients(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    *,
    steps: int = 50,
    baseline: Baseline = "zero",
    create_graph: bool = False,
) -> Tensor:
    """Σ_d (e - e⁰) ∫₀¹ ∂f_y/∂e (e⁰ + a (e - e⁰)) da, [B, T]; see `IntegratedGradients`."""
    nodes, weights = gauss_legendre(steps)
    nodes, weights = nodes.to(batch.ids.device), weights.to(batch.ids.device)

    def compute(part: Batch, numbers: Tensor) -> Tensor:
        slopes, way = _slopes(model, part, targets[numbers // steps], nodes[numbers % steps], baseline, create_graph)
        return (way * slopes).sum(-1) * weights[numbers % steps].to(slopes).unsqueeze(-1)

    rows = torch.arange(len(batch)).repeat_interleave(steps)
    return over(model, batch, rows, compute, tokens=True).view(len(batch), steps, -1).sum(1)


def _slopes(
    model: Differentiable, part: Batch, targets: Tensor, where: Tensor, baseline: Baseline, create_graph: bool
) -> tuple[Tensor, Tensor]:
    """The gradient at the given points of the way, and the way e - e⁰, [n, T, d] each."""
    embeddings = model.embed(part)
    reference = baseline_embeddings(model, part, baseline)
    way = embeddings - reference
    point = reference + where.to(embeddings)[:, None, None] * way
    return embedding_gradient(model, part, targets, point, create_graph=create_graph), way


def _norms(model: Differentiable, batch: Batch, targets: Tensor, steps: int, baseline: Baseline) -> Tensor:
    """The ℓ2 norm over dimensions instead of the sum, [B, T]: the d components have to be added up first."""
    nodes, weights = gauss_legendre(steps)
    nodes, weights = nodes.to(batch.ids.device), weights.to(batch.ids.device)

    def compute(part: Batch, rows: Tensor) -> Tensor:
        total = torch.zeros_like(model.embed(part))
        for node, weight in zip(nodes, weights, strict=True):
            slopes, way = _slopes(model, part, targets[rows], node.expand(len(part)), baseline, False)
            total += weight.to(slopes) * slopes * way
        norms: Tensor = total.norm(dim=-1)
        return norms

    return over_rows(model, batch, compute, tokens=True)


def difference(model: Differentiable, batch: Batch, targets: Tensor, baseline: Baseline) -> Tensor:
    """f_y(text) - f_y(baseline), what a complete attribution adds up to, [B]."""

    def compute(part: Batch, rows: Tensor) -> Tensor:
        reference = model.logits_from(baseline_embeddings(model, part, baseline), part)
        return pick(model.logits_from(model.embed(part), part), targets[rows]) - pick(reference, targets[rows])

    with torch.no_grad():
        return over_rows(model, batch, compute)


@explainers("integrated_gradients")
@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """Gradients added up on the way from an empty text to this one (`steps` forward and backward passes).

    s_i = Σ_d (e_id - e⁰_id) ∫₀¹ ∂f_y/∂e_id (e⁰ + a (e - e⁰)) da, by Gauss-Legendre quadrature. Signed. The scores of
    all tokens, special ones too, add up to f_y(text) - f_y(baseline); how far they miss it is recorded as
    `completeness_error`, relative to that difference. Where it is above `tolerance`, the steps are doubled up to
    `max_steps`; what still misses it is warned about. `aggregate="l2"` gives ‖·‖₂ over d instead of the sum, unsigned.
    Sundararajan et al. (2017).
    """

    steps: int = option(50, "points on the way, to begin with")
    tolerance: float = option(0.01, "completeness error above which more steps are taken")
    max_steps: int = option(400, "most points to take")
    baseline: Baseline = option("zero", "where the way starts: zero embeddings, or a text of mask or padding tokens")
    aggregate: Literal["sum", "l2"] = option("sum", "signed sum over dimensions, or ℓ2 norm")
    needs: ClassVar[type] = Differentiable

    def __post_init__(self) -> None:
        if self.steps < 1 or self.max_steps < self.steps:
            raise InputError(f"steps must lie in 1 … max_steps ({self.max_steps}), got {self.steps}")

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Attribution:  # type: ignore[override]
        wanted = difference(model, batch, targets, self.baseline)
        scores = torch.zeros(batch.ids.shape, device=wanted.device, dtype=wanted.dtype)
        error = torch.full_like(wanted, torch.inf)
        taken = torch.zeros_like(wanted)
        steps, todo = self.steps, torch.arange(len(batch), device=wanted.device)
        while True:
            part = batch.take(todo)
            found = integrated_gradients(model, part, targets[todo], steps=steps, baseline=self.baseline)
            scores[todo], taken[todo] = found.to(scores), float(steps)
            error[todo] = relative_gap(found.sum(-1), wanted[todo]).to(error)
            todo = torch.nonzero(~(error <= self.tolerance)).flatten()  # NaN counts as a miss
            if not len(todo) or steps >= self.max_steps:
                break
            steps = min(2 * steps, self.max_steps)
        warn_of_gaps(self.name, error, self.tolerance, f"after {steps} steps; raise max_steps or change the baseline")
        if self.aggregate == "l2":
            for steps in taken.unique().tolist():  # each text with its own steps, whatever its neighbours needed
                rows = torch.nonzero(taken == steps).flatten()
                scores[rows] = _norms(model, batch.take(rows), targets[rows], int(steps), self.baseline).to(scores)
        return Attribution(scores, checks={"completeness_error": error, "steps": taken})
