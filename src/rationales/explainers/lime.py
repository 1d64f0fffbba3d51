"""LIME: a linear model of what the model does on subsets of the tokens."""

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


@explainers("lime")
@dataclass(frozen=True)
class Lime(Explainer):
    """Coefficients of a linear model fitted to the output on random subsets of the tokens (`samples` forward passes).

    β = argmin Σ_z π(z) (f_y(x_z) - β₀ - βᵀz)² + λ‖β‖², with z_i ~ Bernoulli(½), weights π(z) = exp(-d²/width²) and d
    the cosine distance from z to the whole text. Signed; records its standard error. Ribeiro et al. (2016).
    """

    samples: int = option(500, "subsets per text")
    width: float = option(0.25, "width of the kernel over cosine distances")
    ridge: float = option(1.0, "penalty λ on the coefficients")
    erasure: Erasure = option("delete", "what leaving a token out means")
    output: Output = option("probability", "the output that is fitted")
    seed: int = option(0, "seed of the subsets")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 2 or self.width <= 0 or self.ridge < 0:
            raise InputError(
                "samples must be at least 2, width above 0 and ridge at least 0; "
                f"got {self.samples}, {self.width} and {self.ridge}"
            )

    def draw(self, generator: np.random.Generator, tokens: int) -> tuple[BoolArray, FloatArray]:
        """Subsets [samples, tokens] and how near they are to the whole text, [samples]."""
        subsets = generator.random((self.samples, tokens)) < 0.5
        distance = 1 - np.sqrt(subsets.mean(-1))  # the cosine of a 0/1 vector with all ones is the root of its mean
        return subsets, np.exp(-(distance**2) / self.width**2)

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Attribution:
        with torch.no_grad():
            return explain_by_subsets(
                model,
                batch,
                targets,
                self.draw,
                ridge=self.ridge,
                erasure=self.erasure,
                output=self.output,
                seed=self.seed,
            )
