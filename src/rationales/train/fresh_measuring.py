"""How well classifiers of rationales do: their answers, what rationales were made for in the data's words, figures."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rationales.data.example import Example
from rationales.explanation import Target
from rationales.explanation.views import word_spans
from rationales.models import TransformersClassifier, predict, rounds
from rationales.train.labels import Part


@dataclass(frozen=True)
class Figures:
    """A figure by seed; `std` is the sample standard deviation, None for a single seed."""

    seeds: Mapping[int, float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seeds.values())

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.seeds.values()) if len(self.seeds) > 1 else None

    def plain(self) -> dict[str, Any]:
        return {"seeds": dict(self.seeds), "mean": self.mean, "std": self.std}


def answers(
    directory: Path, splits: Mapping[str, Part], *, max_length: int | None, device: torch.device
) -> dict[str, Tensor]:
    """What the model in a directory says of each split, [N, C]."""
    model = TransformersClassifier.from_pretrained(directory, max_length=max_length, device=device)
    found = {}
    with model.borrowed(), torch.no_grad():
        for split, part in splits.items():
            parts = rounds(model, part.examples)
            found[split] = torch.cat([predict(model, model.encode(some, warn=False)).cpu() for some in parts])
    return found


def places(targets: Iterable[Target], names: Sequence[str]) -> dict[str, int]:
    """The number that the data have for each class that is explained and that they know, by what it is called.

    This is `true_label` the other way round: names are the same but for capitals; a model that was never told its names
    (LABEL_0, LABEL_1 …) counts as the data do, and data whose classes are 0, 1 … count as the model does. Ratings, such
    as 1 to 5, are names and count nothing.
    """
    called = {target.label: target.index for target in targets}
    own = {name.casefold(): place for place, name in enumerate(names)}
    own |= {name: place for place, name in enumerate(names)}  # the very name goes first
    found = {label: own.get(label, own.get(label.casefold(), -1)) for label in called}
    if not called.keys() <= set(names):
        counting = list(names) == [str(place) for place in range(len(names))]
        if all(re.fullmatch(r"LABEL_\d+", label) for label in called) and (counting or not _numbers(names)):
            found = {label: int(label.removeprefix("LABEL_")) for label in called}
        elif counting and not _numbers(called):
            found = called
    return {label: place for label, place in found.items() if place in range(len(names))}


def _numbers(names: Iterable[str]) -> bool:
    return all(re.fullmatch(r"-?\d+", name) for name in names)


def explained_classes(
    targets: Mapping[str, Sequence[Target]], names: Sequence[str], tell: Callable[[str], None]
) -> dict[str, Tensor]:
    """The classes that rationales were made for, as the data number them, [N]; of splits where all are known."""
    known = places(chain(*targets.values()), names)
    unknown = {
        split: next((one.label for one in own if one.label not in known), None) for split, own in targets.items()
    }
    without = [split for split, label in unknown.items() if label is not None]
    if without:
        tell(
            f"agreement is left out of {', '.join(without)}: the class that is explained, such as "
            f"{unknown[without[0]]!r}, is none of the data's ({', '.join(names)})"
        )
    for split, own in targets.items():
        if len(own) > 1 and len({target.index for target in own}) == 1:
            tell(
                f"all {split} texts are explained for {own[0].label!r}: of them, figures say nothing of the rationales"
            )
    return {
        split: torch.tensor([known[target.label] for target in own])
        for split, own in targets.items()
        if split not in without
    }


def share(whole: Part, cut: Part) -> float:
    """The mean share of words that stayed."""

    def size(example: Example) -> int:
        return sum(len(word_spans(text)) for text in example.texts)

    pairs = zip(cut.examples, whole.examples, strict=True)
    return statistics.fmean(size(short) / max(1, size(long)) for short, long in pairs)
