"""Backward selection: take away the least missed token, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from rationales.explainers.base import Explainer, explainers
from rationales.models import Batch, Erasure, Model, Output, chosen, erased_logits
from rationales.registry import option

ROUNDING = 1e-6
"""Outputs that differ by less count as equal."""


Without: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
"""What is left [B, T], rows [N] and a column [N] for each → the output [N] of what is left without that column."""


def backselect(
    model: Model, batch: Batch, targets: Tensor, *, erasure: Erasure = "delete", output: Output = "probability"
) -> Tensor:
    """The round in which a token was taken away, 1 for the first, [B, T]; 0 for special tokens, NaN without outputs."""

    def without(left: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        gone = batch.content & ~left

        def drop(numbers: Tensor) -> Tensor:
            return gone[rows[numbers]] | torch.nn.functional.one_hot(columns[numbers], batch.width).bool()

        return chosen(model, erased_logits(model, batch, rows, drop, erasure), targets[rows], output)

    return rounds_of_removal(batch.content, without)


def rounds_of_removal(content: Tensor, without: Without) -> Tensor:
    """The round in which each part of a text was taken away, [B, T]; 0 where there is none, NaN without outputs."""
    left = content.clone()
    scores = torch.zeros(content.shape, device=content.device)
    everyone = torch.arange(len(content), device=content.device)
    broken = torch.zeros(len(content), dtype=torch.bool, device=content.device)  # no order without all outputs
    for number in range(1, int(left.sum(-1).max()) + 1):
        rows, columns = torch.nonzero(left, as_tuple=True)
        outcome = without(left, rows, columns)
        broken[rows[outcome.isnan()]] = True
        outcome = outcome.nan_to_num()
        table = torch.full(left.shape, -torch.inf, device=outcome.device, dtype=outcome.dtype)
        table[rows, columns] = outcome
        # The last of equals goes first, so that ties leave the beginning of a text, as other rankings do. Equal up to
        # rounding, that is: of two equal words side by side it makes no difference which one goes.
        best = table.amax(-1, keepdim=True)
        equal = table >= best - ROUNDING * best.abs().clamp(min=1.0)
        least_missed = content.shape[1] - 1 - equal.flip(-1).int().argmax(-1)
        going = left.any(-1)
        scores[everyone[going], least_missed[going]] = float(number)
        left[everyone[going], least_missed[going]] = False
    return scores.masked_fill(broken[:, None] & content, torch.nan)


@explainers("backselect")
@dataclass(frozen=True)
class BackSelect(Explainer):
    """The order in which tokens can be spared (about T²/2 forward passes for T tokens).

    Again and again the token is removed without which the output stays highest; s_i is the round in which token i went,
    so the token that mattered to the end has the largest score. Only the order means something. Carter et al. (2019).
    """

    erasure: Erasure = option("delete", "what removing means")
    output: Output = option("probability", "the output that is watched")

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor:
        with torch.no_grad():
            return backselect(model, batch, targets, erasure=self.erasure, output=self.output)
