"""Kernels for many small GRUs at once: one program per network, direction and some texts.

Each program keeps its network's recurrent matrix on the chip and goes through the tokens of its longest text; there is
nothing to launch per step, and nothing to wait for. Products are made of half-precision numbers and summed in single
precision; the state itself is single precision. What a step needs from memory is fetched during the step before.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, WARPS = 16, 8
"""Texts and warps per program."""


@triton.jit
def _forward(
    gates,  # [S, T, B, 2, 3h]
    weight,  # [S, 2, 3h, h]
    bias,  # [S, 2, 4h]
    lengths,  # [S, B]
    states,  # [S, T, B, 2, h]
    saved,  # [S, T, B, 2, 4h]
    largest,  # [S, B, 2, h]
    where,  # [S, B, 2, h]
    T,
    B,
    H: tl.constexpr,
    UNITS: tl.constexpr,
    ROWS: tl.constexpr,
    POOLED: tl.constexpr,
):
    stack = (tl.program_id(0) // 2).to(tl.int64)
    direction = tl.program_id(0) % 2
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    units = tl.arange(0, UNITS)
    real = units < H
    square = real[:, None] & real[None, :]
    length = tl.load(lengths + stack * B + rows, mask=rows < B, other=0)

    matrix = weight + (stack * 2 + direction) * 3 * H * H + units[None, :] * H + units[:, None]  # [from, to]
    u_r = tl.load(matrix, mask=square, other=0.0)
    u_z = tl.load(matrix + H * H, mask=square, other=0.0)
    u_n = tl.load(matrix + 2 * H * H, mask=square, other=0.0)
    offset = bias + (stack * 2 + direction) * 4 * H + units
    b_r = tl.load(offset, mask=real, other=0.0)[None, :]
    b_z = tl.load(offset + H, mask=real, other=0.0)[None, :]
    b_n = tl.load(offset + 2 * H, mask=real, other=0.0)[None, :]
    b_h = tl.load(offset + 3 * H, mask=real, other=0.0)[None, :]

    gates += stack * T * B * 6 * H + units[None, :]
    states += stack * T * B * 2 * H + units[None, :]
    saved += stack * T * B * 8 * H + units[None, :]
    state = tl.zeros([ROWS, UNITS], tl.float32)
    best = tl.full([ROWS, UNITS], -1e6, tl.float32)
    best_at = tl.zeros([ROWS, UNITS], tl.int32)

    running = (length > 0)[:, None] & real[None, :]
    at = tl.where(direction == 0, 0, length - 1)
    place = ((at * B + rows) * 2 + direction)[:, None]
    x_r = tl.load(gates + place * 3 * H, mask=running, other=0.0)
    x_z = tl.load(gates + place * 3 * H + H, mask=running, other=0.0)
    x_n = tl.load(gates + place * 3 * H + 2 * H, mask=running, other=0.0)
    for step in range(tl.max(length)):
        next_running = (step + 1 < length)[:, None] & real[None, :]
        next_at = tl.where(direction == 0, step + 1, length - 2 - step)
        next_place = ((next_at * B + rows) * 2 + direction)[:, None]
        next_r = tl.load(gates + next_place * 3 * H, mask=next_running, other=0.0)
        next_z = tl.load(gates + next_place * 3 * H + H, mask=next_running, other=0.0)
        next_n = tl.load(gates + next_place * 3 * H + 2 * H, mask=next_running, other=0.0)

        half = state.to(u_r.dtype)
        r = tl.sigmoid(x_r.to(tl.float32) + b_r + tl.dot(half, u_r))
        z = tl.sigmoid(x_z.to(tl.float32) + b_z + tl.dot(half, u_z))
        from_n = tl.dot(half, u_n) + b_h
        n = 2 * tl.sigmoid(2 * (x_n.to(tl.float32) + b_n + r * from_n)) - 1
        state = tl.where(running, n + z * (state - n), 0.0)
        tl.store(states + place * H, state, mask=running)
        tl.store(saved + place * 4 * H, r, mask=running)
        tl.store(saved + place * 4 * H + H, z, mask=running)
        tl.store(saved + place * 4 * H + 2 * H, n, mask=running)
        tl.store(saved + place * 4 * H + 3 * H, from_n, mask=running)
        if POOLED:
            larger = running & (state > best)
            best = tl.where(larger, state, best)
            best_at = tl.where(larger, step, best_at)
        running, place, x_r, x_z, x_n = next_running, next_place, next_r, next_z, next_n
    if POOLED:
        inside = (rows < B)[:, None] & real[None, :]
        own = ((stack * B + rows) * 2 + direction)[:, None] * H + units[None, :]
        tl.store(largest + own, best, mask=inside)
        tl.store(where + own, best_at, mask=inside)


@triton.jit
def _backward(
    by_states,  # [S, T, B, 2, h], or where POOLED by the largest states, [S, B, 2, h]
    where,  # [S, B, 2, h]
    states,  # [S, T, B, 2, h]
    saved,  # [S, T, B, 2, 4h]
    weight,  # [S, 2, 3h, h]
    lengths,  # [S, B]
    by_gates,  # [S, T, B, 2, 3h]
    by_from_n,  # [S, T, B, 2, h]
    T,
    B,
    H: tl.constexpr,
    UNITS: tl.constexpr,
    ROWS: tl.constexpr,
    POOLED: tl.constexpr,
):
    stack = (tl.program_id(0) // 2).to(tl.int64)
    direction = tl.program_id(0) % 2
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    units = tl.arange(0, UNITS)
    real = units < H
    square = real[:, None] & real[None, :]
    length = tl.load(lengths + stack * B + rows, mask=rows < B, other=0)

    matrix = weight + (stack * 2 + direction) * 3 * H * H + units[:, None] * H + units[None, :]  # [to, from]
    u_r = tl.load(matrix, mask=square, other=0.0)
    u_z = tl.load(matrix + H * H, mask=square, other=0.0)
    u_n = tl.load(matrix + 2 * H * H, mask=square, other=0.0)

    own = ((stack * B + rows) * 2 + direction)[:, None] * H + units[None, :]
    inside = (rows < B)[:, None] & real[None, :]
    by_largest = tl.zeros([ROWS, UNITS], tl.float32)
    largest_at = tl.zeros([ROWS, UNITS], tl.int32)
    if POOLED:
        by_largest = tl.load(by_states + own, mask=inside, other=0.0).to(tl.float32)
        largest_at = tl.load(where + own, mask=inside, other=0)
    else:
        by_states += stack * T * B * 2 * H + units[None, :]
    states += stack * T * B * 2 * H + units[None, :]
    saved += stack * T * B * 8 * H + units[None, :]
    by_gates += stack * T * B * 6 * H + units[None, :]
    by_from_n += stack * T * B * 2 * H + units[None, :]
    by_state = tl.zeros([ROWS, UNITS], tl.float32)
    longest = tl.max(length)
    for back in range(longest):
        step = longest - 1 - back
        running = (step < length)[:, None] & real[None, :]
        at = tl.where(direction == 0, step, length - 1 - step)
        place = ((at * B + rows) * 2 + direction)[:, None]
        before = (((at - 1 + 2 * direction) * B + rows) * 2 + direction)[:, None]
        begun = running & (tl.minimum(step, length) > 0)[:, None]
        r = tl.load(saved + place * 4 * H, mask=running, other=0.0).to(tl.float32)
        z = tl.load(saved + place * 4 * H + H, mask=running, other=0.0).to(tl.float32)
        n = tl.load(saved + place * 4 * H + 2 * H, mask=running, other=0.0).to(tl.float32)
        from_n = tl.load(saved + place * 4 * H + 3 * H, mask=running, other=0.0).to(tl.float32)
        state = tl.load(states + before * H, mask=begun, other=0.0).to(tl.float32)
        if POOLED:
            by_state += tl.where(running & (largest_at == step), by_largest, 0.0)
        else:
            by_state += tl.load(by_states + place * H, mask=running, other=0.0).to(tl.float32)
        by_z = by_state * (state - n) * z * (1 - z)
        by_n = by_state * (1 - z) * (1 - n * n)
        by_r = by_n * from_n * r * (1 - r)
        half_r, half_z, half_n = by_r.to(u_r.dtype), by_z.to(u_r.dtype), (by_n * r).to(u_r.dtype)
        tl.store(by_gates + place * 3 * H, half_r, mask=running)
        tl.store(by_gates + place * 3 * H + H, half_z, mask=running)
        tl.store(by_gates + place * 3 * H + 2 * H, by_n, mask=running)
        tl.store(by_from_n + place * H, half_n, mask=running)
        by_state = by_state * z + tl.dot(half_r, u_r) + tl.dot(half_z, u_z) + tl.dot(half_n, u_n)


def run_forward(
    gates: Tensor, weight: Tensor, bias: Tensor, lengths: Tensor, *, pooled: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What S stacked networks make of their texts.

    States [S, T, B, 2, h]; r, z, n and U_n h + b_h, [S, T, B, 2, 4h], for the way back; and, if wanted, the largest
    states [S, B, 2, h] and the steps at which they are reached.
    """
    stack, steps, texts, _, hidden = *gates.shape[:4], weight.shape[-1]
    states = gates.new_zeros(stack, steps, texts, 2, hidden)
    saved = gates.new_empty(stack, steps, texts, 2, 4 * hidden)
    size = (stack, texts if pooled else 0, 2, hidden)
    largest = torch.empty(size, dtype=torch.float32, device=gates.device)
    where = torch.empty(size, dtype=torch.int32, device=gates.device)
    half, fine = weight.to(gates.dtype).contiguous(), bias.float().contiguous()
    _forward[_programs(stack, texts)](
        gates,
        half,
        fine,
        lengths.int(),
        states,
        saved,
        largest,
        where,
        steps,
        texts,
        **_sizes(hidden),
        POOLED=pooled,
        num_warps=WARPS,
    )
    return states, saved, largest, where


def run_backward(
    by_states: Tensor, where: Tensor, states: Tensor, saved: Tensor, weight: Tensor, lengths: Tensor, *, pooled: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by gates [S, T, B, 2, 3h], weight [S, 2, 3h, h] and bias [S, 2, 4h].

    `by_states` is the gradient by all states, or by the largest ones, which are `where` says.
    """
    stack, steps, texts, _, hidden = states.shape
    by_gates = states.new_zeros(stack, steps, texts, 2, 3 * hidden)
    by_from_n = torch.zeros_like(states)
    _backward[_programs(stack, texts)](
        by_states,
        where,
        states,
        saved,
        weight.to(states.dtype).contiguous(),
        lengths.int(),
        by_gates,
        by_from_n,
        steps,
        texts,
        **_sizes(hidden),
        POOLED=pooled,
        num_warps=WARPS,
    )
    by_weight = torch.stack([_by_weight(by_gates, by_from_n, states, direction) for direction in (0, 1)], 1)
    sums = (tensor.sum((1, 2), dtype=torch.float32) for tensor in (by_gates, by_from_n))
    return by_gates, by_weight, torch.cat([*sums], -1)


def _by_weight(by_gates: Tensor, by_from_n: Tensor, states: Tensor, direction: int) -> Tensor:
    """Σ over tokens of the gradient by what U h is added to, times the state before it, [S, 3h, h]."""
    hidden = states.shape[-1]
    here, before = (slice(1, None), slice(None, -1)) if direction == 0 else (slice(None, -1), slice(1, None))
    state = states[:, before, :, direction].flatten(1, 2)  # [S, (T - 1) B, h], a view, like the next two
    by_r_and_z = by_gates[:, here, :, direction, : 2 * hidden].flatten(1, 2)
    by_n = by_from_n[:, here, :, direction].flatten(1, 2)
    return torch.cat([by_r_and_z.transpose(1, 2) @ state, by_n.transpose(1, 2) @ state], 1)


def _programs(stack: int, texts: int) -> tuple[int, int]:
    return 2 * stack, triton.cdiv(texts, ROWS)


def _sizes(hidden: int) -> dict[str, int]:
    return {"H": hidden, "UNITS": max(16, triton.next_power_of_2(hidden)), "ROWS": ROWS}
