"""What methods share that link the tokens of two texts: each cell of a matrix [P, H] is a link between two tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from rationales.errors import InputError
from rationales.explainers.base import Links, PostHoc, row_by_row, spread, warn
from rationales.explanation import Alignment, Explanations
from rationales.models import Batch, CoAttentive, Encoded, Model, over, predict

HELD = 1 << 26
"""Bytes that a method may hold of a round's links at once, about."""


class Aligner(PostHoc[Links]):
    """A method that links the tokens of two texts. A subclass gives the links in `align`.

    It sets `explains_whole_answer` where no label can be chosen. Of a pair with an empty text there is no link: its
    matrix is empty, and a warning names it.
    """

    needs: ClassVar[type] = CoAttentive
    explains_whole_answer: ClassVar[bool] = False

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

    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        if self.explains_whole_answer and targets is not None:
            raise InputError(f"{self.name} explains a model's whole answer and not one label; leave out the target")
        return super()._explained(model, batch, targets)

    def check_words(self, batch: Batch) -> None:
        """Refuse pairs of which nothing can be said, where there are no others."""
        if empty := _empty(batch):
            raise InputError(_no_link(empty))

    def _explainable(self, batch: Batch) -> Tensor:
        if empty := _empty(batch):
            warn(_no_link(empty))
        return cells(batch).flatten(1).any(1)

    def _found(self, model: Model, batch: Batch, targets: Tensor) -> Links:
        assert isinstance(model, CoAttentive)
        result = self.align(model, batch, targets)
        return result if isinstance(result, Links) else Links(result)

    def _nothing(self, batch: Batch) -> Links:
        return Links(torch.full(cells(batch).shape, torch.nan))

    def _spread(self, found: Links, rows: Tensor, batch: Batch) -> Links:
        shape = cells(batch).shape
        weights = spread(widened(found.weights, shape), rows, len(batch))
        keep = None if found.keep is None else spread(widened(found.keep, shape), rows, len(batch)) == 1
        checks = {name: spread(check, rows, len(batch)) for name, check in found.checks.items()}
        return Links(weights, keep, checks)

    def _bodies(self, batch: Batch, found: Links) -> list[tuple[Alignment, Mapping[str, float]]]:
        weights = found.weights.detach().cpu().double().numpy()
        keep = None if found.keep is None else found.keep.cpu().numpy()
        bodies = []
        for row, source in enumerate(batch.sources):
            sizes = [sum(token.segment == side for token in source.tokens) for side in (0, 1)]
            own = (row, slice(sizes[0]), slice(sizes[1]))
            unknown = np.isnan(weights[own]).all()  # no link is kept and none is not
            bodies.append(Alignment(weights[own], None if keep is None or unknown else keep[own]))
        return list(zip(bodies, row_by_row(found.checks, len(batch)), strict=True))


def cells(batch: Batch) -> Tensor:
    """Which cells are links between two tokens, and not padding, [B, P, H]."""
    first, second = (batch.members(side).any(-1) for side in (0, 1))
    return first[:, :, None] & second[:, None, :]


def widened(values: Tensor, shape: Sequence[int]) -> Tensor:
    """Values […, p, h] of pairs that need no more room, with zeros up to the last two sizes of `shape`: […, P, H]."""
    first, second = (whole - own for whole, own in zip(shape[-2:], values.shape[-2:], strict=True))
    return pad(values, (0, second, 0, first))


@torch.no_grad()
def kept_checks(model: CoAttentive, batch: Batch, keep: Tensor) -> dict[str, Tensor]:
    """What the kept links [B, P, H] give: the distance of the logits, and whether the answer is the same; [B] each."""
    rows, logits = torch.arange(len(batch), device=keep.device), predict(model, batch)
    found = linked_logits(model, batch, rows, lambda numbers: keep[numbers])
    same = found.argmax(-1) == logits.argmax(-1)
    return {"fidelity": (found - logits).norm(dim=-1), "same_answer": same.to(logits)}


def in_groups(batch: Batch, size: int, compute: Callable[[Batch, Tensor], Links]) -> Links:
    """Links of a batch, found for groups of its pairs one after another where all at once would take much memory.

    `compute(part, rows)` gets some rows as a batch of their own, and their numbers; it needs `size` bytes for each cell
    of the part's matrices. Pairs of like sizes go together, so that one long pair does not make all others wide.
    """
    shape = cells(batch).shape
    if shape.numel() * size <= HELD:
        return compute(batch, torch.arange(len(batch), device=batch.ids.device))
    groups = [torch.tensor(group, device=batch.ids.device) for group in _alike(batch, HELD // size)]
    found = [compute(batch.take(rows, int(batch.lengths[rows].max())), rows) for rows in groups]
    back = torch.argsort(torch.cat(groups))
    weights = torch.cat([widened(links.weights, shape) for links in found])[back]
    checks = {name: torch.cat([links.checks[name] for links in found])[back] for name in found[0].checks}
    return Links(weights, checks=checks)


def _alike(batch: Batch, most: int) -> Iterator[list[int]]:
    """Rows in groups, the largest first, whose matrices with their padding have at most so many cells, or one row."""
    sizes = torch.stack([(batch.segments == side).sum(-1) for side in (0, 1)], 1).tolist()
    group: list[int] = []
    widest = (0, 0)
    for row in sorted(range(len(batch)), key=lambda row: -sizes[row][0] * sizes[row][1]):
        wider = (max(widest[0], sizes[row][0]), max(widest[1], sizes[row][1]))
        if group and (len(group) + 1) * wider[0] * wider[1] > most:
            yield group
            group, wider = [], (sizes[row][0], sizes[row][1])
        group.append(row)
        widest = wider
    yield group


def linked_logits(model: CoAttentive, batch: Batch, rows: Tensor, links: Callable[[Tensor], Tensor]) -> Tensor:
    """Logits [N, C] of copies of the batch's rows [N], each with links of its own.

    `links` says which links are there: the numbers [n] of some copies → [n, P, H], for all at once would be large.
    """
    return over(model, batch, rows, lambda part, numbers: logits_under(model, part, links(numbers)))


def logits_under(model: CoAttentive, part: Batch, links: Tensor) -> Tensor:
    """Logits [n, C] of some rows of a batch with their attention between texts multiplied by `links` [n, P, H].

    P and H are those of the whole batch; what its rows do not need of them is cut off.
    """
    first, second = (max(1, int((part.segments == side).sum(-1).max())) for side in (0, 1))
    if part.alignment is not None:
        part = replace(part, alignment=part.alignment[:, :first, :second])
    own = links[:, :first, :second]
    return model.logits(part, own if own.is_floating_point() else own.float())


def _empty(batch: Batch) -> list[str]:
    """The texts of pairs that have no words, by name."""
    pairs = (source for source in batch.sources if len(source.example.texts) == 2)
    return [name for source in pairs if (name := _without_words(source))]


def _without_words(source: Encoded) -> str | None:
    """Which text of a pair is empty, if one is, and of which pair."""
    for side, name in enumerate(("first", "second")):
        if not any(token.segment == side for token in source.tokens):
            return f"the {name} text of {source.example.id!r}"
    return None


def _no_link(empty: Sequence[str]) -> str:
    """What is said of empty texts: all about the first, and which the others are."""
    others = f"; nor is there for {', '.join(empty[1:3])}{', …' if len(empty) > 3 else ''}" if len(empty) > 1 else ""
    return f"{empty[0]} has no words, so there is no link{others}"
