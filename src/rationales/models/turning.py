"""Texts read from their last token to their first, whatever their padding."""

from __future__ import annotations

import torch
from torch import Tensor


def turned_columns(keep: Tensor) -> Tensor:
    """The columns of each text from its last token to its first, then its padding, [B, T]; padding is on the right."""
    columns = torch.arange(keep.shape[1], device=keep.device).expand_as(keep)
    last = keep.sum(-1, keepdim=True) - 1
    return torch.where(keep, last - columns, columns)


def taken(values: Tensor, columns: Tensor) -> Tensor:
    """Columns of each row: [B, T, d] and [B, T] → [B, T, d]."""
    return values.gather(1, columns.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
