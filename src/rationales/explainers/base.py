"""What every explainer shares: the registry, and the way from a tensor of scores to explanations.

A method has two faces. A pure tensor function gives scores [B, T] with their graph, for training and for other
methods; a frozen dataclass on top of `Explainer` names its options and packs the result into explanations.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np
import torch
from torch import Tensor

from rationales import __version__
from rationales.errors import InputError, MissingCapability, QualityWarning
from rationales.explanation import Alignment, Explanation, Explanations, Provenance, Scores, Target
from rationales.explanation.types import Body
from rationales.models import Attentive, Batch, CoAttentive, Model, demand, pick, predict, predicted, resolve_targets
from rationales.registry import Registry, options_of

explainers: Registry[type[Explainer]] = Registry("explainer", plugins="rationales.explainers")

aligners: Registry[type[PostHoc[Links]]] = Registry("method for pairs", plugins="rationales.aligners")
"""Methods that link the tokens of two texts."""

ATTENTION: frozenset[type] = frozenset({Attentive, CoAttentive})
"""What needs attention that can be seen: where one cannot be had, neither can the other."""

F = TypeVar("F")


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores of a batch, [B, T]; their standard errors, [B, T]; and what the method knows of its quality, [B] each."""

    values: Tensor
    standard_error: Tensor | None = None
    checks: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Links:
    """Weights of the links between two texts' tokens, [B, P, H]; which are kept, [B, P, H]; and checks, [B] each."""

    weights: Tensor
    keep: Tensor | None = None
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
        known = chain(explainers.items(), aligners.items())
        return next((name for name, cls in known if cls is type(self)), type(self).__name__)

    @property
    def fingerprint(self) -> str:
        """Tells apart methods that have the same options and yet differ, by the files that they read."""
        return ""

    def __call__(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None = None
    ) -> Explanations:
        """Explain every row of a batch that `model.encode` made."""
        try:
            return self._explained(model, batch, targets)
        except MissingCapability as error:
            working = ", ".join(self._others(model, batch))
            hint = f". Methods that work on it: {working}" if working else ""
            raise MissingCapability(f"{str(error).rstrip('.')}{hint}") from error

    def _others(self, model: Model, batch: Batch) -> list[str]:
        """Methods for this model and such texts that do without what this one needs."""
        wants_attention = not ATTENTION.isdisjoint(self.needs.__mro__)
        promised = isinstance(model, self.needs)  # and could not be had, as it turned out
        missing = ATTENTION if wants_attention and promised else frozenset({self.needs})
        known: list[tuple[str, type[AnyExplainer]]] = list(explainers.items())
        if all(len(source.example.texts) == 2 for source in batch.sources):
            known += aligners.items()
        return [name for name, cls in known if isinstance(model, cls.needs) and missing.isdisjoint(cls.needs.__mro__)]

    @abstractmethod
    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        """What a call returns."""


class PostHoc(AnyExplainer, Generic[F]):
    """A method that looks at a model from outside.

    Calling it borrows the model and chooses the target: the predicted class unless told otherwise. A subclass says what
    it finds of a batch whose rows the model all answered with numbers, and how that becomes bodies of explanations.
    """

    @abstractmethod
    def _found(self, model: Model, batch: Batch, targets: Tensor) -> F:
        """What there is to say of the outputs `targets` [B]."""

    @abstractmethod
    def _nothing(self, batch: Batch) -> F:
        """What there is to say of texts that the model did not answer, or that are not explainable."""

    @abstractmethod
    def _spread(self, found: F, rows: Tensor, batch: Batch) -> F:
        """What was found of some rows, in its place among those of the batch."""

    @abstractmethod
    def _bodies(self, batch: Batch, found: F) -> Sequence[tuple[Body, Mapping[str, float]]]:
        """The body and the checks of each row."""

    def _check(self, model: Model, batch: Batch) -> None:
        """Refuse what cannot be explained."""
        demand(model, self.needs, self.name)
        if len(batch.sources) != len(batch):
            raise InputError("this batch does not know its texts; explain a batch made by model.encode")

    def _explainable(self, batch: Batch) -> Tensor:
        """Of which rows there is something to say once the model answers, [B]; of the others it is said why not."""
        return torch.ones(len(batch), dtype=torch.bool)

    def _explained(
        self, model: Model, batch: Batch, targets: int | str | Sequence[int] | Tensor | None
    ) -> Explanations:
        self._check(model, batch)
        with torch.inference_mode(False), model.borrowed():  # a caller's inference mode would forbid gradients
            with torch.no_grad():
                logits = predict(model, batch)
            chosen = logits.argmax(-1) if targets is None else resolve_targets(model, batch, targets)
            probabilities = model.probabilities(logits)
            scores = pick(probabilities, chosen)
            answered = probabilities.isfinite().all(-1)
            with predicted(model, batch, logits):
                found = self._of_answered(model, batch, chosen, answered & self._explainable(batch).to(answered))
        bodies = self._bodies(batch, found)
        _warn_of_gaps(self.name, model, batch, answered, bodies)
        if targets is None:
            chosen = chosen.masked_fill(~answered, -1)  # nothing is predicted, and not the first class
        return self._packed(model, batch, chosen, scores, bodies)

    def _of_answered(self, model: Model, batch: Batch, targets: Tensor, answered: Tensor) -> F:
        """What is found of the texts that can be explained, and nothing of the others."""
        rows = torch.nonzero(answered).flatten()
        if not len(rows):
            return self._nothing(batch)
        if len(rows) < len(batch):
            sources = tuple(batch.sources[row] for row in rows.tolist())
            part = dataclasses.replace(batch.take(rows), sources=sources)
            return self._spread(self._of_answered(model, part, targets[rows], answered[rows]), rows, batch)
        return self._found(model, batch, targets)

    def _packed(
        self,
        model: Model,
        batch: Batch,
        targets: Tensor,
        scores: Tensor,
        bodies: Sequence[tuple[Body, Mapping[str, float]]],
    ) -> Explanations:
        params = dataclasses.asdict(self)  # type: ignore[call-overload]
        seed = params.get("seed")
        provenance = Provenance(self.name, params, model.name, seed if isinstance(seed, int) else None, __version__)
        return Explanations(
            Explanation(
                source.example.id,
                source.example.texts,
                source.tokens,
                Target(index, model.labels[index] if index >= 0 else "", score),
                body,
                provenance,
                {**checks, **guidance},
            )
            for source, index, score, (body, checks), guidance in zip(
                batch.sources, targets.tolist(), scores.double().tolist(), bodies, _guidance(batch), strict=True
            )
        )


class Explainer(PostHoc[Attribution]):
    """A method that scores tokens. A subclass gives the scores in `attribute`."""

    @abstractmethod
    def attribute(self, model: Model, batch: Batch, targets: Tensor) -> Tensor | Attribution:
        """Scores [B, T] of the batch's tokens for the outputs `targets` [B]. The model is frozen and in eval mode."""

    def _found(self, model: Model, batch: Batch, targets: Tensor) -> Attribution:
        result = self.attribute(model, batch, targets)
        return result if isinstance(result, Attribution) else Attribution(result)

    def _nothing(self, batch: Batch) -> Attribution:
        return Attribution(torch.full(batch.ids.shape, torch.nan))

    def _spread(self, found: Attribution, rows: Tensor, batch: Batch) -> Attribution:
        error = None if found.standard_error is None else spread(found.standard_error, rows, len(batch))
        checks = {name: spread(check, rows, len(batch)) for name, check in found.checks.items()}
        return Attribution(spread(found.values, rows, len(batch)), error, checks)

    def _bodies(self, batch: Batch, found: Attribution) -> list[tuple[Scores, Mapping[str, float]]]:
        values = batch.unpadded(found.values)
        errors = [None] * len(batch) if found.standard_error is None else batch.unpadded(found.standard_error)
        bodies = [Scores(own, error) for own, error in zip(values, errors, strict=True)]
        return list(zip(bodies, row_by_row(found.checks, len(batch)), strict=True))


def _guidance(batch: Batch) -> list[dict[str, float]]:
    """A check for each row whose attention between two texts is guided: its explanation is of the guided model."""
    if batch.alignment is None:
        return [{}] * len(batch)
    return [{"guided": 1.0} if some else {} for some in (batch.alignment != 1).flatten(1).any(1).tolist()]


def spread(values: Tensor, rows: Tensor, size: int) -> Tensor:
    """What was found of some rows in its place among `size` of them, NaN elsewhere."""
    wide = torch.full((size, *values.shape[1:]), torch.nan, device=values.device, dtype=torch.float64)
    wide[rows.to(values.device)] = values.detach().double()
    return wide


def row_by_row(checks: Mapping[str, Tensor], size: int) -> list[dict[str, float]]:
    """Checks of a batch, [B] each, as those of its rows."""
    lists = {name: check.detach().cpu().double().tolist() for name, check in checks.items()}
    return [{name: values[row] for name, values in lists.items()} for row in range(size)]


def warn(message: str, category: type[Warning] = QualityWarning) -> None:
    """A warning, about quality unless told otherwise, as of the line that called the explainer."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _warn_of_gaps(
    method: str,
    model: Model,
    batch: Batch,
    answered: Tensor,
    bodies: Sequence[tuple[Body, Mapping[str, float]]],
) -> None:
    """Say of which texts there are no finite scores, and whether that is the model's fault."""
    finite = torch.tensor([_is_finite(body) for body, _ in bodies])
    silent, undefined = ~answered.cpu(), answered.cpu() & ~finite
    if silent.any():
        warn(
            f"{model.name} answers NaN or infinity to {_named(batch, silent)}; nothing is predicted there, and all "
            "scores are NaN. Look at its weights, or use a higher precision"
        )
    if undefined.any():
        warn(f"{method}: not all scores of {_named(batch, undefined)} are finite")


def _is_finite(body: Body) -> bool:
    match body:
        case Scores(values=numbers) | Alignment(weights=numbers):
            return bool(np.isfinite(numbers).all())
    return True


def _named(batch: Batch, which: Tensor) -> str:
    """How many texts, and the first of them by their ids."""
    ids = [repr(source.example.id) for source, chosen in zip(batch.sources, which.tolist(), strict=True) if chosen]
    return f"{len(ids)} of {len(batch)} texts ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})"
