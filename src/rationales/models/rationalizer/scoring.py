"""What a selector makes of its states where there are kernels: see `scoring_kernels.py`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rationales.models.rationalizer.stacking import Stackable, flat, unflat


def scores(head: nn.Sequential, states: Tensor) -> Tensor:
    """Layer normalisation, dropout and linear layer of states [..., 2, h], each direction padded: logits [..., 2]."""
    norm, dropout, linear = head
    assert isinstance(norm, nn.LayerNorm)
    assert isinstance(dropout, nn.Dropout)
    assert isinstance(linear, nn.Linear)
    real, missing = linear.in_features // 2, states.shape[-1] - linear.in_features // 2
    rows = torch.cat([norm.weight[None], norm.bias[None], linear.weight])
    params = pad(rows.unflatten(-1, (2, real)), (0, missing)).flatten(-2)
    chance = dropout.p if dropout.training else 0.0
    seed = torch.zeros((), device=states.device, dtype=torch.int32)
    if chance:
        seed = torch.randint_like(seed, 2**31 - 1)
    found: Tensor = _Scores.apply(states.flatten(-2).flatten(0, -2), params, seed, real, chance)
    return found.view(*states.shape[:-2], 2) + linear.bias


class _Scores(Stackable):
    """Logits [N, 2] of states [N, 2h]."""

    @staticmethod
    def forward(states: Tensor, params: Tensor, seed: Tensor, real: int, dropout: float) -> Tensor:
        from rationales.models.rationalizer.scoring_kernels import run_forward

        lead = states.shape[:-2]
        given = [flat(tensor, len(lead)) for tensor in (states, params, seed)]
        return unflat(run_forward(*given, real=real, dropout=dropout), lead)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        *tensors, ctx.real, ctx.dropout = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, by_logits: Tensor) -> tuple[Tensor | None, ...]:
        by_states, by_params = _ScoresBackward.apply(by_logits, *ctx.saved_tensors, ctx.real, ctx.dropout)
        return by_states, by_params, None, None, None


class _ScoresBackward(Stackable):
    """Gradients by states and params."""

    @staticmethod
    def forward(
        by_logits: Tensor, states: Tensor, params: Tensor, seed: Tensor, real: int, dropout: float
    ) -> tuple[Tensor, Tensor]:
        from rationales.models.rationalizer.scoring_kernels import run_backward

        lead = states.shape[:-2]
        given = [flat(tensor, len(lead)) for tensor in (by_logits, states, params, seed)]
        by_states, by_params = run_backward(*given, real=real, dropout=dropout)
        return unflat(by_states, lead), unflat(by_params, lead)
