"""DMR: what the predictor makes of the selection should be what is made of the whole text, in states and in outputs.

    L = L_RNP + λ_o · CE(softmax(g / T), p) + λ_f · CMD(s, s_full) + CE(y, g)

g are the logits of a guide, a further predictor that sees the whole text and learns from the last term alone; p and s
are outputs and pooled states of the predictor on the selection, s_full its states on the whole text, and CMD, the
central moment discrepancy, is the distance of the means of both over the batch plus that of their central moments up
to the fifth. Huang et al. (2021), "Distribution Matching for Rationalization".

The defaults are those of the authors' program; its script for beer reviews has 0.1 for label_weight and 0.9 for
output_weight. There the guide learns first, for ten epochs, and here at the same time; there a selector for each
class learns from the plain game only, while here selector and predictor learn from all terms; and there central moments
are multiplied by their order where CMD raises to its power, so that only the means count.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.linalg import vector_norm
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, another, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, as the whole text would be predicted (DMR)."""

    output_weight: float = option(0.1, "Weight of the difference between predictor and guide.")
    feature_weight: float = option(0.01, "Weight of the difference between states of selection and whole text.")
    guide_temperature: float = option(3.0, "Temperature that softens what the guide says.")
    moments: int = option(5, "Moments of the states that are compared.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.guide_temperature <= 0 or self.moments < 1:
            raise InputError(
                f"guide_temperature must be above 0 and moments at least 1: {self.guide_temperature}, {self.moments}"
            )


@rationalizers("dmr")
class Dmr(Game):
    """RNP, and a guide that sees the whole text."""

    Config = Config
    numbers = (*Game.numbers, "output_weight", "feature_weight", "guide_temperature")
    output_weight: Tensor
    feature_weight: Tensor
    guide_temperature: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        assert isinstance(config, Config)
        self.moments = config.moments
        self.guide = another(model, model.networks.predictor)

    def loss(self, view: View, draw: Draw) -> Tensor:
        predictor, keep = self.networks.predictor, view.batch.keep
        near = self.vicinity(view, draw).through
        states = predictor.states(view.embeddings, keep, self.model.shown(view.batch, near))
        logits: Tensor = predictor.head(states)
        whole = predictor.states(view.embeddings, keep, None)
        guide = self.guide(view.embeddings.detach(), keep)
        wanted = (guide.detach() / self.guide_temperature).softmax(-1)
        return (
            self.label_weight * cross_entropy(logits, view.targets)
            + self.output_weight * cross_entropy(logits, wanted)
            + self.feature_weight * moment_discrepancy(states, whole, self.moments)
            + cross_entropy(guide, view.targets)
            + self.regularised(view, draw)
        )


def moment_discrepancy(one: Tensor, other: Tensor, moments: int) -> Tensor:
    """‖E x - E y‖ + Σ_k ‖E (x - E x)^k - E (y - E y)^k‖, k = 2 … moments, of two batches of states [B, h]."""
    means = one.mean(0), other.mean(0)
    total: Tensor = vector_norm(means[0] - means[1])
    for order in range(2, moments + 1):
        first, second = (((x - mean) ** order).mean(0) for x, mean in zip((one, other), means, strict=True))
        total = total + vector_norm(first - second)
    return total
