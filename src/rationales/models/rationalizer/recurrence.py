"""The recurrence of a GRU in both directions, for one network or for many stacked ones.

    r = σ(x_r + U_r h + b_r)    z = σ(x_z + U_z h + b_z)    n = tanh(x_n + b_n + r ∘ (U_n h + b_h))
    h ← (1 - z) ∘ n + z ∘ h

The second direction reads each text from its own last token, so what it says does not depend on the padding.

`torch.func.vmap` over the networks makes one recurrence of all of them. On an accelerator it runs in one kernel per
pass, which keeps the small matrix U on the chip for all time steps (`recurrence_kernels.py`); elsewhere it is a loop.

    gates    [T, B, 2, 3h]  what each token brings to r, z and n
    weight   [2, 3h, h]     U_r, U_z and U_n of each direction
    bias     [2, 4h]        b_r, b_z, b_n and b_h
    lengths  [B]            tokens of each text
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from rationales.models.rationalizer.stacking import Stackable, flat, unflat


def has_kernels(device: torch.device) -> bool:
    """Whether the kernels run there."""
    return device.type == "cuda" and find_spec("triton") is not None


def recurrence(gates: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor) -> Tensor:
    """States after each token, [T, B, 2, h]; zero where there is padding."""
    if has_kernels(gates.device):
        states: Tensor = _Recurrence.apply(gates, weight, bias, lengths, False)[0]
        return states
    return _loop(gates, weight, bias, lengths)


def pooled_recurrence(gates: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor) -> Tensor:
    """The largest state of each unit, [B, 2, h]; very low for a text without tokens. Only where there are kernels."""
    largest: Tensor = _Recurrence.apply(gates, weight, bias, lengths, True)[0]
    return largest


def _loop(gates: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor) -> Tensor:
    hidden = weight.shape[-1]
    steps = torch.arange(gates.shape[0], device=gates.device)[:, None]
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)  # [T, B]
    inputs = torch.stack([gates[:, :, 0], _taken(gates[:, :, 1], turned)])  # [2, T, B, 3h]
    on_r, on_z, on_n, on_h = bias.split(hidden, -1)
    state = inputs.new_zeros(2, gates.shape[1], hidden)
    states = []
    for step in inputs.unbind(1):
        into_r, into_z, into_n = step.split(hidden, -1)
        from_r, from_z, from_n = (state @ weight.transpose(1, 2)).split(hidden, -1)
        r = torch.sigmoid(into_r + from_r + on_r[:, None])
        z = torch.sigmoid(into_z + from_z + on_z[:, None])
        n = torch.tanh(into_n + on_n[:, None] + r * (from_n + on_h[:, None]))
        state = n + z * (state - n)
        states.append(state)
    onward, back = torch.stack(states, 1)  # [2, T, B, h]
    both = torch.stack([onward, _taken(back, turned)], 2)
    return both * (steps < lengths)[:, :, None, None]


def _taken(values: Tensor, steps: Tensor) -> Tensor:
    """[T, B, n] in another order of time, which `steps` [T, B] gives for each text."""
    return values.gather(0, steps.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


class _Recurrence(Stackable):
    """All states, or only the largest; behind them what the way back needs."""

    @staticmethod
    def forward(
        gates: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor, pooled: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        from rationales.models.rationalizer.recurrence_kernels import run_forward

        lead = gates.shape[:-4]
        given = [flat(tensor, len(lead)) for tensor in (gates, weight, bias, lengths)]
        states, saved, largest, where = (unflat(tensor, lead) for tensor in run_forward(*given, pooled=pooled))
        return (largest, where, states, saved) if pooled else (states, where, largest, saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, weight, bias, lengths, ctx.pooled = inputs
        first, where, states, saved = output
        ctx.save_for_backward(where, states if ctx.pooled else first, saved, weight, bias, lengths)
        ctx.mark_non_differentiable(where, states, saved)

    @staticmethod
    def backward(ctx: Any, by_first: Tensor, *_others: Tensor) -> tuple[Tensor | None, ...]:
        *saved, weight, bias, lengths = ctx.saved_tensors
        by_gates, by_weight, by_bias = _RecurrenceBackward.apply(by_first, *saved, weight, lengths, ctx.pooled)
        return by_gates, by_weight.to(weight), by_bias.to(bias), None, None


class _RecurrenceBackward(Stackable):
    """Gradients by gates, weight and bias; a function of its own, so that it can be stacked like the other."""

    @staticmethod
    def forward(*given: Any) -> tuple[Tensor, Tensor, Tensor]:
        from rationales.models.rationalizer.recurrence_kernels import run_backward

        *tensors, pooled = given
        lead = tensors[2].shape[:-4]  # of the states
        found = run_backward(*(flat(tensor, len(lead)) for tensor in tensors), pooled=pooled)
        by_gates, by_weight, by_bias = (unflat(tensor, lead) for tensor in found)
        return by_gates, by_weight, by_bias
