"""Linear surrogates on random subsets of tokens or links: what LIME and KernelSHAP share.

The subsets of all texts go through the packer together; a weighted least-squares fit for each text gives the
coefficients with their standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from rationales.explainers.base import Attribution
from rationales.explanation.types import BoolArray, FloatArray
from rationales.models import Batch, Erasure, Model, Output, chosen, erased_logits

Draw: TypeAlias = Callable[[np.random.Generator, int], tuple[BoolArray, FloatArray]]
"""A generator and a number of tokens n → subsets [k, n], True for a token that is there, and their weights [k]."""

Ask: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Rows [N] of a batch and what is dropped of each, [N, T] on the processor → the output [N]."""


def explain_by_subsets(
    model: Model,
    batch: Batch,
    targets: Tensor,
    draw: Draw,
    *,
    ridge: float,
    erasure: Erasure,
    output: Output,
    seed: int,
) -> Attribution:
    """Fit a surrogate to the output on subsets of each row's tokens; its coefficients are their scores."""

    def ask(rows: Tensor, drop: Tensor) -> Tensor:
        return chosen(model, erased_logits(model, batch, rows, drop, erasure), targets[rows], output)

    return fitted(batch.content, batch.generators(seed), draw, ask, ridge)


def fitted(
    content: Tensor, generators: Sequence[np.random.Generator], draw: Draw, ask: Ask, ridge: float
) -> Attribution:
    """Coefficients of each row's surrogate, [B, T]; 0 where `content` [B, T] is False: there is nothing to drop."""
    device, content = content.device, content.cpu()
    drawn = [
        # of one token there is nothing to draw: it is there, or it is not
        draw(generator, number) if number > 1 else (np.eye(2, number, dtype=np.bool_), np.ones(2))
        for generator, number in zip(generators, content.sum(-1).tolist(), strict=True)
    ]
    sizes = torch.tensor([len(weights) for _, weights in drawn])
    rows = torch.arange(len(content)).repeat_interleave(sizes)
    drop = torch.zeros(len(rows), content.shape[1], dtype=torch.bool)
    for own, (subsets, _), place in zip(content, drawn, drop.split(sizes.tolist()), strict=True):
        place[:, own] = ~torch.from_numpy(subsets)
    outputs = ask(rows.to(device), drop).double().cpu()
    values = torch.zeros(content.shape, dtype=torch.float64)
    errors = torch.zeros_like(values)
    fits = zip(content, drawn, outputs.split(sizes.tolist()), strict=True)
    for row, (own, (subsets, weights), seen) in enumerate(fits):
        if int(own.sum()) == 1:
            values[row, own] = seen[0] - seen[1]
        elif own.any():
            fit = least_squares(torch.from_numpy(subsets).double(), seen, torch.from_numpy(weights), ridge)
            values[row, own], errors[row, own] = fit
    return Attribution(values.to(device), errors.to(device))


def least_squares(samples: Tensor, outputs: Tensor, weights: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Weighted ridge regression with an intercept, on [k, n], [k] and [k]: coefficients and standard errors, [n] each.

    β = (XᵀWX + λI)⁻¹ XᵀWy, the intercept unpenalised; standard errors are robust to unequal variance (sandwich), and
    NaN where there are no more samples than unknowns. Then β = X̃ᵀW½ (W½X̃X̃ᵀW½ + λI)⁻¹ W½ỹ with X̃, ỹ less their
    weighted means is the same from a much smaller matrix, given that λ > 0.
    """
    if len(samples) <= samples.shape[1] and ridge > 0:
        share, root = weights / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny), weights.sqrt()
        centred = root[:, None] * (samples - share @ samples)
        inner = centred @ centred.T + ridge * torch.eye(len(samples), dtype=torch.float64)
        coefficients = centred.T @ torch.linalg.solve(inner, root * (outputs - share @ outputs))
        return coefficients, torch.full_like(coefficients, torch.nan)
    design = torch.cat([samples, torch.ones(len(samples), 1, dtype=torch.float64)], 1)
    penalty = torch.full((design.shape[1],), ridge, dtype=torch.float64)
    penalty[-1] = 0.0
    inverse = torch.linalg.pinv(design.T @ (weights[:, None] * design) + torch.diag(penalty), hermitian=True)
    solution = inverse @ (design.T @ (weights * outputs))
    if len(outputs) <= len(solution):  # nothing is left to tell the spread by
        return solution[:-1], torch.full_like(solution[:-1], torch.nan)
    influence = inverse @ (design * (weights * (outputs - design @ solution))[:, None]).T
    spread = influence.square().sum(1) * len(outputs) / (len(outputs) - len(solution))
    return solution[:-1], spread.sqrt()[:-1]
