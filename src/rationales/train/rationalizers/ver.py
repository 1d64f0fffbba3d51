"""VER: the predictor is shown the vicinity of what was selected, so that it does not overfit to a few choices.

m' = m with a share p of its tokens exchanged for others of the text; the loss of the predictor is taken at m', the
regularisers at m, and gradients go to the selector as if m' were its choice: a token that was switched on is credited
with its own effect. Liu et al. (2025), "Exploring Practical Gaps in Using Cross Entropy to Implement Maximum Mutual
Information Criterion for Rationalization".
"""

from __future__ import annotations

from dataclasses import dataclass

from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, the predictor trained on the vicinity of each choice (VER)."""

    perturb: float = option(0.3, "Share of the chosen tokens to exchange for others while training.")


@rationalizers("ver")
class Ver(Game):
    """RNP with a perturbation: `--perturb 0.3` makes it of any variant."""

    Config = Config
