"""How exactly matrices are multiplied while a table is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def quick_products() -> Iterator[None]:
    """Products of float32 matrices in TF32 inside this block, where the device has it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
