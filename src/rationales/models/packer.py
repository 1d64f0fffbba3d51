"""The one batch loop: any number of (example × variant), in full batches, results in order.

Every method multiplies inputs: integration steps, erased copies, sampled masks. `packed` sorts all variants by
length, cuts them into batches under a budget of tokens, splits a batch that does not fit in memory and goes on
with smaller ones, and puts the results back in order. It is differentiable where `compute` is.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from rationales.errors import ModelError
from rationales.models.batch import Batch, Erasure, Side
from rationales.models.protocols import Model

log = logging.getLogger(__name__)
T = TypeVar("T")
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_MMAP_THRESHOLD = -3
"""The number of that option of glibc's allocator."""

PADDING = 0.05
"""The share of a batch that may be padding, if it can be helped."""
ENOUGH = 512
"""Tokens below which a batch is not cut short for the sake of padding."""
FEWEST, MOST = 64, 1024
"""Texts per round: few enough for a processor's memory, and enough to fill an accelerator."""


def plan(lengths: Tensor, budget: int) -> Iterator[Tensor]:
    """Batches of indices, longest inputs first, each of at most `budget` tokens with its padding (or one input).

    A batch ends earlier where it would become more padding than it is worth, once it is large enough to keep a device
    busy: an eighth of the budget, and `ENOUGH` tokens.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    sizes = lengths[order]
    enough = max(budget // 8, min(budget, ENOUGH))
    start = 0
    while start < len(sizes):
        longest = max(int(sizes[start]), 1)
        several = sizes[start : start + max(1, budget // longest)]
        tokens = longest * torch.arange(1, len(several) + 1)
        padding = tokens - several.cumsum(0)
        fitting = int(((padding <= PADDING * tokens) | (tokens <= enough)).sum())
        end = start + max(1, fitting)
        yield order[start:end]
        start = end


def packed(
    compute: Callable[[Tensor], Tensor],
    lengths: Tensor,
    *,
    budget: int,
    width: int | None = None,
    side: Side = "right",
    remember: Callable[[int], None] | None = None,
) -> Tensor:
    """Run `compute` on every input and return its results in order, [N, …].

    `compute(rows)` gets the numbers [n] of the inputs that make up a batch and returns [n, …]. With `width`, the
    second dimension of its results is tokens, of which a batch has as many as its longest input: results are
    padded with zeros to `width`, on the given side. `lengths` [N] are tokens per input. `remember` is told a smaller
    budget where the given one did not fit.
    """
    pieces: list[Tensor] = []
    indices: list[Tensor] = []
    lengths = lengths.cpu()
    if lengths.numel() == 0:
        raise ModelError("there is nothing to compute: the batch is empty")
    queue = list(plan(lengths, budget))[::-1]
    while queue:
        rows = queue.pop()
        piece: Tensor | None = None
        try:
            piece = compute(rows)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(rows) == 1:
                raise ModelError(
                    f"one input of {int(lengths[rows[0]])} tokens does not fit in memory; "
                    "use a shorter max_length, a smaller model, or a larger device"
                ) from error
        if piece is None:  # only here is the error gone, and with it what it kept of the computation
            half = (len(rows) + 1) // 2
            log.warning("a batch of %d inputs did not fit in memory; going on with %d at a time", len(rows), half)
            budget = half * int(lengths[rows[0]])
            if remember is not None:
                remember(budget)
            rest = torch.cat([rows, *reversed(queue)])
            queue = [rest[part] for part in plan(lengths[rest], budget)][::-1]
            _release_cached_memory()
            continue
        if width is not None and piece.shape[1] < width:
            missing = width - piece.shape[1]
            piece = pad(piece, (0, 0) * (piece.dim() - 2) + ((0, missing) if side == "right" else (missing, 0)))
        pieces.append(piece)
        indices.append(rows)
    back = torch.argsort(torch.cat(indices))
    joined = torch.cat(pieces)
    return joined[back.to(joined.device)]


def over(
    model: Model,
    batch: Batch,
    rows: Tensor,
    compute: Callable[[Batch, Tensor], Tensor],
    *,
    tokens: bool = False,
    cost: int = 1,
    lengths: Tensor | None = None,
) -> Tensor:
    """`packed` over variants of a batch's rows, [N, …].

    `rows` [N] says which row each variant is of. `compute(part, numbers)` gets those rows as a batch of their own
    and the numbers [n] of the variants, and returns [n, …]; with `tokens`, [n, T', …] for a `part` of width T'. `cost`
    says how many inputs it makes of one; `lengths` [N] how long they will be, where that is not the row's length.
    """
    rows = rows.to(batch.ids.device)
    if rows.is_cuda and torch.cuda.is_current_stream_capturing():
        return _in_order(batch, rows, compute, max(1, model.budget // (batch.width * cost)))
    whole = batch.lengths[rows].cpu()

    def run(numbers: Tensor) -> Tensor:
        width = int(whole[numbers].max())
        numbers = numbers.to(rows.device)
        return compute(batch.take(rows[numbers], width), numbers)

    return packed(
        run,
        whole if lengths is None else lengths,
        budget=max(1, model.budget // cost),
        width=batch.width if tokens else None,
        side=batch.side,
        remember=lambda fitting: setattr(model, "budget", fitting * cost),
    )


def over_rows(
    model: Model, batch: Batch, compute: Callable[[Batch, Tensor], Tensor], *, tokens: bool = False
) -> Tensor:
    """`over` each row once, [B, …]."""
    return over(model, batch, torch.arange(len(batch), device=batch.ids.device), compute, tokens=tokens)


def _in_order(batch: Batch, rows: Tensor, compute: Callable[[Batch, Tensor], Tensor], most: int) -> Tensor:
    """`compute` on the rows as they come, `most` at a time, each as wide as the batch.

    For steps that are recorded as a graph, which must not wait to be told how long the texts are.
    """
    numbers = torch.arange(len(rows), device=rows.device)
    return torch.cat([compute(batch.take(rows[some]), some) for some in numbers.split(most)])


def erased_logits(
    model: Model, batch: Batch, rows: Tensor, drop: Tensor | Callable[[Tensor], Tensor], how: Erasure
) -> Tensor:
    """Logits [N, C] of copies of the batch's rows [N] without the tokens `drop` [N, T].

    Where all of `drop` at once would be large, it is a function: the numbers [n] of some copies → [n, T]. Otherwise the
    copies are made on the processor, while the device works on those before.
    """
    device = batch.ids.device
    if isinstance(drop, Tensor):
        batch, drop = batch.to("cpu"), drop.cpu()
    rows = rows.to(batch.ids.device)
    lengths = batch.lengths[rows]
    if how == "delete" and isinstance(drop, Tensor):
        lengths = lengths - (drop & batch.keep[rows]).sum(-1)

    def compute(part: Batch, numbers: Tensor) -> Tensor:
        dropped = drop[numbers] if isinstance(drop, Tensor) else drop(numbers)
        return model.logits(model.erase(part, part.trimmed(dropped), how).to(device))

    return over(model, batch, rows, compute, lengths=lengths.cpu())


def rounds(model: Model, items: Iterable[T]) -> Iterator[list[T]]:
    """Texts or explanations in lists of as many as fill a few batches, so that any number of them streams."""
    on_processor = torch.device(getattr(model, "device", "cpu")).type == "cpu"
    _map_large_tensors()
    remaining = iter(items)
    size = max(FEWEST, min(MOST, model.budget // 32))
    while part := list(islice(remaining, size)):
        yield part
        if on_processor:  # elsewhere little is in this memory, and looking through it takes as long as a batch
            _trim_heap()


@cache
def _map_large_tensors() -> None:
    """Have glibc map large tensors one by one, so that their memory goes back as soon as they do.

    Left to itself it raises the size from which it does so, up to 32 MiB, when it sees large ones come and go.
    """
    option = getattr(_LIBC, "mallopt", None)
    if option is not None:
        option(_MMAP_THRESHOLD, 4 << 20)


def _trim_heap() -> None:
    """Give memory that was freed back to the system: batches of many shapes leave holes that glibc would keep."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if trim is not None:
        trim(0)


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; on a processor, and inside CUDA's libraries, that is a plain RuntimeError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    words = ("can't allocate memory", "not enough memory", "out of memory", "STATUS_ALLOC_FAILED")
    return any(some in str(error) for some in words)


def _release_cached_memory() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
