"""From scores of links to the links that are kept: the strongest, as many as bring the model near to its answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.alignment import Aligner, cells, kept_checks, linked_logits
from rationales.explainers.base import Links
from rationales.models import Batch, CoAttentive, predict
from rationales.registry import option

FEWEST = 8
"""Numbers of links that are tried at once, at least; more where they fit into one batch."""


@torch.no_grad()
def induced(model: CoAttentive, batch: Batch, weights: Tensor, thresholds: Tensor) -> Tensor:
    """Which links are kept, [B, P, H]: the fewest of the strongest with ‖M(x) - M^Z(x)‖₂ at most `thresholds` [B].

    M are the logits. One link more is added at a time, in the order of `weights` [B, P, H], the first of equals first,
    until the distance is small enough for the first time; it need not fall all the way. It begins with no link: a model
    that answers the same without needs none to be kept. Where nothing less will do, all are kept. (As many passes as
    there are links, at most.) Carter et al. (2019); Jiang et al. (2021).
    """
    there = cells(batch)
    rank, size, logits = _rank(weights, there), there.sum((1, 2)), predict(model, batch)
    kept, going, start = size.clone(), torch.arange(len(batch), device=there.device), 0
    while len(going):
        block = max(FEWEST, model.budget // int(batch.lengths[going].sum()))
        numbers = torch.arange(start, start + block, device=there.device)
        tried = numbers < size[going, None]  # with all of its links a pair is what it is
        rows, columns = torch.nonzero(tried, as_tuple=True)
        found = _logits_of_strongest(model, batch, rank, going[rows], numbers[columns])
        distance = (found - logits[going[rows]]).norm(dim=-1)
        near = torch.zeros_like(tried).masked_scatter(tried, distance <= thresholds.to(distance)[going[rows]])
        reached = near.any(1)
        kept[going[reached]] = numbers[near[reached].int().argmax(1)]
        start += block
        going = going[~reached & (size[going] > start)]
    return rank < kept[:, None, None]


def _rank(weights: Tensor, there: Tensor) -> Tensor:
    """The place of each link in the order of weights, 0 for the strongest, [B, P, H]; padding comes last."""
    flat, padding = weights.nan_to_num(nan=-torch.inf).flatten(1), ~there.flatten(1)
    order = flat.argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, padding.gather(1, order).int().argsort(dim=1, stable=True))
    return order.argsort(dim=1).view(there.shape)


def _logits_of_strongest(model: CoAttentive, batch: Batch, rank: Tensor, rows: Tensor, most: Tensor) -> Tensor:
    """Logits [N, C] of the rows [N], each with so many [N] of its strongest links."""
    return linked_logits(model, batch, rows, lambda numbers: rank[rows[numbers]] < most[numbers, None, None])


@dataclass(frozen=True, kw_only=True)
class LinkScorer(Aligner):
    """A method that scores links. A subclass gives the scores in `score`; the strongest are kept where that is asked.

    Then it is recorded how far from the model's logits those are that the kept links give, and whether the answer is
    the same.
    """

    within: float = option(
        0.0, "keep the strongest links that bring the logits so near to the answer's; 0: none are chosen"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.within < 0:
            raise InputError(f"within is a distance and must not be negative, got {self.within}")

    @abstractmethod
    def score(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Tensor | Links:
        """Weights [B, P, H] for the outputs `targets` [B], 0 in padding. The model is frozen and in eval mode."""

    def align(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Links:
        found = self.score(model, batch, targets)
        links = found if isinstance(found, Links) else Links(found)
        if not self.within:
            return links
        keep = induced(model, batch, links.weights, links.weights.new_full((len(batch),), self.within))
        return Links(links.weights, keep, {**links.checks, **kept_checks(model, batch, keep)})
