"""The attention tap: see and change what happens between queries and keys, in any model, and leave no trace.

Transformers lets a model run with a named attention function. Ours is used inside a `with` block and undone after
it. It computes attention as the eager functions do, and on the way records, layer by layer, the scaled query·key
logits and the probabilities, with their graph; and it can multiply the probabilities by given factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop_out
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from rationales.errors import MissingCapability, ModelError

NAME = "rationales_tap"


@dataclass(eq=False)
class Tap:
    """What one `with` block has seen since the last `clear`, one entry per attention layer in order of execution.

    logits         [B, H, T, T]  query·key / √d, before the attention mask
    probabilities  [B, H, T, T]  after softmax and before `scale` and dropout; rows are queries
    scale          broadcastable to [B, H, T, T]: multiplies the probabilities of every layer, without renormalising
    recording      whether anything is kept
    """

    scale: Tensor | None = None
    recording: bool = True
    logits: list[Tensor] = field(default_factory=list)
    probabilities: list[Tensor] = field(default_factory=list)

    def clear(self) -> None:
        self.logits.clear()
        self.probabilities.clear()


_active: ContextVar[Tap | None] = ContextVar("active_tap", default=None)


def tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **extras: Any,
) -> tuple[Tensor, Tensor]:
    """Eager attention that reports to the active tap. The signature is the one Transformers calls."""
    tap = _active.get()  # None in another thread that runs the model meanwhile
    unsupported = [name for name in ("softcap", "s_aux", "sinks") if extras.get(name) is not None]
    if unsupported:
        raise MissingCapability(f"{type(module).__name__} uses {', '.join(unsupported)} in attention; the tap does not")
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # grouped queries share a key
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    logits = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    precise = torch.float32 if query.dtype in (torch.float16, torch.bfloat16) else query.dtype
    masked = logits if attention_mask is None else logits + attention_mask[..., : key.shape[-2]]
    probabilities = masked.softmax(-1, dtype=precise).to(query.dtype)
    used = probabilities
    if tap is not None:
        if tap.recording:
            tap.logits.append(logits)
            tap.probabilities.append(probabilities)
        used = probabilities if tap.scale is None else probabilities * tap.scale.to(probabilities)
    used = drop_out(used, p=dropout, training=module.training)
    return (used @ value).transpose(1, 2).contiguous(), used


def tapped_mask(*sizes: Any, dtype: torch.dtype = torch.float32, **given: Any) -> Tensor | None:
    """What eager attention adds to its logits, made without waiting for the device; None where that is nothing."""
    seen: Tensor | None = sdpa_mask(*sizes, **{**given, "allow_is_causal_skip": False})
    if seen is None:
        return None
    return torch.zeros_like(seen, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)


AttentionInterface.register(NAME, tapped_attention)
AttentionMaskInterface.register(NAME, tapped_mask)


@contextmanager
def scaled(model: PreTrainedModel, scale: Tensor) -> Iterator[None]:
    """Multiply attention inside this block, also where a tap is open; nothing new is recorded."""
    tap = _active.get()
    if tap is None:
        with tapped(model, scale, recording=False):
            yield
        return
    before = tap.scale
    tap.scale = scale if before is None else before * scale
    try:
        yield
    finally:
        tap.scale = before


@contextmanager
def tapped(model: PreTrainedModel, scale: Tensor | None = None, *, recording: bool = True) -> Iterator[Tap]:
    """Run the model with the tap inside this block; its own attention function comes back after it."""
    if _active.get() is not None:
        raise ModelError("a tap is open already; close it before opening another")
    configs = {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}
    before = [(config, config._attn_implementation) for config in configs.values()]
    tap = Tap(scale, recording)
    token = _active.set(tap)
    try:
        if not getattr(model, "_can_set_attn_implementation", lambda: True)():
            raise MissingCapability(_untappable(model))
        model.set_attn_implementation(NAME)
        if any(config._attn_implementation != NAME for config in configs.values()):
            raise MissingCapability(_untappable(model))
        yield tap
    finally:
        _active.reset(token)
        for config, implementation in before:
            config._attn_implementation = implementation


def _untappable(model: PreTrainedModel) -> str:
    return (
        f"{type(model).__name__} computes attention in its own way and takes no attention function, so methods that "
        "read attention cannot run on it"
    )
