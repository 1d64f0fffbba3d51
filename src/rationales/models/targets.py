"""Which output of a model is explained, and its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.models.batch import Batch
from rationales.models.packer import over_rows
from rationales.models.protocols import Model

Output: TypeAlias = Literal["logit", "probability"]


def pick(logits: Tensor, targets: Tensor) -> Tensor:
    """The logit of each row's target, [B]: the one place that indexes logits."""
    return logits.gather(1, targets.to(logits.device).unsqueeze(1)).squeeze(1)


def chosen(model: Model, logits: Tensor, targets: Tensor, output: Output) -> Tensor:
    """The target's logit or its probability, [B]."""
    return pick(model.probabilities(logits) if output == "probability" else logits, targets)


def resolve_targets(model: Model, batch: Batch, target: int | str | Sequence[int] | Tensor | None) -> Tensor:
    """Which output of each row to explain, [B]: the predicted (None), one for all (number or label), or one each."""
    if target is None:
        with torch.no_grad():
            return predict(model, batch).argmax(-1)
    if isinstance(target, str):
        if target not in model.labels:
            raise InputError(f"the model has no label {target!r}; it has {', '.join(model.labels)}")
        target = model.labels.index(target)
    try:
        targets = torch.as_tensor(target)
    except (TypeError, ValueError):
        raise InputError(f"targets are numbers, one per text, or one label for all; got {target!r}") from None
    if targets.is_floating_point() or targets.dtype == torch.bool:
        raise InputError(f"targets are whole numbers, got {target!r}")
    targets = targets.long()
    targets = targets.expand(len(batch)) if targets.dim() == 0 else targets
    if targets.shape != (len(batch),):
        raise InputError(f"{tuple(targets.shape)} targets for {len(batch)} texts")
    if targets.numel() and not (int(targets.min()) >= 0 and int(targets.max()) < len(model.labels)):
        raise InputError(f"targets must lie in 0 … {len(model.labels) - 1} ({', '.join(model.labels)}), got {target}")
    return targets.to(batch.ids.device)


_known: ContextVar[tuple[Model, Batch, Tensor] | None] = ContextVar("logits that are known", default=None)


def predict(model: Model, batch: Batch) -> Tensor:
    """Logits of every row, [B, C], in full batches."""
    known = _known.get()
    if known is not None and known[0] is model and known[1] is batch:
        return known[2]
    return over_rows(model, batch, lambda part, _: model.logits(part))


@contextmanager
def predicted(model: Model, batch: Batch, logits: Tensor) -> Iterator[None]:
    """Inside this block `predict` knows the logits of this batch."""
    token = _known.set((model, batch, logits))
    try:
        yield
    finally:
        _known.reset(token)
