"""How often a model is right in each group of a data set, guided or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

import torch

from rationales.data import Dataset, Example
from rationales.errors import InputError
from rationales.guidance.guide import guided
from rationales.models import Model, predict, rounds
from rationales.models.guiding import Guide
from rationales.run.labels import true_label

Group: TypeAlias = tuple[str, str]
"""What the examples of a group share: a value of their meta data, and their label."""

NOT = "non-"
"""What a label begins with that means all others: in HANS, `non-entailment` is neutral or contradiction."""


@dataclass(frozen=True)
class Accuracy:
    """The share of each group that the model got right, and how large the group is."""

    shares: Mapping[Group, float]
    counts: Mapping[Group, int]

    @property
    def average(self) -> float:
        """The mean of the groups, whatever their size."""
        return fmean(self.shares.values())


def accuracy(
    model: Model, examples: Dataset | Iterable[Example], guide: Guide | None = None, *, groups: str | None = None
) -> Accuracy:
    """Accuracy on labelled pairs, by label and by the meta data that `groups` names, such as `heuristic` of HANS.

    The model is guided by `guide`, or not at all. Labels are the data set's: a model that knows entailment, neutral and
    contradiction is right on `non-entailment` when it says anything but entailment.
    """
    names = examples.labels if isinstance(examples, Dataset) else None
    right: dict[Group, list[bool]] = defaultdict(list)
    with torch.no_grad(), model.borrowed(), guided(model, guide):
        for part in rounds(model, examples):
            answers = predict(model, model.encode(part, warn=False)).argmax(-1).tolist()
            for example, answer in zip(part, answers, strict=True):
                label = _label(example, names, model)
                right[_value(example, groups), label].append(_is_right(model.labels[answer], label, model))
    if not right:
        raise InputError("there are no examples to be right about")
    keys = sorted(right)
    return Accuracy({key: fmean(right[key]) for key in keys}, {key: len(right[key]) for key in keys})


def _value(example: Example, key: str | None) -> str:
    if key is None:
        return ""
    if key not in example.meta:
        known = ", ".join(sorted(example.meta)) or "nothing"
        raise InputError(f"{example.id!r} has no {key!r} in its meta data to group it by; it has {known}")
    return str(example.meta[key])


def _label(example: Example, names: tuple[str, ...] | None, model: Model) -> str:
    """The label as the model calls it, or what it is not."""
    index = example.label
    named = names[index] if names is not None and isinstance(index, int) and index in range(len(names)) else index
    if isinstance(named, str) and _denied(named, model) is not None:
        return named
    label = true_label(example, names, model)
    if label not in model.labels:
        raise InputError(
            f"{example.id!r} is labelled {named!r}, and {model.name} knows {', '.join(model.labels)}; rename its labels"
        )
    return label


def _denied(label: str, model: Model) -> str | None:
    """The model's label that `label` says is not so; None where it says something else."""
    own = {name.casefold(): name for name in model.labels}
    folded = label.casefold()
    return None if folded in own or not folded.startswith(NOT) else own.get(folded.removeprefix(NOT))


def _is_right(answer: str, label: str, model: Model) -> bool:
    denied = _denied(label, model)
    return answer == label if denied is None else answer != denied
