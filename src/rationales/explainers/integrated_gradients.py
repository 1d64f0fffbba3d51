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
from rationales.explainers.baseline import Baseline, baseline_embeddings, ends, relative_gap, warn_of_gaps
from rationales.explainers.gradient import embedding_gradient
from rationales.models import Batch, Differentiable, over, over_rows, pick
from rationales.registry import option

PLAIN, GRADE = 100, 8
"""Where more than so many steps are needed and doubling them helps little, nodes are graded; see `gauss_legendre`."""


@cache
def gauss_legendre(steps: int, grade: int = 1) -> tuple[Tensor, Tensor]:
    """Nodes and weights of the quadrature on [0, 1], float64, [steps] each.

    With a grade p > 1 they are those of a = xᵖ, which crowd near 0: models that normalise by size change fastest there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    nodes, weights = (nodes + 1) / 2, weights / 2
    return torch.from_numpy(nodes**grade), torch.from_numpy(weights * grade * nodes ** (grade - 1))


def integrated_gradients(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    *,
    steps: int = 50,
    baseline: Baseline = "zero",
    aggregate: Literal["sum", "l2"] = "sum",
    grade: int = 1,
    create_graph: bool = False,
) -> Tensor:
    """Σ_d (e - e⁰) ∫₀¹ ∂f_y/∂e (e⁰ + a (e - e⁰)) da or its ℓ2 norm over d, [B, T]; see `IntegratedGradients`."""
    if aggregate == "l2":
        norms: Tensor = _components(model, batch, targets, steps, baseline, grade, create_graph).norm(dim=-1)
        return norms
    nodes, weights = (tensor.to(batch.ids.device) for tensor in gauss_legendre(steps, grade))

    def compute(part: Batch, numbers: Tensor) -> Tensor:
        slopes, way = _slopes(model, part, targets[numbers // steps], nodes[numbers % steps], baseline, create_graph)
        return (way * slopes).sum(-1) * weights[numbers % steps].to(slopes).unsqueeze(-1)

    rows = torch.arange(len(batch)).repeat_interleave(steps)
    return over(model, batch, rows, compute, tokens=True).view(len(batch), steps, -1).sum(1)


def _components(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    steps: int,
    baseline: Baseline,
    grade: int,
    create_graph: bool = False,
) -> Tensor:
    """The integral of each dimension, [B, T, d]. Steps go one after another, so that only their sum is kept."""

    def compute(part: Batch, rows: Tensor) -> Tensor:
        total = torch.zeros_like(model.embed(part))
        for node, weight in zip(*gauss_legendre(steps, grade), strict=True):
            where = node.to(part.ids.device).expand(len(part))
            slopes, way = _slopes(model, part, targets[rows], where, baseline, create_graph)
            total = total + float(weight) * slopes * way
        return total

    return over_rows(model, batch, compute, tokens=True)


def _slopes(
    model: Differentiable, part: Batch, targets: Tensor, where: Tensor, baseline: Baseline, create_graph: bool
) -> tuple[Tensor, Tensor]:
    """The gradient at the given points of the way, and the way e - e⁰, [n, T, d] each."""
    embeddings, reference = ends(model, part, baseline, create_graph=create_graph)
    way = embeddings - reference
    point = reference + where.to(embeddings)[:, None, None] * way
    return embedding_gradient(model, part, targets, point, create_graph=create_graph), way


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
    `max_steps`, and where that helps little placed closer to the baseline; what still misses it is warned about.
    `aggregate="l2"` gives ‖·‖₂ over d instead of the sum, unsigned.
    Sundararajan et al. (2017).
    """

    steps: int = option(50, "points on the way, to begin with")
    tolerance: float = option(0.01, "completeness error above which more steps are taken")
    max_steps: int = option(400, "most points to take")
    baseline: Baseline = option("zero", "where the way starts: zero embeddings, or a text of mask or padding tokens")
    aggregate: Literal["sum", "l2"] = option("sum", "signed sum over dimensions, or ℓ2 norm")
    needs: ClassVar[type] = Differentiable

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 1 or self.max_steps < self.steps:
            raise InputError(f"steps must lie in 1 … max_steps ({self.max_steps}), got {self.steps}")

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Attribution:  # type: ignore[override]
        wanted = difference(model, batch, targets, self.baseline)
        scores = torch.zeros(batch.ids.shape, device=wanted.device, dtype=wanted.dtype)
        error = torch.full_like(wanted, torch.inf)
        taken, graded, used = torch.zeros_like(wanted), torch.zeros_like(wanted).bool(), torch.zeros_like(wanted).bool()

        def attempt(rows: Tensor, steps: int, grade: bool) -> None:
            if not len(rows):
                return
            found, added = self._integrated(model, batch.take(rows), targets[rows], steps, GRADE if grade else 1)
            gaps, before = relative_gap(added, wanted[rows]).to(error), error[rows]
            better = (gaps < before) | before.isinf()
            scores[rows[better]], error[rows[better]] = found[better].to(scores), gaps[better]
            taken[rows], used[rows] = float(steps), grade
            slow = ~(gaps < before / 2) & (2 * steps > PLAIN)  # then the other placing of the nodes may do better
            graded[rows[slow]] = not grade

        def missed() -> Tensor:
            return torch.nonzero(~(error <= self.tolerance)).flatten()  # NaN counts as a miss

        steps = self.steps
        attempt(missed(), steps, False)
        while steps < self.max_steps and len(todo := missed()):
            steps = min(2 * steps, self.max_steps)
            plain, other = todo[~graded[todo]], todo[graded[todo]]
            attempt(plain, steps, False)
            attempt(other, steps, True)
        if steps > PLAIN:  # a last chance for those that had equal steps only
            todo = missed()
            attempt(todo[~used[todo]], steps, True)
        advice = f"after {steps} steps; raise max_steps, change the baseline, or use a higher precision"
        warn_of_gaps(self.name, error, self.tolerance, advice)
        return Attribution(scores, checks={"completeness_error": error, "steps": taken})

    def _integrated(
        self, model: Differentiable, part: Batch, targets: Tensor, steps: int, grade: int
    ) -> tuple[Tensor, Tensor]:
        """Scores [n, T], and what they add up to before any norm is taken, [n]."""
        if self.aggregate == "l2":
            components = _components(model, part, targets, steps, self.baseline, grade)
            return components.norm(dim=-1), components.sum((1, 2))
        found = integrated_gradients(model, part, targets, steps=steps, baseline=self.baseline, grade=grade)
        return found, found.sum(-1)
