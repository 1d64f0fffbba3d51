"""Encoded texts as tensors, and the few things one may do to them: take rows, erase tokens.

Everything downstream works on these ids. No string is ever perturbed and tokenised again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation.types import Token

Erasure: TypeAlias = Literal["delete", "mask", "pad", "zero"]
"""What "removed" means: the id is deleted (the text gets shorter), replaced by the mask token, replaced by the
padding token (still attended to), or its word embedding is set to zero."""

Side: TypeAlias = Literal["right", "left"]


@dataclass(frozen=True)
class Encoded:
    """Where one row of a batch comes from: its example, its tokens in order, and whether the text had to be cut."""

    example: Example
    tokens: tuple[Token, ...]
    cut: bool = False


@dataclass(frozen=True, eq=False)
class Batch:
    """B encoded inputs, padded to T tokens.

    ids       [B, T]  token ids
    keep      [B, T]  True for tokens (special ones too), False for padding
    segments  [B, T]  0 or 1 for tokens of the first or second text, -1 for special tokens and padding
    types     [B, T]  token type ids, where the model has them
    zeroed    [B, T]  tokens whose word embedding counts as zero, where there are any
    alignment [B, P, H]  factors of the attention between the P tokens of the first and the H of the second text,
              where it is guided
    side      where the padding is
    sources   one per row; empty for rows that were derived from another batch
    """

    ids: Tensor
    keep: Tensor
    segments: Tensor
    types: Tensor | None = None
    zeroed: Tensor | None = None
    alignment: Tensor | None = None
    side: Side = "right"
    sources: tuple[Encoded, ...] = ()

    def __len__(self) -> int:
        return self.ids.shape[0]

    @property
    def width(self) -> int:
        return self.ids.shape[1]

    @property
    def content(self) -> Tensor:
        """Tokens that belong to a text, [B, T]."""
        return self.segments >= 0

    @property
    def lengths(self) -> Tensor:
        """Tokens per row, [B]."""
        return self.keep.sum(-1)

    @property
    def positions(self) -> Tensor:
        """0, 1, 2 … over the tokens of each row whatever the padding, [B, T]."""
        return (self.keep.cumsum(-1) - 1).clamp(min=0)

    def take(self, rows: Tensor, width: int | None = None) -> Batch:
        """The given rows, repeats allowed, cut to `width` columns on the side of the padding."""
        cut = 0 if width is None else self.width - width

        def picked(tensor: Tensor) -> Tensor:
            return (tensor[:, cut:] if self.side == "left" else tensor[:, : self.width - cut])[rows]

        return Batch(
            picked(self.ids),
            picked(self.keep),
            picked(self.segments),
            None if self.types is None else picked(self.types),
            None if self.zeroed is None else picked(self.zeroed),
            None if self.alignment is None else self.alignment[rows],
            self.side,
        )

    def aligned(self, alignment: Tensor) -> Batch:
        """The batch with the attention between its two texts multiplied by `alignment` [B, P, H]."""
        if not alignment.requires_grad:  # what is optimised was looked at before; looking waits for the device
            sizes = [int((self.segments == side).sum(-1).max()) for side in (0, 1)]
            if any(own < size for own, size in zip(alignment.shape[1:], sizes, strict=True)):
                raise InputError(
                    f"an alignment of {' × '.join(map(str, alignment.shape[1:]))} for texts of up to "
                    f"{sizes[0]} and {sizes[1]} tokens; it must have room for all of them"
                )
        factors = alignment
        if self.alignment is not None:  # both have room for all tokens, one of them perhaps for more
            first, second = map(min, zip(self.alignment.shape[1:], alignment.shape[1:], strict=True))
            factors = self.alignment[:, :first, :second] * alignment[:, :first, :second]
        return replace(self, alignment=factors, sources=())

    def members(self, segment: int, size: int | None = None) -> Tensor:
        """Which token is which of a text's: [B, size, T], True where column t holds the text's n-th token.

        `size` is that of the longest of these texts, and at least 1, unless a larger one is given.
        """
        own = self.segments == segment
        if size is None:
            size = max(1, int(own.sum(-1).max()))
        numbers = torch.arange(size, device=own.device)
        return (numbers[:, None] == (own.cumsum(-1) - 1)[:, None, :]) & own[:, None, :]

    def trimmed(self, wide: Tensor) -> Tensor:
        """A [B, T, …] tensor that belongs to a wider version of this batch, cut to this one's columns."""
        return wide[:, -self.width :] if self.side == "left" else wide[:, : self.width]

    def to(self, device: torch.device | str) -> Batch:
        target = torch.device(device)
        if target == self.ids.device:
            return self

        def moved(tensor: Tensor) -> Tensor:
            if target.type == "cuda" and tensor.device.type == "cpu":
                return tensor.pin_memory().to(target, non_blocking=True)  # does not wait for what the device does
            return tensor.to(target)

        return replace(
            self,
            ids=moved(self.ids),
            keep=moved(self.keep),
            segments=moved(self.segments),
            types=None if self.types is None else moved(self.types),
            zeroed=None if self.zeroed is None else moved(self.zeroed),
            alignment=None if self.alignment is None else moved(self.alignment),
        )

    def unpadded(self, values: Tensor) -> list[np.ndarray]:
        """The rows of a [B, T, …] tensor without their padding, as arrays."""
        arrays, keep = values.detach().cpu().double().numpy(), self.keep.cpu().numpy()
        return [row[kept] for row, kept in zip(arrays, keep, strict=True)]

    def generators(self, seed: int) -> list[np.random.Generator]:
        """One random generator per row, decided by the seed and the row's ids alone.

        So what is drawn for a text does not depend on its neighbours in the batch.
        """
        return [np.random.default_rng([seed, number]) for number in self.fingerprints()]

    def fingerprints(self) -> list[int]:
        """A number of 64 bits for each row, decided by its ids alone."""
        ids, keep = self.ids.cpu().numpy(), self.keep.cpu().numpy()
        return [
            int.from_bytes(hashlib.blake2b(row[kept].tobytes(), digest_size=8).digest())
            for row, kept in zip(ids, keep, strict=True)
        ]


def erase(batch: Batch, drop: Tensor, how: Erasure, *, mask_id: int | None, pad_id: int | None) -> Batch:
    """The batch without the tokens `drop` [B, T]; padding in `drop` is ignored. See `Erasure` for what that means."""
    drop = drop & batch.keep
    match how:
        case "mask":
            if mask_id is None:
                raise InputError(
                    "this tokenizer has no mask token, so erasure='mask' means nothing; use delete, pad or zero"
                )
            return replace(batch, ids=batch.ids.masked_fill(drop, mask_id), sources=())
        case "pad":
            if pad_id is None:
                raise InputError(
                    "this tokenizer has no padding token, so erasure='pad' means nothing; use delete, mask or zero"
                )
            return replace(batch, ids=batch.ids.masked_fill(drop, pad_id), sources=())
        case "zero":
            return replace(batch, zeroed=drop if batch.zeroed is None else batch.zeroed | drop, sources=())
        case "delete":
            return _compacted(batch, batch.keep & ~drop, pad_id or 0)
    raise InputError(f"erasure must be delete, mask, pad or zero, got {how!r}")


def _compacted(batch: Batch, keep: Tensor, pad_id: int) -> Batch:
    """Only the tokens in `keep`, moved together; padding stays on the side where it was.

    A model needs something to read: a row that lost all its tokens becomes one padding token that is attended to.
    """
    left = batch.side == "left"
    order = torch.argsort((keep if left else ~keep).to(torch.uint8), dim=1, stable=True)
    width = max(int(keep.sum(-1).max()), 1)
    order = order[:, -width:] if left else order[:, :width]
    kept = keep.gather(1, order)
    empty = ~kept.any(-1)

    def moved(tensor: Tensor, filler: int) -> Tensor:
        return tensor.gather(1, order).masked_fill(~kept, filler)

    shown = kept.clone()
    shown[:, -1 if left else 0] |= empty
    return Batch(
        moved(batch.ids, pad_id),
        shown,
        moved(batch.segments, -1),
        None if batch.types is None else moved(batch.types, 0),
        None if batch.zeroed is None else moved(batch.zeroed, 0),
        None if batch.alignment is None else _compacted_alignment(batch, batch.alignment, keep),
        batch.side,
    )


def _compacted_alignment(batch: Batch, alignment: Tensor, keep: Tensor) -> Tensor:
    """The rows and columns of the tokens in `keep`, moved together."""
    for segment in (0, 1):
        left = (batch.members(segment, alignment.shape[1 + segment]) & keep[:, None, :]).any(-1)
        order = torch.argsort((~left).to(torch.uint8), dim=1, stable=True)
        order = order[:, :, None] if segment == 0 else order[:, None, :]
        alignment = alignment.gather(1 + segment, order.expand_as(alignment))
    return alignment


def collate(
    ids: Sequence[ArrayLike],
    segments: Sequence[ArrayLike],
    types: Sequence[ArrayLike] | None,
    *,
    pad_id: int,
    side: Side,
    sources: tuple[Encoded, ...],
    width: int | None = None,
) -> Batch:
    """Rows of unequal length, padded on one side, to that of the longest or to a width."""
    lengths = np.array([np.size(row) for row in ids], dtype=np.int64)[:, None]
    width = max(int(lengths.max(initial=0)), width or 0)
    columns = np.arange(width)
    keep = columns < lengths if side == "right" else columns >= width - lengths

    def padded(rows: Sequence[ArrayLike], filler: int) -> Tensor:
        out = np.full(keep.shape, filler, dtype=np.int64)
        out[keep] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else filler
        return torch.from_numpy(out)

    return Batch(
        padded(ids, pad_id),
        torch.from_numpy(keep),
        padded(segments, -1),
        None if types is None else padded(types, 0),
        side=side,
        sources=sources,
    )
