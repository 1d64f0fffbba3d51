"""A predictor that learns from tokens chosen by chance: a control, which shows why it needs a selector.

    L = CE(y, p(r)),    r: ⌈sparsity · n⌉ of n tokens, others in each step

All selections are fitted alike, but most of what the predictor sees says nothing of the class, so it learns little. Liu
et al. (2025), figure 6, with 12.5 % of the tokens; they then train a selector against it, which `diagnosis.py` does.

The selector stays as it was drawn, and nobody asks it: like `full_text`, the model predicts from the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer, rank
from rationales.registry import option
from rationales.train.rationalizers import full_text
from rationales.train.rationalizers.game import GameConfig, Table, View, rationalizers


@dataclass(frozen=True)
class Config(full_text.Config):
    """Learn to predict from tokens that are chosen by chance; a control, which selects nothing itself."""

    shared_encoder: ClassVar[bool] = False

    sparsity: float = option(0.125, "Share of the tokens that are chosen.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sparsity:
            raise InputError("sparsity must be above 0: it is the share of the tokens that the predictor learns from")


@rationalizers("random_selection")
class RandomSelection(full_text.FullText):
    """A game without a selector, on parts of the texts."""

    Config = Config

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        words = [id(parameter) for parameter in model.networks.predictor.parameters()]
        for parameter in model.networks.selector.parameters():
            if id(parameter) not in words:
                parameter.requires_grad_(False)

    def draw(self, view: View) -> Draw:
        chosen = drawn_by_chance(view.batch.content, self.sparsity)
        return Draw(chosen, chosen.to(view.embeddings))


def drawn_by_chance(eligible: Tensor, share: float | Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """⌈share · n⌉ of the n eligible tokens of each text, any of them alike, [B, T]."""
    number = (share * eligible.sum(-1, keepdim=True)).round(decimals=4).ceil()
    noise = torch.rand(eligible.shape, device=eligible.device, generator=generator)
    return eligible & (rank(noise, eligible) < number)
