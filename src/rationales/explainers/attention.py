"""Attention weights of the token that feeds the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Explainer, explainers
from rationales.models import Attentive, Batch, over_rows
from rationales.registry import option


def chosen_index(wanted: str, size: int, what: str) -> list[int]:
    """The layers or heads that "all", "last" or a number stands for; negative numbers count from the end."""
    if wanted == "all":
        return list(range(size))
    number = -1 if wanted == "last" and what == "layers" else None
    if number is None:
        try:
            number = int(wanted)
        except ValueError:
            raise InputError(f"{what} must be all, a number, or for layers last; got {wanted!r}") from None
    if not -size <= number < size:
        raise InputError(f"the model has {what} 0 … {size - 1}, got {number}")
    return [number % size]


def read_out(model: Attentive, part: Batch, maps: Sequence[Tensor], layers: str, heads: str) -> Tensor:
    """Mean over the chosen layers and heads of the read-out token's row in [n, H, T, T] maps, [n, T]."""
    rows, columns = torch.arange(len(part), device=part.ids.device), model.readout(part)
    picked = [maps[i][rows, :, columns] for i in chosen_index(layers, len(maps), "layers")]
    stacked = torch.stack(picked, 1)  # [n, layers, H, T]
    wanted = chosen_index(heads, stacked.shape[2], "heads")
    if len(wanted) < stacked.shape[2]:  # choosing all of them by number would wait for the device
        stacked = stacked[:, :, wanted]
    return stacked.mean((1, 2))


def attention(model: Attentive, batch: Batch, *, layers: str = "last", heads: str = "all") -> Tensor:
    """α_i: mean over heads of the attention from the read-out token to token i, [B, T]; see `Attention`."""
    with model.tap() as tap:

        def compute(part: Batch, _rows: Tensor) -> Tensor:
            tap.clear()
            model.logits(part)
            return read_out(model, part, tap.probabilities, layers, heads)

        return over_rows(model, batch, compute, tokens=True)


@explainers("attention")
@dataclass(frozen=True)
class Attention(Explainer):
    """Attention α of the token that feeds the classifier, mean over heads of the last layer (one forward pass).

    α_i = 1/H Σ_h A^h[read-out, i]. The read-out token is the first one ([CLS]), in decoders the last. Not signed.
    Jain and Wallace (2019) and Wiegreffe and Pinter (2019) discuss when it may be believed.
    """

    layers: str = option("last", 'which layers to average: "last", "all" or a number')
    heads: str = option("all", 'which heads to average: "all" or a number')
    needs: ClassVar[type] = Attentive

    def attribute(self, model: Attentive, batch: Batch, targets: Tensor) -> Tensor:  # type: ignore[override]  # noqa: ARG002
        with torch.no_grad():
            return attention(model, batch, layers=self.layers, heads=self.heads)
