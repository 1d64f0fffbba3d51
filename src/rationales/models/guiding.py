"""Guides tell a model how far it may link the words of two texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation.types import Token
from rationales.models.batch import Batch, Encoded


class Guide(Protocol):
    """Gives factors [P, H] for the links between the P tokens of a pair's first text and the H of its second.

    0 forbids a link, 1 leaves it as the model would have it. Special tokens among `tokens` have no factors.
    """

    def __call__(self, example: Example, tokens: Sequence[Token]) -> ArrayLike: ...


def guided_batch(batch: Batch, guide: Guide | None, dtype: torch.dtype) -> Batch:
    """The batch, fresh from its texts, with the factors of a guide, if there is one."""
    if guide is None:
        return batch
    alignment = torch.ones(len(batch), *(batch.members(side).shape[1] for side in (0, 1)), dtype=dtype)
    for row, source in enumerate(batch.sources):
        factors = _factors(guide, source)
        alignment[row, : factors.shape[0], : factors.shape[1]] = factors
    return replace(batch, alignment=alignment)


def _factors(guide: Guide, source: Encoded) -> Tensor:
    if len(source.example.texts) != 2:
        raise InputError(f"a guide links the words of two texts, and {source.example.id!r} is one; give pairs")
    factors = np.asarray(guide(source.example, source.tokens), dtype=np.float64)
    wanted = tuple(sum(token.segment == side for token in source.tokens) for side in (0, 1))
    if factors.shape != wanted:
        raise InputError(
            f"the guide gives factors of shape {list(factors.shape)} for {source.example.id!r}, whose texts have "
            f"{wanted[0]} and {wanted[1]} tokens"
        )
    if not ((factors >= 0) & (factors <= 1)).all():
        raise InputError(
            f"the guide gives factors for {source.example.id!r} that are not between 0, no link, and 1, as the model "
            "would have it"
        )
    return torch.from_numpy(factors)
