"""What a model says of itself. It does not score tokens as the methods of the registry do, and so is not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from rationales.errors import InputError, MissingCapability
from rationales.explainers.base import AnyExplainer, aligners, explainers
from rationales.explanation import Explanations
from rationales.models import Batch, Model, SelfExplaining
from rationales.registry import unknown

OWN = "own"
"""The name under which it is asked for and compared; its explanations bear the name of what trained the model."""


@dataclass(frozen=True)
class Own(AnyExplainer):
    """What the model itself gives as its reason, such as the tokens that a rationalizer chose (one forward pass)."""

    needs: ClassVar[type] = SelfExplaining

    @property
    def name(self) -> str:
        return OWN

    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        if not isinstance(model, SelfExplaining):
            raise MissingCapability(
                f"{model.name} does not explain itself; rationales train rnp makes a model that does"
            )
        if targets is not None:
            raise InputError(
                f"{model.name} explains what it predicts and nothing else; leave out the target, or take another method"
            )
        return Explanations(model.explain(batch))


def method_named(name: str) -> type[AnyExplainer]:
    """A method of the registries, or `own`."""
    if name == OWN:
        return Own
    if name in aligners:
        return aligners[name]
    if name in explainers:
        return explainers[name]
    raise unknown("explainer", name, (*explainers, OWN, *aligners))


def default_method(model: Model) -> str:
    """Who explains where the user does not say: the model, if it can."""
    return OWN if isinstance(model, SelfExplaining) else "integrated_gradients"
