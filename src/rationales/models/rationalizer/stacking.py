"""Functions with a kernel of their own that `torch.func.vmap` can stack: what they share."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd import Function

Dims: TypeAlias = tuple[int | None, ...]


class Stackable(Function):
    """A function whose kernel takes tensors with a leading dimension of stacked networks.

    A subclass has `forward` for tensors with any number of leading dimensions: see `flat` and `unflat`. Under `vmap`
    the stacked dimension is brought to the front of all tensors, and the function called once.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing is kept for a way back, unless a subclass has one."""

    @staticmethod
    def backward(*_given: Any) -> Any:
        """Without one, an error instead of a wrong number."""
        raise RuntimeError("the kernels have first derivatives only")

    @classmethod
    def vmap(cls, info: Any, dims: Dims, *given: Any) -> tuple[Any, Any]:
        """The rule for stacking."""
        front = [_in_front(info.batch_size, dim, some) for some, dim in zip(given, dims, strict=True)]
        found = cls.apply(*front)
        return found, 0 if isinstance(found, Tensor) else (0,) * len(found)


def flat(tensor: Tensor, lead: int) -> Tensor:
    """One leading dimension instead of `lead`, contiguous."""
    return tensor.reshape(math.prod(tensor.shape[:lead]), *tensor.shape[lead:]).contiguous()


def unflat(tensor: Tensor, lead: torch.Size) -> Tensor:
    """The other way round."""
    return tensor.view(*lead, *tensor.shape[1:])


def _in_front(size: int, dim: int | None, some: Any) -> Any:
    if not isinstance(some, Tensor):
        return some
    return some.expand(size, *some.shape) if dim is None else some.movedim(dim, 0)
