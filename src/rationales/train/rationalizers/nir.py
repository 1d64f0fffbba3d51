"""NIR: some of the selected words are replaced by others before the predictor sees them.

A selection that says nothing but is a code between the players ("-" for negative) is broken by that, one that carries
meaning is not: of the chosen tokens, those that say little are the likeliest to be replaced,

    P(replace i) = min(1, p · (C - idf_i) / mean_j (C - idf_j)),    C = max_j idf_j,

over the chosen tokens j of a text, with idf = log(texts / texts with the word) of the training data. Gradients go to
the selector as if it had chosen the new word. Storek et al. (2023), "Unsupervised Selective Rationalization with Noise
Injection", which takes the rule from Xie et al. (2020), "Unsupervised Data Augmentation".

The authors' game is A2R; ours is RNP, as in the comparison of Liu et al. (2025). Xie et al. also weigh by how often a
word occurs in the text itself. How the authors draw the new words is not known to us: here all words of the training
data are equally likely, so most of them are rare ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.models.rationalizer import Rationalizer
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, some replaced by other words while training (NIR)."""

    noise: float = option(0.1, "Share of the chosen tokens to replace by other words while training.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.noise <= 1:
            raise InputError(f"noise must lie between 0 and 1, got {self.noise}")


@rationalizers("nir")
class Nir(Game):
    """RNP whose predictor reads some other words in place of chosen ones that say little."""

    Config = Config
    numbers = (*Game.numbers, "noise")
    noise: Tensor
    idf: Tensor  # of each id
    words: Tensor  # ids that occur in the training data, and behind them others
    known: Tensor  # how many occur

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        texts_with = document_frequency(table.ids, table.segments >= 0, len(model.tokenizer))
        self.register_buffer("idf", (len(table.ids) / texts_with.clamp(min=1)).log(), persistent=False)
        self.register_buffer("words", (texts_with == 0).long().argsort(stable=True), persistent=False)
        self.register_buffer("known", (texts_with > 0).sum(), persistent=False)

    def predicted(self, view: View, chosen: Tensor) -> Tensor:
        away = torch.rand_like(chosen) < self.risk(view.batch.ids, chosen > 0.5)
        others = self.words[(torch.rand(chosen.shape, device=chosen.device) * self.known).long()]
        batch = replace(view.batch, ids=torch.where(away, others, view.batch.ids))
        return super().predicted(view._replace(embeddings=self.model.embed(batch)), chosen)

    def risk(self, ids: Tensor, hard: Tensor) -> Tensor:
        """The probability of each token to be replaced, [B, T]; 0 for those that are not chosen."""
        idf = self.idf[ids]
        below = (torch.where(hard, idf, 0.0).amax(-1, keepdim=True) - idf) * hard
        mean = below.sum(-1, keepdim=True) / hard.sum(-1, keepdim=True).clamp(min=1)
        alike = mean < 1e-6  # all chosen words say as much
        share = torch.where(alike, 1.0, below / torch.where(alike, 1.0, mean))
        return (self.noise * share).clamp(max=1) * hard


def document_frequency(ids: Tensor, counted: Tensor, words: int) -> Tensor:
    """In how many texts each of the ids 0 … words - 1 occurs, [words]; `counted` [N, T] says which tokens count."""
    ordered = torch.where(counted, ids, words).sort(-1).values
    first = torch.ones_like(counted)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.bincount(ordered[first], minlength=words + 1)[:words]
