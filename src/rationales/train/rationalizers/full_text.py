"""A classifier of the whole text on the same networks: what methods such as LIME explain after the fact.

    L = CE(y, p(x))

The predictor is shown every token; nothing is selected, so what the model says of itself is the whole text. LIME of
Ribeiro et al. (2016), with the best tokens as its selection, is `Lime()(model, batch)` and `views.top`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Predict from the whole text, for explanations after the fact; options of the selection have no effect."""

    shared_encoder: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.perturb:
            raise InputError("perturb exchanges chosen tokens, and the whole text is shown here; leave it at 0")

    def architecture(self, _shares: Sequence[float], /) -> Mapping[str, Any]:
        return {"post_hoc": 1.0}


@rationalizers("full_text")
class FullText(Game):
    """A game without a selector."""

    Config = Config

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        if model.networks.predictor.attention is None:
            model.networks.selector.head.requires_grad_(False)  # nobody asks it

    def draw(self, view: View) -> Draw:
        return Draw(view.batch.content, view.batch.content.to(view.embeddings))

    def loss(self, view: View, draw: Draw) -> Tensor:
        return self.label_weight * cross_entropy(self.predicted(view, draw.soft), view.targets)
