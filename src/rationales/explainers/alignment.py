"""What methods share that link the tokens of two texts: each cell of a matrix [P, H] is a link between two tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from rationales.errors import InputError
from rationales.explainers.base import Links, PostHoc, row_by_row, spread
from rationales.explanation import Alignment
from rationales.models import Batch, CoAttentive, Model, over


class Aligner(PostHoc[Links]):
    """A method that links the tokens of two texts. A subclass gives the links in `align`."""

    needs: ClassVar[type] = CoAttentive

    @abstractmethod
    def align(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor | Links:
        """Weights [B, P, H] for the outputs `targets` [B]. The model is frozen and in eval mode."""

    def _check(self, model: Model, batch: Batch) -> None:
        super()._check(model, batch)
        for source in batch.sources:
            if len(source.example.texts) != 2:
                raise InputError(
                    f"{self.name} links the words of two texts, and {source.example.id!r} is one; give it pairs, or "
                    "take a method that scores tokens"
                )
            for side, name in enumerate(("first", "second")):
                if not any(token.segment == side for token in source.tokens):
                    raise InputError(f"the {name} text of {source.example.id!r} has no words, so there is no link")

    def _found(self, model: Model, batch: Batch, targets: Tensor) -> Links:
        assert isinstance(model, CoAttentive)
        result = self.align(model, batch, targets)
        return result if isinstance(result, Links) else Links(result)

    def _nothing(self, batch: Batch) -> Links:
        return Links(torch.full(cells(batch).shape, torch.nan))

    def _spread(self, found: Links, rows: Tensor, batch: Batch) -> Links:
        whole = cells(batch).shape[1:]

        def widened(values: Tensor) -> Tensor:
            missing = [size - own for size, own in zip(whole, values.shape[1:], strict=True)]
            return spread(pad(values.float(), (0, missing[1], 0, missing[0])), rows, len(batch))

        keep = None if found.keep is None else widened(found.keep) == 1
        checks = {name: spread(check, rows, len(batch)) for name, check in found.checks.items()}
        return Links(widened(found.weights), keep, checks)

    def _bodies(self, batch: Batch, found: Links) -> list[tuple[Alignment, Mapping[str, float]]]:
        weights = found.weights.detach().cpu().double().numpy()
        keep = None if found.keep is None else found.keep.cpu().numpy()
        bodies = []
        for row, source in enumerate(batch.sources):
            sizes = [sum(token.segment == side for token in source.tokens) for side in (0, 1)]
            own = (row, slice(sizes[0]), slice(sizes[1]))
            bodies.append(Alignment(weights[own], None if keep is None else keep[own]))
        return list(zip(bodies, row_by_row(found.checks, len(batch)), strict=True))


def cells(batch: Batch) -> Tensor:
    """Which cells are links between two tokens, and not padding, [B, P, H]."""
    first, second = (batch.members(side).any(-1) for side in (0, 1))
    return first[:, :, None] & second[:, None, :]


def linked_logits(model: CoAttentive, batch: Batch, rows: Tensor, links: Callable[[Tensor], Tensor]) -> Tensor:
    """Logits [N, C] of copies of the batch's rows [N], each with links of its own.

    `links` says which links are there: the numbers [n] of some copies → [n, P, H], for all at once would be large.
    """
    return over(model, batch, rows, lambda part, numbers: logits_under(model, part, links(numbers).float()))


def logits_under(model: CoAttentive, part: Batch, links: Tensor) -> Tensor:
    """Logits [n, C] of some rows of a batch with their attention between texts multiplied by `links` [n, P, H].

    P and H are those of the whole batch; what its rows do not need of them is cut off.
    """
    first, second = (max(1, int((part.segments == side).sum(-1).max())) for side in (0, 1))
    if part.alignment is not None:
        part = replace(part, alignment=part.alignment[:, :first, :second])
    return model.logits(part, links[:, :first, :second])
