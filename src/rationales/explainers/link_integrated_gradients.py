"""Integrated gradients on links, which know how far they are from adding up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rationales.explainers.alignment import cells, in_groups, linked_logits
from rationales.explainers.base import Links, aligners
from rationales.explainers.baseline import relative_gap, scale_of, warn_of_gaps
from rationales.explainers.induced import LinkScorer
from rationales.explainers.integrated_gradients import Rule, check_steps
from rationales.explainers.link_gradient import output_and_slopes
from rationales.explainers.quadrature import adaptive_points, gauss_points, integral
from rationales.models import Batch, CoAttentive, Output, chosen, over, predict
from rationales.registry import option

NUMBER = 8
"""Bytes of what is seen of a link at a point."""


@dataclass(frozen=True, eq=False)
class _Way:
    """The ways of a batch from no links to all of them, and what can be seen along them."""

    model: CoAttentive
    batch: Batch
    targets: Tensor
    output: Output

    @cached_property
    def there(self) -> Tensor:
        return cells(self.batch)

    @cached_property
    def ends(self) -> Tensor:
        """f_y without links and with all of them, [B, 2]."""
        rows = torch.arange(len(self.batch), device=self.there.device)
        with torch.no_grad():
            none = linked_logits(self.model, self.batch, rows, lambda numbers: torch.zeros_like(self.there[numbers]))
            both = (none, predict(self.model, self.batch))
            return torch.stack([chosen(self.model, logits, self.targets, self.output) for logits in both], 1)

    @property
    def change(self) -> Tensor:
        """What complete scores add up to, [B]."""
        return self.ends[:, 1] - self.ends[:, 0]

    def look(self, rows: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
        """f_y [N] at points [N] of the rows [N], and ∂f_y/∂z there, [N, P·H]."""
        outputs = torch.zeros(len(rows), device=rows.device, dtype=torch.float64)

        def compute(part: Batch, numbers: Tensor) -> Tensor:
            links = where[numbers].to(self.ends)[:, None, None].expand(-1, *self.there.shape[1:])
            output, slopes = output_and_slopes(self.model, part, self.targets[rows[numbers]], links, self.output)
            outputs[numbers] = output.double()
            return slopes.flatten(1)

        values = over(self.model, self.batch, rows, compute)
        return outputs, values

    def integrated(self, steps: int, tolerance: float, max_steps: int, rule: Rule) -> Links:
        """Scores [B, P, H], with how far they are from adding up and the number of points that they are from."""
        if rule == "gauss":
            points = gauss_points(len(self.batch), steps, self.there.device)
            _, values = self.look(points.rows, points.where)
        else:
            allowed = tolerance * scale_of(self.change)
            points, values = adaptive_points(self.look, self.ends, allowed, steps=steps, most=max_steps)
        scores = integral(points, values, len(self.batch)).view(self.there.shape)
        error = relative_gap(scores.sum((1, 2)), self.change.to(scores))
        taken = torch.bincount(points.rows, minlength=len(self.batch))
        return Links(scores, checks={"completeness_error": error, "steps": taken})


def _integrated(
    model: CoAttentive,
    batch: Batch,
    targets: Tensor,
    steps: int,
    tolerance: float,
    max_steps: int,
    rule: Rule,
    output: Output,
) -> Links:
    def compute(part: Batch, rows: Tensor) -> Links:
        return _Way(model, part, targets[rows], output).integrated(steps, tolerance, max_steps, rule)

    return in_groups(batch, NUMBER * (steps if rule == "gauss" else max_steps), compute)


def link_integrated_gradients(
    model: CoAttentive,
    batch: Batch,
    targets: Tensor,
    *,
    steps: int = 8,
    tolerance: float = 0.01,
    max_steps: int = 400,
    rule: Rule = "adaptive",
    output: Output = "probability",
) -> Tensor:
    """∫₀¹ ∂f_y/∂z_ij (z = a) da, [B, P, H]; see `LinkIntegratedGradients`."""
    return _integrated(model, batch, targets, steps, tolerance, max_steps, rule, output).weights


@aligners("link_integrated_gradients")
@dataclass(frozen=True)
class LinkIntegratedGradients(LinkScorer):
    """Gradients added up on the way from no links to all of them (a forward and a backward pass per point).

    s_ij = ∫₀¹ ∂f_y/∂z_ij (z = a) da, where z multiplies the attention between the texts. Signed. The scores add up to
    f_y(x) - f_y(x without links). Points are taken where they are needed, as `integrated_gradients` does; how far the
    scores are from adding up is recorded as `completeness_error`, relative to the difference, and warned about above
    `tolerance`; the points that were taken as `steps`. Sundararajan et al. (2017).
    """

    steps: int = option(8, "points on the way, to begin with")
    tolerance: float = option(0.01, "completeness error above which more points are taken")
    max_steps: int = option(400, "most points to take")
    rule: Rule = option("adaptive", "points where they are needed, or gauss: as many Gauss-Legendre points as steps")
    output: Output = option("probability", "the output whose gradient is taken")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self.steps, self.max_steps, self.rule)

    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Links:
        found = _integrated(model, batch, targets, self.steps, self.tolerance, self.max_steps, self.rule, self.output)
        advice = f"after {int(found.checks['steps'].max())} steps; raise max_steps, or use a higher precision"
        warn_of_gaps(self.name, found.checks["completeness_error"], self.tolerance, advice)
        return found
