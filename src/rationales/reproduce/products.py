"""How exactly matrices are multiplied while a table is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def quick_products() -> Iterator[None]:
    """Products of float32 matrices in TF32 inside this block, where the device has it."""
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # the caller has chosen already, by torch.backends, which PyTorch does not mix with this
        yield
        return
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
