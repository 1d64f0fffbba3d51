"""What every explainer shares: the registry, and the way from a tensor of scores to explanations.

A method has two faces. A pure tensor function gives scores [B, T] with their graph, for training and for other
methods; a frozen dataclass on top of `Explainer` names its options and packs the result into explanations.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args, get_origin

import torch
from torch import Tensor

from rationales import __version__
from rationales.errors import InputError
from rationales.explanation import Explanation, Explanations, Provenance, Scores, Target
from rationales.models import Batch, Model, demand, pick, predict, resolve_targets
from rationales.registry import Registry, options_of

explainers: Registry[type[Explainer]] = Registry("explainer", plugins="rationales.explainers")


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores of a batch, [B, T]; their standard errors, [B, T]; and what the method knows of its quality, [B] each."""

    values: Tensor
    standard_error: Tensor | None = None
    checks: Mapping[str, Tensor] = field(default_factory=dict)


class Explainer(ABC):
    """A method that scores tokens. A subclass is a frozen dataclass whose fields are its options.

    It sets `needs` to the capability it wants of the model, and gives scores in `attribute`. Calling it borrows the
    model, chooses the target (the predicted class unless told otherwise), and returns one explanation per row.
    """

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        """Options with a fixed set of values have one of them, and seeds are not negative."""
        for option in options_of(type(self)):
            given, allowed = getattr(self, option.name), get_args(option.type)
            if get_origin(option.type) is Literal and given not in allowed:
                raise InputError(f"{option.name} must be one of {', '.join(map(str, allowed))}; got {given!r}")
            if option.name == "seed" and given < 0:
                raise InputError(f"seed must not be negative, got {given}")

    @abstractmethod
    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor | Attribution:
        """Scores [B, T] of the batch's tokens for the outputs `targets` [B]. The model is frozen and in eval mode."""

    @property
    def name(self) -> str:
        """The name in the registry, or that of the class."""
        return next((name for name, cls in explainers.items() if cls is type(self)), type(self).__name__)

    def __call__(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None = None
    ) -> Explanations:
        """Explain every row of a batch that `model.encode` made."""
        demand(model, self.needs, self.name)
        if len(batch.sources) != len(batch):
            raise InputError("this batch does not know its texts; explain a batch made by model.encode")
        with torch.inference_mode(False), model.borrowed():  # a caller's inference mode would forbid gradients
            with torch.no_grad():
                logits = predict(model, batch)
            chosen = logits.argmax(-1) if targets is None else resolve_targets(model, batch, targets)
            scores = pick(model.probabilities(logits), chosen)
            result = self.attribute(model, batch, chosen)
        found = result if isinstance(result, Attribution) else Attribution(result)
        return self._packed(model, batch, chosen, scores, found)

    def _packed(self, model: Model, batch: Batch, targets: Tensor, scores: Tensor, found: Attribution) -> Explanations:
        params = dataclasses.asdict(self)  # type: ignore[call-overload]
        seed = params.get("seed")
        provenance = Provenance(self.name, params, model.name, seed if isinstance(seed, int) else None, __version__)
        values = batch.unpadded(found.values)
        errors = None if found.standard_error is None else batch.unpadded(found.standard_error)
        checks = {name: check.detach().cpu().double().tolist() for name, check in found.checks.items()}
        return Explanations(
            Explanation(
                source.example.id,
                source.example.texts,
                source.tokens,
                Target(index, model.labels[index], score),
                Scores(values[row], None if errors is None else errors[row]),
                provenance,
                {name: check[row] for name, check in checks.items()},
            )
            for row, (source, index, score) in enumerate(
                zip(batch.sources, targets.tolist(), scores.double().tolist(), strict=True)
            )
        )
