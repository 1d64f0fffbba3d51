"""What a selection should look like, whatever it says: short, and in few pieces."""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch import Tensor

Ratio: TypeAlias = Literal["batch", "text"]


def sparsity(chosen: Tensor, keep: Tensor, wanted: float | Tensor, ratio: Ratio = "batch") -> Tensor:
    """|share of chosen tokens - wanted|, of the batch as a whole or averaged over its texts.

    `chosen` [B, T] is 0 or 1 with gradients; `keep` [B, T] marks the tokens of which it is a share.
    """
    number, total = chosen.sum(-1), keep.sum(-1)
    if ratio == "batch":
        return (number.sum() / total.sum().clamp(min=1) - wanted).abs()
    return (number / total.clamp(min=1) - wanted).abs().mean()


def narrowed(wanted: Tensor, narrowing: Tensor, done: Tensor) -> Tensor:
    """The share that should be chosen after `done` updates: from nearly all down to `wanted` in `narrowing` updates.

    It falls by the same factor in each of them, the first one included.
    """
    return wanted ** ((done + 1) / (narrowing + 1)).clamp(max=1)


def standing(share: float, wanted: float, done: int, narrowing: int) -> tuple[int, float]:
    """How the choice of a model ranks before anybody asks how well it predicts: who sees more predicts better.

    0: after `done` of `narrowing` updates, more is still wanted than will be in the end. 1: no longer, but what is
    chosen is not that share. 2: it is, within a tenth. Then, how near it is, for those that predict equally well.

    >>> standing(0.25, 0.25, 100, 200), standing(0.5, 0.25, 300, 200), standing(0.25, 0.25, 300, 200)
    ((0, -0.0), (1, -0.25), (2, -0.0))
    """
    away = abs(share - wanted)
    if done <= narrowing:
        return 0, -away
    return 2 if away <= 0.1 * wanted else 1, -away


def continuity(chosen: Tensor, keep: Tensor, length: int | None) -> Tensor:
    """How often the choice changes from a token to the next: Σ_t |z_t - z_{t-1}| per text, divided by `length` - 1.

    `length` is the number of positions to which the published weights of this term refer (256, padding included); with
    none, it is the mean over the neighbours that there are.
    """
    both = keep[:, 1:] & keep[:, :-1]
    changes = ((chosen[:, 1:] - chosen[:, :-1]).abs() * both).sum()
    return changes / both.sum().clamp(min=1) if length is None else changes / (len(chosen) * (length - 1))
