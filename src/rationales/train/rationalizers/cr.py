"""CR: each selected token should be necessary, and all together sufficient, for the class.

    L = L_RNP - μ · mean_j log(1 + max(0, p(y | z) - p(y | z without j)))

over some chosen tokens j of each text, drawn at random: a lower bound of the probability that a token is necessary and
sufficient. Zhang et al. (2023), "Towards Trustworthy Explanation: On Causal Rationalization".

μ is that of the authors' program, and as there both players learn from the second term, no gradients pass through
p(y | z), and none to the token that is taken out. There 3 % of a text's tokens are taken out in turn (5 % for the beer
reviews, of at most 120), here the same number in each text; there only the last text of a batch counts, as the sum
begins anew with each, here all do. There the selection is kept short by its distance from a prior, here as in all
variants.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer, rank
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, each of them necessary and all sufficient (CR)."""

    necessity_weight: float = option(0.1, "Weight of how much a prediction loses by each chosen token.")
    removals: int = option(4, "Chosen tokens of each text to take out, one at a time; each makes a step longer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.removals < 1:
            raise InputError(f"removals must be at least 1, got {self.removals}")


@rationalizers("cr")
class Cr(Game):
    """RNP, and what happens if a chosen token were not there."""

    Config = Config
    numbers = (*Game.numbers, "necessity_weight")
    necessity_weight: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        assert isinstance(config, Config)
        self.removals = config.removals

    def loss(self, view: View, draw: Draw) -> Tensor:
        near = self.vicinity(view, draw)
        logits = self.predicted(view, near.through)
        plain = self.label_weight * cross_entropy(logits, view.targets) + self.regularised(view, draw)
        return plain - self.necessity_weight * self.necessity(view, near, likelihood(logits, view.targets).detach())

    def necessity(self, view: View, near: Draw, whole: Tensor) -> Tensor:
        """The mean over texts of log(1 + max(0, whole - p without j)), averaged over tokens j; 0 where none is chosen.

        `whole` [B] is the probability of the right class with all chosen tokens.
        """
        place = rank(torch.rand_like(near.soft), near.hard)
        lost, number = torch.zeros_like(whole), torch.zeros_like(whole)
        for turn in range(self.removals):
            out = near.hard & (place == turn)
            taken = out.any(-1)  # whether the text has so many chosen tokens
            without = likelihood(self.predicted(view, near.through * ~out), view.targets)
            lost = lost + taken * (whole - without).clamp(min=0).log1p()
            number = number + taken
        return (lost / number.clamp(min=1)).mean()


def likelihood(logits: Tensor, targets: Tensor) -> Tensor:
    """The probability of the right class, [B]."""
    return logits.softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
