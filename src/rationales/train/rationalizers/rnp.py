"""RNP: selector and predictor, trained together on the predictor's cross-entropy. Lei et al. (2016)."""

from __future__ import annotations

from dataclasses import dataclass

from rationales.train.rationalizers.game import Game, GameConfig, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone (RNP)."""


@rationalizers("rnp")
class Rnp(Game):
    """The plain game: what all others are compared with."""

    Config = Config
