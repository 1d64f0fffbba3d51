"""DeepLift for Transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.baseline import Baseline, ends, relative_gap, warn_of_gaps
from rationales.explainers.deeplift_rules import multipliers_mode
from rationales.explainers.integrated_gradients import Aggregate, difference
from rationales.models import Batch, Differentiable, over, pick
from rationales.registry import option


def multipliers(function: Callable[[Tensor], Tensor], inputs: Tensor, references: Tensor) -> Tensor:
    """DeepLift's multipliers of a function [2n, …] → [2n], at `inputs` against `references`, [n, …] each.

    The function sees inputs and references in one batch, and must not mix rows.
    """
    both = torch.cat([inputs, references]).detach().requires_grad_()
    with torch.enable_grad(), multipliers_mode():
        output = function(both)[: len(inputs)].sum()
    (gradient,) = torch.autograd.grad(output, both)
    return gradient[: len(inputs)]


def deeplift(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    *,
    baseline: Baseline = "zero",
    aggregate: Aggregate = "sum",
) -> Tensor:
    """Σ_d m_id (e_id - e⁰_id) with DeepLift's multipliers m, or its ℓ2 norm over d, [B, T]; see `DeepLift`."""
    return _shared_out(model, batch, targets, baseline, lambda parts, _: _reduced(parts, aggregate))


def _shared_out(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    baseline: Baseline,
    reduce: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """What `reduce` makes of m · (e - e⁰), [n, T, d], of some rows, [n], for all of them: [B, T]."""

    def compute(part: Batch, rows: Tensor) -> Tensor:
        embeddings, reference = ends(model, part, baseline)
        twice = torch.arange(len(part), device=part.ids.device).repeat(2)
        doubled, wanted = part.take(twice), targets[rows].repeat(2)

        def output(both: Tensor) -> Tensor:
            return pick(model.logits_from(both, doubled), wanted)

        return reduce(multipliers(output, embeddings, reference) * (embeddings - reference), rows)

    rows = torch.arange(len(batch), device=batch.ids.device)
    return over(model, batch, rows, compute, tokens=True, cost=2)


def _reduced(parts: Tensor, aggregate: Aggregate) -> Tensor:
    return parts.norm(dim=-1) if aggregate == "l2" else parts.sum(-1)


@explainers("deeplift")
@dataclass(frozen=True)
class DeepLift(Explainer):
    """The change from an empty text to this one, shared out function by function (one pass, doubled batch).

    s_i = Σ_d m_id (e_id - e⁰_id), where the multipliers m follow the chain rule with Δoutput/Δinput in place of
    derivatives (rescale rule); products in attention, softmax and LayerNorm are shared out exactly too. Signed. The
    scores add up to f_y(text) - f_y(baseline); what is missing is recorded as `completeness_error`, and warned about
    above 5 %. `aggregate="l2"` gives ‖·‖₂ over d instead of the sum, unsigned. Shrikumar et al. (2017).
    """

    baseline: Baseline = option("zero", "the reference: zero embeddings, or a text of mask or padding tokens")
    aggregate: Aggregate = option("sum", "signed sum over dimensions, or ℓ2 norm")
    needs: ClassVar[type] = Differentiable

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Attribution:  # type: ignore[override]
        change = difference(model, batch, targets, self.baseline)
        added = torch.zeros_like(change)

        def reduce(parts: Tensor, rows: Tensor) -> Tensor:
            added[rows] = parts.sum((1, 2)).to(added)
            return _reduced(parts, self.aggregate)

        scores = _shared_out(model, batch, targets, self.baseline, reduce)
        error = relative_gap(added, change)
        warn_of_gaps(self.name, error, 0.05, ": functions that no rule covers, or low precision")
        return Attribution(scores, checks={"completeness_error": error})
