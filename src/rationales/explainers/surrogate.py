"""Linear surrogates on random subsets of tokens: what LIME and KernelSHAP share.

Captum draws the subsets and weighs them; the packer evaluates them; a weighted least-squares fit gives the
coefficients together with their standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from rationales.errors import require
from rationales.explainers.base import Attribution
from rationales.models import Batch, Erasure, Model, Output, chosen, erased_logits


def captum_attr(purpose: str) -> ModuleType:
    """Captum's attribution package, or an error that says how to get it."""
    require("sklearn", extra="captum", purpose=purpose)
    return require("captum.attr", extra="captum", purpose=purpose)


class LeastSquares:
    """Weighted ridge regression with an intercept, as Captum's interpretable models are called.

    β = (XᵀWX + λI)⁻¹ XᵀWy, the intercept unpenalised; standard errors are robust to unequal variance (sandwich).
    """

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge
        self.coefficients = self.standard_error = torch.empty(0)

    def fit(self, train_data: Any, **_: Any) -> None:
        samples, outputs, weights = (torch.cat(column).cpu().double() for column in zip(*train_data, strict=True))
        outputs, weights = outputs.flatten(), weights.flatten()
        design = torch.cat([samples, torch.ones(len(samples), 1, dtype=torch.float64)], 1)
        penalty = torch.full((design.shape[1],), self.ridge, dtype=torch.float64)
        penalty[-1] = 0.0
        inverse = torch.linalg.pinv(design.T @ (weights[:, None] * design) + torch.diag(penalty), hermitian=True)
        solution = inverse @ (design.T @ (weights * outputs))
        residuals = outputs - design @ solution
        freedom = len(outputs) / max(len(outputs) - design.shape[1], 1)
        influence = inverse @ (design * (weights * residuals)[:, None]).T
        self.coefficients = solution[:-1]
        self.standard_error = (influence.square().sum(1) * freedom).sqrt()[:-1]
        if len(outputs) <= design.shape[1]:  # as many samples as unknowns: nothing is left to tell the spread by
            self.standard_error = torch.full_like(self.coefficients, torch.nan)

    def representation(self) -> Tensor:
        return self.coefficients[None]


def explain_by_subsets(
    model: Model,
    batch: Batch,
    targets: Tensor,
    fit: Callable[[Callable[[Tensor], Tensor], Tensor, LeastSquares], None],
    *,
    ridge: float,
    erasure: Erasure,
    output: Output,
    seed: int,
) -> Attribution:
    """Fit a surrogate to each row. `fit(evaluate, ones, surrogate)` draws subsets of `ones` [1, n] and fits it."""
    values = torch.zeros(batch.ids.shape, dtype=torch.float64)
    errors = torch.zeros_like(values)
    for row, generator in enumerate(batch.generators(seed)):
        columns = torch.nonzero(batch.content[row]).flatten()
        if not len(columns):
            continue
        evaluate = _evaluator(model, batch, targets, row, columns, erasure, output)
        if len(columns) == 1:  # nothing to sample: there is the token, or there is not
            outcome = evaluate(torch.tensor([[1.0], [0.0]]))
            values[row, columns.cpu()] = float(outcome[0] - outcome[1])
            continue
        surrogate = LeastSquares(ridge)
        with torch.random.fork_rng(devices=[]):  # Captum draws from the global generator
            torch.default_generator.manual_seed(int(generator.integers(2**63)))  # and leaves other devices' alone
            fit(evaluate, torch.ones(1, len(columns)), surrogate)
        values[row, columns.cpu()] = surrogate.coefficients
        errors[row, columns.cpu()] = surrogate.standard_error
    return Attribution(values.to(batch.ids.device), errors.to(batch.ids.device))


def _evaluator(
    model: Model, batch: Batch, targets: Tensor, row: int, columns: Tensor, erasure: Erasure, output: Output
) -> Callable[[Tensor], Tensor]:
    """Subsets [n, tokens] of one row's tokens → the output for each, [n]."""

    def evaluate(subsets: Tensor) -> Tensor:
        rows = torch.full((len(subsets),), row, device=batch.ids.device)
        drop = torch.zeros(len(subsets), batch.width, dtype=torch.bool, device=batch.ids.device)
        drop[:, columns] = subsets.to(batch.ids.device) == 0
        logits = erased_logits(model, batch, rows, drop, erasure)
        return chosen(model, logits, targets[rows], output).double().cpu()

    return evaluate
