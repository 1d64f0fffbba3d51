"""A2R: a second predictor sees all tokens, each as far as the selector wants it, and the two are to agree.

    L = L_RNP + λ_s · CE(y, q) + λ_g · JS(p, q),    JS(p, q) = ½ KL(p ‖ ½(p + q)) + ½ KL(q ‖ ½(p + q)),

with p of the predictor and q of the second one, whose input is weighed by the probabilities that the choice was drawn
with. Through them the selector also learns of tokens that are not chosen, so it is not locked in by a predictor that
has overfitted to those that are. Yu et al. (2021), "Understanding Interlocking Dynamics of Cooperative
Rationalization".

All networks learn from all terms, as in the authors' program. There the attention of a text sums to one and weighs the
states of one encoder for all, the selector learns from the second predictor only, and the sum of both KL divergences
stands for JS; what weights the paper itself used is not known to us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rationales.models.rationalizer import Draw, Rationalizer
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, another, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, in agreement with a second, soft predictor (A2R)."""

    soft_weight: float = option(1.0, "Weight of the second predictor's cross-entropy.")
    gap_weight: float = option(1.0, "Weight of the divergence between the two predictors.")


@rationalizers("a2r")
class A2r(Game):
    """RNP, and a predictor on soft choices."""

    Config = Config
    numbers = (*Game.numbers, "soft_weight", "gap_weight")
    soft_weight: Tensor
    gap_weight: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        self.second = another(model, model.networks.predictor)

    def loss(self, view: View, draw: Draw) -> Tensor:
        logits = self.predicted(view, self.vicinity(view, draw).through)
        soft = self.second(view.embeddings, view.batch.keep, self.model.shown(view.batch, draw.soft))
        return (
            self.label_weight * cross_entropy(logits, view.targets)
            + self.soft_weight * cross_entropy(soft, view.targets)
            + self.gap_weight * jensen_shannon(logits, soft)
            + self.regularised(view, draw)
        )


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """The divergence between the distributions of two logits [B, C], from 0 to log 2, averaged over the texts."""
    p, q = one.log_softmax(-1), other.log_softmax(-1)
    middle = torch.stack([p, q]).logsumexp(0) - math.log(2)
    return (p.exp() * (p - middle) + q.exp() * (q - middle)).sum(-1).mean() / 2
