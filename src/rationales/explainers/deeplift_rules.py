"""DeepLift's rules for the functions that Transformers are made of.

A text and its reference run side by side in one batch: the first half of every tensor belongs to the texts, the
second half to their references. Inside a `multipliers_mode` block each non-linear function still returns its
value, but its gradient becomes a multiplier: what the output changed between the halves, shared out over what the
inputs changed. Every rule here shares out exactly, so a chain of them does.

- a function of one number: Δy/Δx (the rescale rule);
- a product of two changing factors: each gets the other's mean over the halves, since
  Δ(ab) = Δa·(b + b⁰)/2 + Δb·(a + a⁰)/2; the same for matrix products;
- a vector times the inverse r of its size, as in LayerNorm and RMSNorm: the vector gets the harmonic mean of r and r⁰
  instead, and r gets (r·a + r⁰·a⁰)/(r + r⁰), which is as exact; a reference of zeros has a size of nearly 0, and with
  the plain mean its r⁰ would drown everything;
- softmax, division and attention: built from those.

Functions are met where PyTorch dispatches them, so no model file is patched. A function without a rule keeps its
gradient, and the explanation's recorded gap shows what that costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

NEARBY = 1e-4
"""Differences below this are too small to divide by; the derivative half-way stands in."""


def _other_half(x: Tensor) -> Tensor:
    first, second = x.chunk(2)
    return torch.cat([second, first])


def _linear_with(value: Tensor, surrogate: Tensor) -> Tensor:
    """A tensor with exactly this value, however large the surrogate, and the surrogate's gradient."""
    return value.detach() + (surrogate - surrogate.detach())


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.device.type == "mps" else x.double()  # Apple's devices have no float64


def rescale(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """y = f(x) with Δy/Δx as its gradient."""
    with torch.no_grad():
        # In float32 the rounding of y, divided by a small Δx, would be seen in the scores.
        wide, y = _wide(x), function(_wide(x))
        other = _other_half(wide)
        gap, middle = wide - other, (wide + other) / 2
        near = gap.abs() < NEARBY
        ratio = (y - _other_half(y)) / torch.where(near, 1.0, gap)
    with torch.enable_grad():
        middle.requires_grad_()
        (slope,) = torch.autograd.grad(function(middle).sum(), middle)
    return _linear_with(y.to(x.dtype), torch.where(near, slope, ratio).to(x.dtype) * x)


def _changes(a: Tensor, like: Tensor) -> bool:
    """Whether a factor differs between the halves: it has the output's leading dimension and depends on the input."""
    return a.requires_grad and a.dim() == like.dim() and a.shape[0] == like.shape[0]


def _product(multiply: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    value = multiply(a, b)
    return _bilinear(multiply, a, b) if _changes(a, value) and _changes(b, value) else value


def _bilinear(multiply: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    """A bilinear function of two factors, each of which gets the other's mean over the halves."""
    mean_a, mean_b = ((x + _other_half(x)).detach() / 2 for x in (a, b))
    return _linear_with(multiply(a, b), multiply(a, mean_b) + multiply(mean_a, b))


def _rsqrt(x: Tensor) -> Tensor:
    out = rescale(torch.rsqrt, x)
    out.inverse_size = True  # type: ignore[attr-defined]  # so that a product with it is known for what it is
    return out


def _normalised(a: Tensor, r: Tensor) -> Tensor:
    """a · r, where r > 0 is the inverse of a's size."""
    with torch.no_grad():
        other_a, other_r = _other_half(a), _other_half(r)
        harmonic = 2 * r * other_r / (r + other_r)
        weighted = (r * a + other_r * other_a) / (r + other_r)
    return _linear_with(a * r, a * harmonic + r * weighted)


def _mul(a: Any, b: Any) -> Tensor:
    if getattr(b, "inverse_size", False):
        return _normalised(a, b)
    if getattr(a, "inverse_size", False):
        return _normalised(b, a)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _product(torch.mul, a, b)
    return a * b  # type: ignore[no-any-return]


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return _product(torch.matmul, a, b)


def _baddbmm(added: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    return beta * added + alpha * _matmul(batch1, batch2)


def _einsum(equation: str, *operands: Tensor) -> Tensor:
    names = equation.replace(" ", "").replace("->", ",").split(",")
    rows_lead = len({name[:1] for name in names}) == 1  # all begin with the same letter: the rows of the batch
    if len(operands) == 2 and len(names) == 3 and rows_lead and all(factor.requires_grad for factor in operands):
        return _bilinear(lambda a, b: torch.einsum(equation, a, b), *operands)
    return torch.einsum(equation, *operands)


def _glu(x: Tensor, dim: int = -1) -> Tensor:
    a, b = x.chunk(2, dim)
    return _mul(a, rescale(torch.sigmoid, b))


def _div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None and isinstance(b, Tensor) and b.requires_grad:
        return _mul(a, rescale(torch.reciprocal, b))
    return torch.div(a, b, rounding_mode=rounding_mode)


def _softmax(x: Tensor, dim: int = -1, *_: Any, dtype: torch.dtype | None = None, **__: Any) -> Tensor:
    # Both halves are shifted by the same number, or the shift would count as a change; float64 holds what that leaves.
    wide = _wide(x).clamp(min=-1e30)  # where all is masked, -inf
    highest = wide.detach().amax(dim, keepdim=True)
    shifted = (wide - torch.maximum(highest, _other_half(highest))).clamp(min=-600.0)
    powers = rescale(torch.exp, shifted)
    shares = _normalised(powers, rescale(torch.reciprocal, powers.sum(dim, keepdim=True)))
    return shares.to(dtype or x.dtype)


def _layer_norm(
    x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5, *_: Any
) -> Tensor:
    dims, wide = tuple(range(-len(shape), 0)), _wide(x)
    return _scaled(wide - wide.mean(dims, keepdim=True), dims, weight, bias, eps).to(x.dtype)


def _rms_norm(x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return _scaled(_wide(x), tuple(range(-len(shape), 0)), weight, None, eps).to(x.dtype)


def _scaled(x: Tensor, dims: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    size = rescale(torch.square, x).mean(dims, keepdim=True) + eps
    out = _normalised(x, _rsqrt(size))
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    assert dropout_p == 0.0, "DeepLift runs on a model in evaluation mode"
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    logits = _matmul(query, key.transpose(-2, -1)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        seen = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
        logits = logits.masked_fill(~seen, -torch.inf)
    if attn_mask is not None:
        logits = logits.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else logits + attn_mask
    return _matmul(_softmax(logits), value)


def _pow(x: Any, exponent: Any) -> Tensor:
    if isinstance(x, Tensor) and x.requires_grad and not isinstance(exponent, Tensor):
        return rescale(lambda t: t**exponent, x)
    return torch.pow(x, exponent)


ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    "abs": torch.abs,
    "celu": F.celu,
    "clamp": torch.clamp,
    "clip": torch.clip,
    "cos": torch.cos,
    "elu": F.elu,
    "erf": torch.erf,
    "exp": torch.exp,
    "gelu": F.gelu,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "leaky_relu": F.leaky_relu,
    "log": torch.log,
    "log1p": torch.log1p,
    "log_sigmoid": F.logsigmoid,
    "mish": F.mish,
    "reciprocal": torch.reciprocal,
    "relu": F.relu,
    "relu6": F.relu6,
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "sin": torch.sin,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tanh": torch.tanh,
}

RULES: dict[str, Callable[..., Any]] = {
    "mul": _mul,
    "multiply": _mul,
    "div": _div,
    "divide": _div,
    "true_divide": _div,
    "__rdiv__": lambda a, b: _div(b, a),
    "matmul": _matmul,
    "bmm": _matmul,
    "baddbmm": _baddbmm,
    "einsum": _einsum,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    "rsqrt": _rsqrt,
    "pow": _pow,
    "glu": _glu,
}


class _Multipliers(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name: str = getattr(func, "__name__", "")
        in_place = kwargs.get("inplace", False)
        if name.endswith("_") and not name.endswith("__"):  # mul_, relu_ …
            name, in_place = name[:-1], True
        changing = any(isinstance(given, Tensor) and given.requires_grad for given in (*args, *kwargs.values()))
        if not (torch.is_grad_enabled() and changing and (name in RULES or name in ELEMENTWISE)):
            return func(*args, **kwargs)
        if name in RULES:
            result = RULES[name](*args, **kwargs)
        else:
            options = {key: value for key, value in kwargs.items() if key not in ("input", "inplace")}
            x = args[0] if args else kwargs["input"]
            result = rescale(lambda t: ELEMENTWISE[name](t, *args[1:], **options), x)
        return args[0].copy_(result) if in_place else result


@contextmanager
def multipliers_mode() -> Iterator[None]:
    """Inside this block non-linear functions get multipliers for gradients."""
    with _Multipliers():
        yield
