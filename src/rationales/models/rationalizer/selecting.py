"""Choosing tokens by chance such that gradients pass, and the vicinity of a choice.

Everything here stays on the device: no value is read back, so that a training loop never waits.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

Count: TypeAlias = Literal["exact", "batch_mean"]


class Draw(NamedTuple):
    """A choice of tokens: `hard` [B, T] is True for chosen ones, `soft` [B, T] the probabilities it was made with."""

    hard: Tensor
    soft: Tensor

    @property
    def through(self) -> Tensor:
        """0 and 1 exactly, with the gradient of `soft` (straight-through), [B, T]."""
        return self.hard.to(self.soft) + (self.soft - self.soft.detach())

    def replaced(self, hard: Tensor) -> Draw:
        """Other tokens, which pass on the same gradients."""
        return Draw(hard, self.soft)


def gumbel_draw(
    logits: Tensor, eligible: Tensor, *, temperature: float = 1.0, generator: torch.Generator | None = None
) -> Draw:
    """Choose each eligible token by chance: P(chosen) = softmax(logits)₁.

    soft = softmax((logits + G) / τ)₁ with Gumbel noise G, hard = argmax. `logits` [B, T, 2] are for leaving a token out
    and for choosing it; `eligible` [B, T] says which may be chosen at all. Jang et al. (2017).
    """
    noise = -torch.empty_like(logits).exponential_(generator=generator).log()
    noisy = (logits + noise) / temperature
    soft = noisy.softmax(-1)[..., 1] * eligible
    return Draw((noisy[..., 1] > noisy[..., 0]) & eligible, soft)


def likelier(logits: Tensor, eligible: Tensor) -> Tensor:
    """The tokens that are likelier chosen than not, [B, T]."""
    return (logits[..., 1] > logits[..., 0]) & eligible


def most_wanted(logits: Tensor, eligible: Tensor, share: float | Tensor) -> Tensor:
    """The tokens that are wanted most, ⌈share · n⌉ of n eligible ones; ties keep the order of the text, [B, T]."""
    wanted = logits[..., 1] - logits[..., 0]
    number = (share * eligible.sum(-1, keepdim=True)).round(decimals=4).ceil()
    return eligible & (rank(-wanted, eligible) < number)


def perturbed(
    hard: Tensor,
    eligible: Tensor,
    p: float | Tensor,
    *,
    count: Count = "exact",
    generator: torch.Generator | None = None,
) -> Tensor:
    """A choice in the vicinity of `hard` [B, T]: some tokens exchanged for others of the same text.

    Each chosen token is switched off with probability p, and as many others, at random, are switched on; where there
    are fewer others than that, fewer are switched off. So every text keeps its number of chosen tokens.
    `count="batch_mean"` is what the authors' program does: in each text it switches on the mean number over the batch,
    rounded down but at least one, and none at all if some text has no other token. Liu et al. (2025), equation 8.
    """
    noise = torch.rand(hard.shape, device=hard.device, generator=generator)
    off = hard & (noise < p)
    others = eligible & ~hard
    place = rank(torch.rand(hard.shape, device=hard.device, generator=generator), others)
    if count == "batch_mean":
        number = off.sum(-1).float().mean().floor().clamp(min=1) * others.any(-1).all() * (p > 0)
        return (hard & ~off) | (others & (place < number))
    number = torch.minimum(off.sum(-1, keepdim=True), others.sum(-1, keepdim=True))
    off &= rank(noise, off) < number
    return (hard & ~off) | (others & (place < number))


def rank(values: Tensor, among: Tensor) -> Tensor:
    """The place of each token among the marked ones, lowest first, from 0, [B, T]; others come behind them."""
    order = torch.where(among, values, torch.inf).argsort(dim=-1, stable=True)
    places = torch.arange(values.shape[-1], device=values.device).expand_as(order)
    return torch.zeros_like(order).scatter(-1, order, places)
