"""Integrated gradients, which know how far they are from adding up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import pad

from rationales.errors import InputError
from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.baseline import Baseline, baseline_embeddings, ends, relative_gap, scale_of, warn_of_gaps
from rationales.explainers.gradient import output_and_gradient
from rationales.explainers.quadrature import Points, adaptive_points, gauss_points, integral
from rationales.models import Batch, Differentiable, over, over_rows, pick, predict
from rationales.registry import option

Rule: TypeAlias = Literal["adaptive", "gauss"]
Aggregate: TypeAlias = Literal["sum", "l2"]


def check_steps(steps: int, max_steps: int, rule: Rule) -> None:
    """Refuse numbers of points that cannot be."""
    if steps < 1 or (rule == "adaptive" and max_steps < steps):
        raise InputError(f"steps must lie in 1 … max_steps ({max_steps}), got {steps}")


@dataclass(frozen=True, eq=False)
class Way:
    """The ways of a batch from the reference input to the text, and what can be seen along them."""

    model: Differentiable
    batch: Batch
    targets: Tensor
    baseline: Baseline
    create_graph: bool = False

    @cached_property
    def ends(self) -> Tensor:
        """f_y of the reference input and of the text, [B, 2]."""

        def compute(part: Batch, rows: Tensor) -> Tensor:
            reference = baseline_embeddings(self.model, part, self.baseline)
            return pick(self.model.logits_from(reference, part), self.targets[rows])

        with torch.no_grad():
            text = pick(predict(self.model, self.batch), self.targets)
            return torch.stack([over_rows(self.model, self.batch, compute), text], 1)

    @property
    def change(self) -> Tensor:
        """f_y(text) - f_y(baseline), what a complete attribution adds up to, [B]."""
        return self.ends[:, 1] - self.ends[:, 0]

    def products(self, part: Batch, rows: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
        """f_y [n] at points [n] of these rows, which are `part`, and (e - e⁰) ∂f_y/∂e there, [n, T, d]."""
        embeddings, reference = ends(self.model, part, self.baseline, create_graph=self.create_graph)
        whole = embeddings - reference
        point = reference + where.to(embeddings)[:, None, None] * whole
        targets = self.targets[rows]
        output, slopes = output_and_gradient(self.model, part, targets, point, create_graph=self.create_graph)
        return output, whole * slopes

    def look(self, rows: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
        """f_y [N] at points [N] of the rows [N], and Σ_d (e - e⁰) ∂f_y/∂e there, [N, T]."""
        outputs = torch.zeros(len(rows), device=rows.device, dtype=torch.float64)

        def compute(part: Batch, numbers: Tensor) -> Tensor:
            output, products = self.products(part, rows[numbers], where[numbers])
            outputs[numbers] = output.detach().double()
            return products.sum(-1)

        values = over(self.model, self.batch, rows, compute, tokens=True)
        return outputs, values

    def integral(self, points: Points, values: Tensor | None = None) -> Tensor:
        """What `look` shows at these points (`values` [N, T], if that is known), weighted and added up, [B, T]."""
        if values is None:
            _, values = self.look(points.rows, points.where)
        return integral(points, values, len(self.batch))

    def components(self, points: Points) -> Tensor:
        """The integral of each dimension, [B, T, d]. What is seen at a point is added at once and not kept."""
        total = torch.zeros_like(self.model.embed(self.batch)).detach()

        def compute(part: Batch, numbers: Tensor) -> Tensor:
            rows = points.rows[numbers]
            _, products = self.products(part, rows, points.where[numbers])
            weighted = products * points.weights[numbers].to(products)[:, None, None]
            missing = self.batch.width - part.width
            sides = (missing, 0) if part.side == "left" else (0, missing)
            total.index_add_(0, rows, pad(weighted, (0, 0, *sides)).to(total))
            return weighted.new_zeros(len(rows))

        over(self.model, self.batch, points.rows, compute)
        return total


def difference(model: Differentiable, batch: Batch, targets: Tensor, baseline: Baseline) -> Tensor:
    """f_y(text) - f_y(baseline), what a complete attribution adds up to, [B]."""
    return Way(model, batch, targets, baseline).change


class _Integrated(NamedTuple):
    """Scores [B, T], what they add up to before any norm is taken [B], and the points they are from."""

    scores: Tensor
    added: Tensor
    points: Points


def _integrated(
    way: Way, steps: int, tolerance: float, max_steps: int, rule: Rule, aggregate: Aggregate
) -> _Integrated:
    values = None
    if rule == "gauss":
        points = gauss_points(len(way.batch), steps, way.batch.ids.device)
    else:
        plain = replace(way, create_graph=False) if way.create_graph else way
        allowed = tolerance * scale_of(plain.change)
        points, values = adaptive_points(plain.look, plain.ends, allowed, steps=steps, most=max_steps)
    if aggregate == "l2":
        components = way.components(points)
        return _Integrated(components.norm(dim=-1), components.sum((1, 2)), points)
    scores = way.integral(points, None if way.create_graph else values)
    return _Integrated(scores, scores.sum(-1), points)


def integrated_gradients(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    *,
    steps: int = 8,
    tolerance: float = 0.01,
    max_steps: int = 400,
    rule: Rule = "adaptive",
    baseline: Baseline = "zero",
    aggregate: Aggregate = "sum",
    create_graph: bool = False,
) -> Tensor:
    """Σ_d (e - e⁰) ∫₀¹ ∂f_y/∂e (e⁰ + a (e - e⁰)) da or its ℓ2 norm over d, [B, T]; see `IntegratedGradients`."""
    way = Way(model, batch, targets, baseline, create_graph)
    return _integrated(way, steps, tolerance, max_steps, rule, aggregate).scores


@explainers("integrated_gradients")
@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """Gradients added up on the way from an empty text to this one (a forward and a backward pass per point).

    s_i = Σ_d (e_id - e⁰_id) ∫₀¹ ∂f_y/∂e_id (e⁰ + a (e - e⁰)) da. Signed. The scores of all tokens, special ones too,
    add up to f_y(text) - f_y(baseline), and those of each stretch of the way to the change on it. Each text begins with
    `steps` points and gets more where a stretch does not add up, until the whole does to within `tolerance`, or
    `max_steps` are taken. `rule="gauss"` takes `steps` Gauss-Legendre points and leaves it at that. How far the scores
    are from adding up is recorded as `completeness_error`, relative to the difference, and warned about above
    `tolerance`; the points that were taken as `steps`. `aggregate="l2"` gives ‖·‖₂ over d instead of the sum, unsigned,
    in twice the time. Sundararajan et al. (2017).
    """

    steps: int = option(8, "points on the way, to begin with")
    tolerance: float = option(0.01, "completeness error above which more points are taken")
    max_steps: int = option(400, "most points to take")
    rule: Rule = option("adaptive", "points where they are needed, or gauss: as many Gauss-Legendre points as steps")
    baseline: Baseline = option("zero", "where the way starts: zero embeddings, or a text of mask or padding tokens")
    aggregate: Aggregate = option("sum", "signed sum over dimensions, or ℓ2 norm")
    needs: ClassVar[type] = Differentiable

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self.steps, self.max_steps, self.rule)

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Attribution:  # type: ignore[override]
        way = Way(model, batch, targets, self.baseline)
        found = _integrated(way, self.steps, self.tolerance, self.max_steps, self.rule, self.aggregate)
        error = relative_gap(found.added, way.change.to(found.added))
        taken = torch.bincount(found.points.rows, minlength=len(batch))
        advice = f"after {int(taken.max())} steps; raise max_steps, change the baseline, or use a higher precision"
        warn_of_gaps(self.name, error, self.tolerance, advice)
        return Attribution(found.scores, checks={"completeness_error": error, "steps": taken})
