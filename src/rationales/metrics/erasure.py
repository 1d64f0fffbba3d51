"""What the model says of a text with some of its tokens erased: the ground under every faithfulness metric."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation.types import BoolArray, Explanation, FloatArray, Selection, Target
from rationales.explanation.views import count, projected, ranked, token_scores
from rationales.metrics.base import sized
from rationales.models import Batch, Erasure, Model, demand, erased_logits, rounds
from rationales.models.tokenising import cut_message

Drops: TypeAlias = Callable[[Explanation], BoolArray]
"""An explanation on the model's own tokens → which of them to erase, [V, T], in each of V versions."""

TENTHS = tuple(float(share) for share in np.arange(11) / 10)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Probabilities of the explained class: of the whole text [N], and of its erased versions [N, V].

    `flipped` [N, V]: whether the predicted class changed. `defined` [N]: whether there are tokens to erase and all of
    them have scores that are numbers.
    """

    whole: FloatArray
    erased: FloatArray
    flipped: BoolArray
    defined: BoolArray


Key: TypeAlias = tuple[tuple[str, ...], Erasure | None, bytes]
"""Texts, erasure and erased tokens: what decides the logits. A version with nothing erased has no erasure."""


@dataclass(eq=False)
class Passes:
    """What the model said of some texts and their erased versions: whoever asks again gets the same answer."""

    batches: dict[tuple[tuple[str, ...], ...], Batch] = field(default_factory=dict)
    numbers: dict[Key, int] = field(default_factory=dict)
    logits: list[Tensor] = field(default_factory=list)
    cut: int = 0

    def batch(self, model: Model, texts: tuple[tuple[str, ...], ...]) -> Batch:
        """The texts, encoded once."""
        if texts not in self.batches:
            self.batches[texts] = model.encode([Example("", sides) for sides in texts], warn=False)
            self.cut += sum(source.cut for source in self.batches[texts].sources)
        return self.batches[texts]

    def forget(self) -> None:
        """Make room: the next texts are others."""
        self.batches.clear()
        self.numbers.clear()
        self.logits.clear()


_shared: ContextVar[Passes | None] = ContextVar("passes that metrics share", default=None)


@contextmanager
def shared_passes() -> Iterator[Passes]:
    """Inside this block metrics of one model ask it only once about the same version of a text.

    Whoever opens the block passes no more explanations at a time than fit in memory, and calls `forget` on what it
    gives when the texts or the model change.
    """
    passes = Passes()
    token = _shared.set(passes)
    try:
        yield passes
    finally:
        _shared.reset(token)


def outcomes(model: object, explanations: Sequence[Explanation], drops: Drops, erasure: Erasure) -> Outcomes:
    """Erase and ask the model, in full batches.

    The class is the explanation's target; where it names none of the model's (explanations by people or other tools),
    the class that the model predicts for the whole text.
    """
    demand(model, Model, "a faithfulness metric")
    assert isinstance(model, Model)
    if not explanations:
        raise InputError("there are no explanations to measure")
    shared = _shared.get()
    passes = Passes() if shared is None else shared
    parts = []
    with model.borrowed(), torch.no_grad():  # who shares passes goes in rounds already
        for part in [list(explanations)] if shared else rounds(model, explanations):
            parts.append(_round(model, part, drops, erasure, passes))
            if shared is None:
                passes.forget()
    if shared is None and passes.cut:
        warnings.warn(cut_message(passes.cut, len(explanations), model.max_length), stacklevel=2)
    return Outcomes(
        np.concatenate([part.whole for part in parts]),
        np.concatenate([part.erased for part in parts]),
        np.concatenate([part.flipped for part in parts]),
        np.concatenate([part.defined for part in parts]),
    )


def _round(model: Model, explanations: list[Explanation], drops: Drops, erasure: Erasure, passes: Passes) -> Outcomes:
    batch = passes.batch(model, tuple(item.texts for item in explanations))
    onto = [projected(item, source.tokens) for item, source in zip(explanations, batch.sources, strict=True)]
    logits = _logits(model, batch, [drops(item) for item in onto], erasure, passes)
    whole = logits[:, 0]
    targets = _targets(model, explanations, whole)
    chosen = model.probabilities(logits.flatten(0, 1)).view(logits.shape)
    chosen = chosen.gather(2, targets[:, None, None].expand(-1, logits.shape[1], 1)).squeeze(2)
    return Outcomes(
        _numbers(chosen[:, 0]),
        _numbers(chosen[:, 1:]),
        (logits[:, 1:].argmax(-1) != whole.argmax(-1, keepdim=True)).numpy(),
        np.array([_defined(item) for item in onto]),
    )


def _logits(model: Model, batch: Batch, versions: list[BoolArray], erasure: Erasure, passes: Passes) -> Tensor:
    """Logits of each whole text and of its V erased versions, [B, 1 + V, C] on the processor; each asked for once."""
    keys: list[Key] = []
    wanted: dict[Key, tuple[int, BoolArray]] = {}
    for row, (source, version) in enumerate(zip(batch.sources, versions, strict=True)):
        texts = source.example.texts
        drops = np.concatenate([np.zeros_like(version[:1]), version])
        for drop, some in zip(drops, np.any(drops, axis=-1), strict=True):
            key: Key = (texts, erasure, drop.tobytes()) if some else (texts, None, b"")
            keys.append(key)
            if key not in passes.numbers:
                wanted[key] = (row, drop)
    if wanted:
        rows = torch.tensor([row for row, _ in wanted.values()])
        dropped = np.zeros((len(wanted), batch.width), dtype=np.bool_)
        for place, (_, drop) in enumerate(wanted.values()):
            start = batch.width - len(drop) if batch.side == "left" else 0
            dropped[place, start : start + len(drop)] = drop
        found = erased_logits(model, batch, rows, torch.from_numpy(dropped), erasure)
        passes.numbers.update({key: number for number, key in enumerate(wanted, start=len(passes.numbers))})
        passes.logits.append(found.cpu())
    numbers = torch.tensor([passes.numbers[key] for key in keys])
    return torch.cat(passes.logits)[numbers].view(len(batch), -1, len(model.labels))


def _defined(explanation: Explanation) -> bool:
    scores = token_scores(explanation)[explanation.content]
    return len(scores) > 0 and not np.isnan(scores).any()


def _targets(model: Model, explanations: list[Explanation], whole: Tensor) -> Tensor:
    """The class each explanation is about, [n]: by its label, else by its number, else the predicted one."""
    by_label = {label: number for number, label in enumerate(model.labels)}

    def number(target: Target) -> int:
        named = by_label.get(target.label, -1)  # goes before a number, which may be that of another model or tool
        return named if named >= 0 or target.index not in range(len(model.labels)) else target.index

    given = [number(item.target) for item in explanations]
    targets = torch.tensor(given, device=whole.device)
    return torch.where(targets >= 0, targets, whole.argmax(-1))


def _numbers(tensor: Tensor) -> FloatArray:
    return tensor.double().numpy()


def best_tokens(explanation: Explanation, fractions: Sequence[float], absolute: bool) -> BoolArray:
    """The best ⌈fraction · n⌉ of the n content tokens for each fraction, [V, T]; a selection is itself in each."""
    if isinstance(explanation.body, Selection):
        return np.tile(explanation.body.keep & explanation.content, (len(fractions), 1))
    order = ranked(sized(explanation, absolute))
    place = np.full(len(explanation.tokens), len(order))
    place[order] = np.arange(len(order))
    return place < _sizes(tuple(fractions), len(order))


@cache
def _sizes(fractions: tuple[float, ...], total: int) -> NDArray[np.int64]:
    return np.array([[count(fraction, total)] for fraction in fractions], dtype=np.int64)


def perturbation_curve(
    model: object,
    explanations: Sequence[Explanation],
    *,
    fractions: Sequence[float] = TENTHS,
    erase: Literal["best", "rest"] = "best",
    erasure: Erasure = "delete",
    absolute: bool = False,
) -> FloatArray:
    """The probability of the explained class as more tokens go, [N, len(fractions)].

    `erase="best"` removes the best ⌈fraction · n⌉ tokens (a faithful explanation falls early); `"rest"` removes all but
    those (a faithful one rises early). NaN for a text without tokens and where a score is NaN. Samek et al. (2017).
    """
    if not len(fractions) or not all(0 <= share <= 1 for share in fractions):
        raise InputError(f"fractions must be shares from 0 to 1, got {tuple(fractions)}")
    if erase not in ("best", "rest"):
        raise InputError(f"erase must be best or rest, got {erase!r}")

    def drops(explanation: Explanation) -> BoolArray:
        best = best_tokens(explanation, fractions, absolute)
        return best if erase == "best" else ~best & explanation.content

    found = outcomes(model, explanations, drops, erasure)
    return np.where(found.defined[:, None], found.erased, np.nan)
