"""A2I: an attacker selects what speaks for a wrong class, and the predictor learns to be indifferent to it.

    attacker:   CE(ȳ, p(a)) + λ1 · sparsity(a) + λ2 · continuity(a)
    others:     L_RNP - λ_a · min(CE(ȳ, p(a)), CE(ȳ, uniform))

a is the attacker's choice, ȳ "another class than the right one", CE(ȳ, p) = -log(1 - p_y). A trivial pattern that the
selector chooses because of the class ("-" for negative) is also found in texts of the other class, where it speaks for
the wrong one; a true reason is not. The predictor is pushed until it is indifferent to the attack, and no further;
`instruction="uniform"` makes the uniform distribution its target instead. Liu et al. (2024), "Attacking for Inspection
and Instruction: Debiasing Self-explaining Text Classification".

The cross-entropies of the attack have label_weight too, as in the authors' program, whose defaults these are. There the
two lines take turns; here all networks learn at once, the predictor held fixed in the first line and the attacker in
the second. There are two classes there, and the predictor stops at logits of one half, which is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from torch import Tensor

from rationales.errors import InputError
from rationales.models.rationalizer import Draw, Rationalizer, gumbel_draw
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, another, held, rationalizers

Instruction: TypeAlias = Literal["hinge", "uniform"]


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, the predictor indifferent to misleading selections (A2I)."""

    attack_weight: float = option(1.0, "Weight of the predictor's indifference to the attack.")
    instruction: Instruction = option("hinge", "Push the predictor up to indifference, or towards it from both sides.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instruction not in get_args(Instruction):
            raise InputError(f"instruction must be hinge or uniform, got {self.instruction!r}")


@rationalizers("a2i")
class A2i(Game):
    """RNP, and a second selector that works for the wrong classes."""

    Config = Config
    numbers = (*Game.numbers, "attack_weight")
    attack_weight: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        assert isinstance(config, Config)
        self.instruction = config.instruction
        self.attacker = another(model, model.networks.selector)

    def loss(self, view: View, draw: Draw) -> Tensor:
        plain = super().loss(view, draw)
        attack = self.attack(view)
        return plain + self.attacking(view, attack) + self.attack_weight * self.instructing(view, attack)

    def attack(self, view: View) -> Draw:
        """A random choice of the attacker."""
        wanted = self.attacker(view.embeddings.detach(), view.batch.keep)
        return gumbel_draw(wanted, self.counted(view), temperature=self.config.temperature)

    def attacking(self, view: View, attack: Draw) -> Tensor:
        """What the attacker learns from, and nobody else."""
        shown = self.model.shown(view.batch, attack.through)
        logits = held(self.networks.predictor, view.embeddings.detach(), view.batch.keep, shown)
        return self.label_weight * surprise(logits, view.targets).mean() + self.regularised(view, attack)

    def instructing(self, view: View, attack: Draw) -> Tensor:
        """What the predictor learns from the attack."""
        logits = self.predicted(view, attack.hard)
        if self.instruction == "uniform":
            return -self.label_weight * logits.log_softmax(-1).mean()
        indifferent = -math.log(1 - 1 / logits.shape[-1])
        return -self.label_weight * surprise(logits, view.targets).clamp(max=indifferent).mean()


def surprise(logits: Tensor, targets: Tensor) -> Tensor:
    """-log(1 - p_y), [B]: how unlikely each class but the right one is; with two classes, the loss of the other."""
    return logits.logsumexp(-1) - logits.scatter(-1, targets.unsqueeze(-1), float("-inf")).logsumexp(-1)
