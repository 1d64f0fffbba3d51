"""FR: selector and predictor have one encoder, so that each keeps the other from going its own way.

The loss is that of RNP; the encoder learns from whole texts and from selections. In the authors' program the states of
both players are normalised by one LayerNorm; here only the selector's are, as in all variants. Liu et al. (2022), "FR:
Folded Rationalization with a Unified Encoder".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rationales.train.rationalizers.game import Game, GameConfig, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, selector and predictor sharing one encoder (FR)."""

    shared_encoder: ClassVar[bool] = True


@rationalizers("fr")
class Fr(Game):
    """RNP with one encoder."""

    Config = Config
