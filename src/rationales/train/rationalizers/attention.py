"""Attention: a classifier of the whole text that weighs its states, and selects those of the largest weights after it.

    α = softmax(a(h)),    L = CE(y, p(Σ_t α_t h_t))

h are the states of the one encoder. a is what gives a selector's logits in other variants, choosing minus leaving out.
The selection, ⌈sparsity · n⌉ of n tokens, is made after the prediction and has no part in it. Lei et al. (2016), as
Liu et al. (2025) compare with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rationales.errors import InputError
from rationales.registry import option
from rationales.train.rationalizers import full_text
from rationales.train.rationalizers.game import rationalizers


@dataclass(frozen=True)
class Config(full_text.Config):
    """Predict from the whole text by attention, and select its largest weights after the fact."""

    sparsity: float = option(0.15, "Share of the tokens to select, those of the largest weights.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sparsity:
            raise InputError("sparsity must be above 0: it is the share of the tokens to select")
        if self.pooling != "max":
            raise InputError("attention pools by its weights; the option pooling has no meaning there")

    def architecture(self, _shares: Sequence[float], /) -> Mapping[str, Any]:
        return {"pooling": "attention", "post_hoc": self.sparsity}


@rationalizers("attention")
class Attention(full_text.FullText):
    """The same game with another predictor."""

    Config = Config
