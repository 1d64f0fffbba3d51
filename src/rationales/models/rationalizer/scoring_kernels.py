"""Kernels for what a selector makes of its states: layer normalisation, dropout and a linear layer, in one go.

A state has two directions, each of `EACH` numbers of which the first `REAL` count; the others are padding.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 16
"""States that a program looks at in one turn."""
TURNS = 16


@triton.jit
def _forward(
    states,  # [S, N, 2 · EACH]
    weights,  # [S, 4, 2 · EACH]: gain, shift, and the weights of both logits
    seeds,  # [S]
    logits,  # [S, N, 2]
    N,
    EACH: tl.constexpr,
    REAL: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    stack = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    features = tl.arange(0, WIDE)[None, :]
    known = (features < 2 * EACH) & (features % EACH < REAL)
    place = rows[:, None] * 2 * EACH + features
    own = weights + stack * 8 * EACH + features
    state = tl.load(states + stack * N * 2 * EACH + place, mask=(rows < N)[:, None] & known, other=0.0).to(tl.float32)
    centred = tl.where(known, state - tl.sum(state, 1)[:, None] / (2 * REAL), 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 1)[:, None] / (2 * REAL) + 1e-5)
    output = centred * scale * tl.load(own, mask=known, other=0.0) + tl.load(own + 2 * EACH, mask=known, other=0.0)
    if DROPOUT > 0:
        kept = tl.rand(tl.load(seeds + stack), place) >= DROPOUT
        output = tl.where(kept, output / (1 - DROPOUT), 0.0)
    into = logits + (stack * N + rows) * 2
    tl.store(into, tl.sum(output * tl.load(own + 4 * EACH, mask=known, other=0.0), 1), mask=rows < N)
    tl.store(into + 1, tl.sum(output * tl.load(own + 6 * EACH, mask=known, other=0.0), 1), mask=rows < N)


@triton.jit
def _backward(
    by_logits,  # [S, N, 2]
    states,  # [S, N, 2 · EACH]
    weights,  # [S, 4, 2 · EACH]
    seeds,  # [S]
    by_states,  # [S, N, 2 · EACH]
    by_weights,  # [S, 4, 2 · EACH]
    N,
    EACH: tl.constexpr,
    REAL: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    stack = tl.program_id(1).to(tl.int64)
    features = tl.arange(0, WIDE)[None, :]
    known = (features < 2 * EACH) & (features % EACH < REAL)
    own = weights + stack * 8 * EACH + features
    gain = tl.load(own, mask=known, other=0.0)
    shift = tl.load(own + 2 * EACH, mask=known, other=0.0)
    for_first = tl.load(own + 4 * EACH, mask=known, other=0.0)
    for_second = tl.load(own + 6 * EACH, mask=known, other=0.0)
    by_gain = tl.zeros([1, WIDE], tl.float32)
    by_shift = tl.zeros([1, WIDE], tl.float32)
    by_first = tl.zeros([1, WIDE], tl.float32)
    by_second = tl.zeros([1, WIDE], tl.float32)
    for turn in range(TURNS):
        rows = (tl.program_id(0) * TURNS + turn) * ROWS + tl.arange(0, ROWS)
        inside = (rows < N)[:, None]
        place = rows[:, None] * 2 * EACH + features
        state = tl.load(states + stack * N * 2 * EACH + place, mask=inside & known, other=0.0).to(tl.float32)
        first = tl.load(by_logits + (stack * N + rows) * 2, mask=rows < N, other=0.0)[:, None]
        second = tl.load(by_logits + (stack * N + rows) * 2 + 1, mask=rows < N, other=0.0)[:, None]
        centred = tl.where(known, state - tl.sum(state, 1)[:, None] / (2 * REAL), 0.0)
        scale = tl.rsqrt(tl.sum(centred * centred, 1)[:, None] / (2 * REAL) + 1e-5)
        normal = centred * scale
        output = normal * gain + shift
        by_output = first * for_first + second * for_second
        if DROPOUT > 0:
            kept = tl.rand(tl.load(seeds + stack), place) >= DROPOUT
            output = tl.where(kept, output / (1 - DROPOUT), 0.0)
            by_output = tl.where(kept, by_output / (1 - DROPOUT), 0.0)
        by_first += tl.sum(first * output, 0)[None, :]
        by_second += tl.sum(second * output, 0)[None, :]
        by_gain += tl.sum(by_output * normal, 0)[None, :]
        by_shift += tl.sum(by_output, 0)[None, :]
        by_normal = by_output * gain
        pull = tl.sum(by_normal, 1)[:, None] + normal * tl.sum(by_normal * normal, 1)[:, None]
        by_state = tl.where(known, scale * (by_normal - pull / (2 * REAL)), 0.0)
        tl.store(by_states + stack * N * 2 * EACH + place, by_state, mask=inside & (features < 2 * EACH))
    into = by_weights + stack * 8 * EACH + features
    tl.atomic_add(into, by_gain, mask=known)
    tl.atomic_add(into + 2 * EACH, by_shift, mask=known)
    tl.atomic_add(into + 4 * EACH, by_first, mask=known)
    tl.atomic_add(into + 6 * EACH, by_second, mask=known)


def run_forward(states: Tensor, weights: Tensor, seeds: Tensor, *, real: int, dropout: float) -> Tensor:
    """Logits [S, N, 2] of states [S, N, 2 · each]; `weights` [S, 4, 2 · each] as in the kernel, without the bias."""
    stack, number, _ = states.shape
    logits = torch.empty(stack, number, 2, dtype=torch.float32, device=states.device)
    _forward[triton.cdiv(number, ROWS), stack](
        states, weights, seeds, logits, number, **_sizes(states, real), ROWS=ROWS, DROPOUT=dropout
    )
    return logits


def run_backward(
    by_logits: Tensor, states: Tensor, weights: Tensor, seeds: Tensor, *, real: int, dropout: float
) -> tuple[Tensor, Tensor]:
    """Gradients by states [S, N, 2 · each] and weights [S, 4, 2 · each]."""
    stack, number, _ = states.shape
    by_states, by_weights = torch.empty_like(states), torch.zeros_like(weights)
    _backward[triton.cdiv(number, ROWS * TURNS), stack](
        by_logits,
        states,
        weights,
        seeds,
        by_states,
        by_weights,
        number,
        **_sizes(states, real),
        ROWS=ROWS,
        TURNS=TURNS,
        DROPOUT=dropout,
    )
    return by_states, by_weights


def _sizes(states: Tensor, real: int) -> dict[str, int]:
    wide = states.shape[-1]
    return {"EACH": wide // 2, "REAL": real, "WIDE": triton.next_power_of_2(wide)}
