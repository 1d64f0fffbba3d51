"""KernelSHAP: Shapley values by regression on subsets of the tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.surrogate import explain_by_subsets
from rationales.explanation.types import BoolArray, FloatArray
from rationales.models import Batch, Erasure, Model, Output
from rationales.registry import option

CERTAIN = 1e6
"""The weight of the empty and of the full text, whose kernel is infinite."""


@explainers("kernel_shap")
@dataclass(frozen=True)
class KernelShap(Explainer):
    """Shapley values of the tokens, estimated by regression on random subsets (`samples` forward passes).

    A linear model is fitted to f_y(x_z) over subsets z drawn from the Shapley kernel
    (M - 1) / (C(M, |z|) |z| (M - |z|)); the empty and the full text weigh 10⁶ times as much, so that the scores add up
    to f_y(x) - f_y(nothing), but for about 10⁻⁵. Signed; records its standard error. Lundberg and Lee (2017).
    """

    samples: int = option(500, "subsets per text, the empty and the full one among them")
    erasure: Erasure = option("delete", "what leaving a token out means")
    output: Output = option("probability", "the output that is shared out")
    seed: int = option(0, "seed of the subsets")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 3:
            raise InputError(f"samples must be at least 3, got {self.samples}")

    def draw(self, generator: np.random.Generator, tokens: int) -> tuple[BoolArray, FloatArray]:
        """Subsets [samples, tokens], the empty and the full one first, and their weights [samples]."""
        sizes = np.arange(1, tokens)
        chances = 1 / (sizes * (tokens - sizes))  # the kernel, times the number of subsets of a size
        drawn = generator.choice(sizes, self.samples - 2, p=chances / chances.sum())
        ranks = generator.random((self.samples - 2, tokens)).argsort(-1).argsort(-1)
        subsets = np.concatenate([np.zeros((1, tokens)), np.ones((1, tokens)), ranks < drawn[:, None]]).astype(np.bool_)
        weights = np.ones(self.samples)
        weights[:2] = CERTAIN
        return subsets, weights

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Attribution:
        with torch.no_grad():
            return explain_by_subsets(
                model, batch, targets, self.draw, ridge=0.0, erasure=self.erasure, output=self.output, seed=self.seed
            )
