"""HardConcrete variables: random numbers in [0, 1] that can be exactly 0 or 1 and still have gradients.

u ~ U(0, 1); ẑ = σ((log α + log u - log(1 - u)) / τ); z = clip(γ + (ζ - γ) ẑ, 0, 1). Louizos et al. (2018).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

GAMMA, ZETA, TAU = -0.1, 1.1, 0.2
EDGE = 1e-6
"""How near to 0 and 1 the uniform numbers may come."""


def drawn(log_alpha: Tensor, uniform: Tensor) -> Tensor:
    """Samples z from uniform numbers of a shape that broadcasts with `log_alpha`."""
    uniform = uniform.clamp(EDGE, 1 - EDGE)
    stretched = torch.sigmoid((log_alpha + torch.logit(uniform)) / TAU)
    return (GAMMA + (ZETA - GAMMA) * stretched).clamp(0, 1)


def zero_probability(log_alpha: Tensor) -> Tensor:
    """P(z = 0) = σ(τ log(-γ / ζ) - log α)."""
    return torch.sigmoid(TAU * math.log(-GAMMA / ZETA) - log_alpha)


def one_probability(log_alpha: Tensor) -> Tensor:
    """P(z = 1) = σ(log α - τ log((1 - γ) / (ζ - 1))).

    The paper on AREC prints (1 - γ) / (ζ - γ), which does not follow from the definition of z.
    """
    return torch.sigmoid(log_alpha - TAU * math.log((1 - GAMMA) / (ZETA - 1)))


def likelier(log_alpha: Tensor) -> Tensor:
    """Whether 1 is likelier than 0. With γ = 1 - ζ that is so where log α > 0."""
    return one_probability(log_alpha) > zero_probability(log_alpha)
