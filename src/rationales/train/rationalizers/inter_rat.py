"""Inter-RAT: both players weigh what a state would mean for each class, so that no class is preferred by habit.

The last layer of each player sees, beside the state h of a token or of the selection, a prototype of the classes,

    Σ_k P(k) a_k c_k,    a = softmax(h · c),

which stands for averaging over a confounder (backdoor adjustment): see `Adjusted`. The loss is that of RNP. Yue et al.
(2023), "Interventional Rationalization".

As in the authors' program, the prototypes c are learned with the players, which share them, and the selector compares
its states with a linear map of them. There P is 0.05 and 0.95 for beer reviews, and else uniform; here it is what the
training data say, unless `priors` are given. There the predictor takes the mean of its states, and no player has a
LayerNorm; here they are as in all variants. Weights and rates of the program (20 epochs of 256 texts per step,
learning rate 0.001, sparsity 0.2 with weight 0.05 per text, continuity 0.01 per token) can be given as options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rationales.errors import InputError
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, rationalizers


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, adjusted for the classes by backdoor adjustment (Inter-RAT)."""

    priors: str = option("", 'Shares of the classes in their order, such as "0.05,0.95"; empty: as in the data.')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.priors and not (min(self._given()) >= 0 and math.isclose(sum(self._given()), 1, abs_tol=1e-3)):
            raise InputError(f"priors must be shares that sum to 1, got {self.priors!r}")

    def _given(self) -> tuple[float, ...]:
        try:
            return tuple(float(share) for share in self.priors.split(","))
        except ValueError:
            raise InputError(f"priors must be numbers with commas between them, got {self.priors!r}") from None

    def architecture(self, shares: Sequence[float], /) -> Mapping[str, Any]:
        priors = self._given() if self.priors else tuple(shares)
        if len(priors) != len(shares):
            raise InputError(f"there are {len(shares)} classes, but priors has {len(priors)} numbers")
        return {"priors": priors}


@rationalizers("inter_rat")
class InterRat(Game):
    """RNP with other last layers."""

    Config = Config
