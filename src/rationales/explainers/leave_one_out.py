"""Leave one token out and see what changes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.explainers.base import Explainer, explainers
from rationales.models import Batch, Erasure, Model, Output, chosen, erased_logits, predict
from rationales.registry import option


def leave_one_out(
    model: Model, batch: Batch, targets: Tensor, *, erasure: Erasure = "delete", output: Output = "probability"
) -> Tensor:
    """f_y(x) - f_y(x without token i), [B, T]; 0 for special tokens."""
    rows, columns = torch.nonzero(batch.content, as_tuple=True)
    scores = torch.zeros(batch.ids.shape, device=batch.ids.device)
    if not len(rows):
        return scores

    def drop(numbers: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(columns[numbers], batch.width).bool()

    without = chosen(model, erased_logits(model, batch, rows, drop, erasure), targets[rows], output)
    whole = chosen(model, predict(model, batch), targets, output)
    return scores.to(whole).index_put((rows, columns), whole[rows] - without)


@explainers("leave_one_out")
@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """How much the output falls when a token is left out (T forward passes for T tokens).

    s_i = f_y(x) - f_y(x without token i). Signed. Li et al. (2016).
    """

    erasure: Erasure = option("delete", "what leaving out means")
    output: Output = option("probability", "the output that is watched")

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor:
        with torch.no_grad():
            return leave_one_out(model, batch, targets, erasure=self.erasure, output=self.output)
