"""Rationalizers: one file for each variant of the game between a selector and a predictor."""

from rationales.train.rationalizers import (
    a2i,
    a2r,
    attention,
    cr,
    dmr,
    fr,
    full_text,
    inter_rat,
    inv_rat,
    nir,
    random_selection,
    rnp,
    three_player,
    ver,
)
from rationales.train.rationalizers.game import Game, GameConfig, rationalizers
from rationales.train.rationalizers.training import train

__all__ = [
    "Game",
    "GameConfig",
    "a2i",
    "a2r",
    "attention",
    "cr",
    "dmr",
    "fr",
    "full_text",
    "inter_rat",
    "inv_rat",
    "nir",
    "random_selection",
    "rationalizers",
    "rnp",
    "three_player",
    "train",
    "ver",
]
