"""KernelSHAP, with Captum's sampling and our batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.surrogate import LeastSquares, captum_attr, explain_by_subsets
from rationales.models import Batch, Erasure, Model, Output
from rationales.registry import option


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

    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Attribution:
        captum = captum_attr("kernel_shap")

        def fit(evaluate: Callable[[Tensor], Tensor], ones: Tensor, surrogate: LeastSquares) -> None:
            method = captum.KernelShap(evaluate)
            method.interpretable_model = surrogate
            method.attribute(ones, n_samples=self.samples, perturbations_per_eval=self.samples)

        with torch.no_grad():
            return explain_by_subsets(
                model, batch, targets, fit, ridge=0.0, erasure=self.erasure, output=self.output, seed=self.seed
            )
