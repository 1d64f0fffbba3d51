"""What every explainer shares: the registry, and the way from a tensor of scores to explanations.

A method has two faces. A pure tensor function gives scores [B, T] with their graph, for training and for other
methods; a frozen dataclass on top of `Explainer` names its options and packs the result into explanations.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args, get_origin

import torch
from torch import Tensor

from rationales import __version__
from rationales.errors import InputError, MissingCapability, QualityWarning
from rationales.explanation import Explanation, Explanations, Provenance, Scores, Target
from rationales.models import Batch, Model, demand, pick, predict, predicted, resolve_targets
from rationales.registry import Registry, options_of

explainers: Registry[type[Explainer]] = Registry("explainer", plugins="rationales.explainers")


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores of a batch, [B, T]; their standard errors, [B, T]; and what the method knows of its quality, [B] each."""

    values: Tensor
    standard_error: Tensor | None = None
    checks: Mapping[str, Tensor] = field(default_factory=dict)


class AnyExplainer(ABC):
    """A method that explains, whatever its explanations look like: a frozen dataclass whose fields are its options.

    It sets `needs` to the capability it wants of the model. Calling it returns one explanation per row of a batch.
    """

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        """Options with a fixed set of values have one of them, numbers are finite, and seeds are not negative."""
        for option in options_of(type(self)):
            given, allowed = getattr(self, option.name), get_args(option.type)
            if get_origin(option.type) is Literal and given not in allowed:
                raise InputError(f"{option.name} must be one of {', '.join(map(str, allowed))}; got {given!r}")
            if isinstance(given, float) and not math.isfinite(given):
                raise InputError(f"{option.name} must be a finite number, got {given}")
            if option.name == "seed" and given < 0:
                raise InputError(f"seed must not be negative, got {given}")

    @property
    def name(self) -> str:
        """The name in the registry, or that of the class."""
        return next((name for name, cls in explainers.items() if cls is type(self)), type(self).__name__)

    def __call__(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None = None
    ) -> Explanations:
        """Explain every row of a batch that `model.encode` made."""
        try:
            return self._explained(model, batch, targets)
        except MissingCapability as error:
            others = [name for name, cls in explainers.items() if self.needs not in cls.needs.__mro__]
            working = ", ".join(name for name in others if isinstance(model, explainers[name].needs))
            hint = f". Methods that work on it: {working}" if working else ""
            raise MissingCapability(f"{str(error).rstrip('.')}{hint}") from error

    @abstractmethod
    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        """What a call returns."""


class Explainer(AnyExplainer):
    """A method that scores tokens.

    A subclass gives the scores in `attribute`. Calling it borrows the model and chooses the target: the predicted class
    unless told otherwise.
    """

    @abstractmethod
    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor | Attribution:
        """Scores [B, T] of the batch's tokens for the outputs `targets` [B]. The model is frozen and in eval mode."""

    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        demand(model, self.needs, self.name)
        if len(batch.sources) != len(batch):
            raise InputError("this batch does not know its texts; explain a batch made by model.encode")
        with torch.inference_mode(False), model.borrowed():  # a caller's inference mode would forbid gradients
            with torch.no_grad():
                logits = predict(model, batch)
            chosen = logits.argmax(-1) if targets is None else resolve_targets(model, batch, targets)
            probabilities = model.probabilities(logits)
            scores = pick(probabilities, chosen)
            answered = probabilities.isfinite().all(-1)
            with predicted(model, batch, logits):
                found = self._attributed(model, batch, chosen, answered)
        _warn_of_gaps(self.name, model, batch, answered, found)
        if targets is None:
            chosen = chosen.masked_fill(~answered, -1)  # nothing is predicted, and not the first class
        return self._packed(model, batch, chosen, scores, found)

    def _attributed(self, model: Model, batch: Batch, targets: Tensor, answered: Tensor) -> Attribution:
        """What `attribute` says of the texts that the model answered with numbers; NaN for the others."""
        rows = torch.nonzero(answered).flatten()
        if not len(rows):
            return Attribution(torch.full(batch.ids.shape, torch.nan))
        if len(rows) < len(batch):
            sources = tuple(batch.sources[row] for row in rows.tolist())
            part = dataclasses.replace(batch.take(rows), sources=sources)
            return _spread(self._attributed(model, part, targets[rows], answered[rows]), rows, len(batch))
        result = self.attribute(model, batch, targets)
        return result if isinstance(result, Attribution) else Attribution(result)

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
                Target(index, model.labels[index] if index >= 0 else "", score),
                Scores(values[row], None if errors is None else errors[row]),
                provenance,
                {name: check[row] for name, check in checks.items()},
            )
            for row, (source, index, score) in enumerate(
                zip(batch.sources, targets.tolist(), scores.double().tolist(), strict=True)
            )
        )


def _spread(found: Attribution, rows: Tensor, size: int) -> Attribution:
    """What was found of some rows in its place among `size` of them, NaN elsewhere."""

    def spread(values: Tensor) -> Tensor:
        wide = torch.full((size, *values.shape[1:]), torch.nan, device=values.device, dtype=torch.float64)
        wide[rows.to(values.device)] = values.detach().double()
        return wide

    error = None if found.standard_error is None else spread(found.standard_error)
    return Attribution(spread(found.values), error, {name: spread(check) for name, check in found.checks.items()})


def _warn_of_gaps(method: str, model: Model, batch: Batch, answered: Tensor, found: Attribution) -> None:
    """Say of which texts there are no finite scores, and whether that is the model's fault."""
    finite = (found.values.detach().cpu().isfinite() | ~batch.keep.cpu()).all(-1)
    silent, undefined = ~answered.cpu(), answered.cpu() & ~finite
    if silent.any():
        warnings.warn(
            f"{model.name} answers NaN or infinity to {_named(batch, silent)}; nothing is predicted there, and all "
            "scores are NaN. Look at its weights, or use a higher precision",
            QualityWarning,
            stacklevel=4,
        )
    if undefined.any():
        warnings.warn(
            f"{method}: not all scores of {_named(batch, undefined)} are finite", QualityWarning, stacklevel=4
        )


def _named(batch: Batch, which: Tensor) -> str:
    """How many texts, and the first of them by their ids."""
    ids = [repr(source.example.id) for source, chosen in zip(batch.sources, which.tolist(), strict=True) if chosen]
    return f"{len(ids)} of {len(batch)} texts ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})"
