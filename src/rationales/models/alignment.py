"""Links between the tokens of two texts, [B, P, H], and the attention matrices [B, T, T] that they are part of."""

from __future__ import annotations

from torch import Tensor

from rationales.models.batch import Batch


def attention_factors(batch: Batch, alignment: Tensor) -> Tensor:
    """Factors of attention, [B, T, T]: `alignment` from the first text to the second and back, 1 everywhere else."""
    first, second = (batch.members(side, alignment.shape[1 + side]).to(alignment) for side in (0, 1))
    across = first.transpose(1, 2) @ alignment @ second
    linked = first.sum(1)[:, :, None] * second.sum(1)[:, None, :]  # where there is a link to speak of
    one_way = across - linked
    return 1 + one_way + one_way.transpose(1, 2)


def between(batch: Batch, matrix: Tensor) -> Tensor:
    """The part of a matrix [B, T, T] between the tokens of the first text and of the second, [B, P, H]."""
    first, second = (batch.members(side).to(matrix) for side in (0, 1))
    return first @ matrix @ second.transpose(1, 2)
