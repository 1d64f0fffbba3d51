"""Three players: a further predictor sees what was not selected, and the selector leaves it nothing to go by.

    L = L_RNP + λ · max(0, CE(y, p) - CE(y, p_c) + h) + CE(y, p_c)

p is what the predictor says of the selection, p_c what the third player says of all other tokens. The selector alone
learns from the second term, and the third player alone from the last one. Yu et al. (2019), "Rethinking Cooperative
Rationalization: Introspective Extraction and Complement Control".

That is the paper's loss; h is that of the authors' program, which trains its selector by REINFORCE on accuracies in
place of cross-entropies, and the paper's λ is not known to us. There the players take turns; here all learn at once.
The paper's other idea, a selector that knows a first prediction, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, another, held, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, the others telling nothing about the class (three players)."""

    complement_weight: float = option(1.0, "Weight of what the tokens that are not chosen still tell.")
    margin: float = option(0.2, "By how much the loss from those should be the larger one.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin < 0:
            raise InputError(f"margin cannot be negative, got {self.margin}")


@rationalizers("three_player")
class ThreePlayer(Game):
    """RNP, and a predictor that sees the rest."""

    Config = Config
    numbers = (*Game.numbers, "complement_weight", "margin")
    complement_weight: Tensor
    margin: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        self.complement = another(model, model.networks.predictor)

    def loss(self, view: View, draw: Draw) -> Tensor:
        near = self.vicinity(view, draw).through
        plain = self.label_weight * cross_entropy(self.predicted(view, near), view.targets)
        words, keep = view.embeddings.detach(), view.batch.keep
        chosen = self.model.shown(view.batch, near)
        rest = self.model.shown(view.batch, (1 - near) * view.batch.content)
        own = cross_entropy(self.complement(words, keep, rest.detach()), view.targets)
        with_chosen = cross_entropy(held(self.networks.predictor, words, keep, chosen), view.targets)
        with_rest = cross_entropy(held(self.complement, words, keep, rest), view.targets)
        left = (with_chosen - with_rest + self.margin).clamp(min=0)
        return plain + self.complement_weight * left + own + self.regularised(view, draw)
