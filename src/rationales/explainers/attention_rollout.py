"""Attention rollout: attention followed through all layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Explainer, explainers
from rationales.models import Attentive, Batch, over_rows
from rationales.registry import option


def attention_rollout(model: Attentive, batch: Batch, *, residual: float = 0.5) -> Tensor:
    """The read-out row of Π_l (r·I + (1 - r)·Ā_l), [B, T]; see `AttentionRollout`."""
    with model.tap() as tap:

        def compute(part: Batch, _rows: Tensor) -> Tensor:
            tap.clear()
            model.logits(part)
            # Only the read-out row is wanted, so it is carried down from the last layer as a vector.
            row = torch.nn.functional.one_hot(model.readout(part), part.width).to(tap.probabilities[0].dtype)
            for layer in reversed(tap.probabilities):
                row = residual * row + (1 - residual) * torch.einsum("nq,nqt->nt", row, layer.mean(1))
            return row

        return over_rows(model, batch, compute, tokens=True)


@explainers("attention_rollout")
@dataclass(frozen=True)
class AttentionRollout(Explainer):
    """Attention multiplied through all layers, with half kept for the residual path (one forward pass).

    R = Ã_L ⋯ Ã_1 with Ã = r·I + (1 - r)·mean_h A^h; the score of token i is R[read-out, i]. Scores are ≥ 0 and sum
    to 1 over all tokens. Abnar and Zuidema (2020).
    """

    residual: float = option(0.5, "share of each layer that goes around attention")
    needs: ClassVar[type] = Attentive

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.residual <= 1:
            raise InputError(f"residual is a share from 0 to 1, got {self.residual}")

    def attribute(self, model: Attentive, batch: Batch, targets: Tensor) -> Tensor:  # type: ignore[override]  # noqa: ARG002
        with torch.no_grad():
            return attention_rollout(model, batch, residual=self.residual)
