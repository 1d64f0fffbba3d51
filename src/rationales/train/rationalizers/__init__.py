"""Rationalizers: one file for each variant of the game between a selector and a predictor."""

from rationales.train.rationalizers import rnp, ver
from rationales.train.rationalizers.game import Game, GameConfig, rationalizers
from rationales.train.rationalizers.training import train

__all__ = ["Game", "GameConfig", "rationalizers", "rnp", "train", "ver"]
