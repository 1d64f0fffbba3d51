"""What is to be learned: the classes or numbers that labels stand for, and how predictions of them are scored."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from rationales.data.dataset import Dataset
from rationales.data.example import Example
from rationales.errors import DataError, InputError

Metric: TypeAlias = Literal["auto", "accuracy", "macro_f1", "pearson"]
METRICS: tuple[Metric, ...] = get_args(Metric)

_Label: TypeAlias = int | float | str


@dataclass(frozen=True)
class Part:
    """Examples and what to predict for each: class indices or numbers, [N]."""

    examples: list[Example]
    targets: Tensor


@dataclass(frozen=True)
class Task:
    """Training and dev data for the same classes; no `names`: for a number."""

    names: tuple[str, ...]
    train: Part
    dev: Part

    def metric(self, wanted: Metric) -> str:
        """The dev score: the one wanted, if it fits what is predicted."""
        fitting = ("accuracy", "macro_f1") if self.names else ("pearson",)
        if wanted == "auto":
            return fitting[0]
        if wanted not in fitting:
            what = "classes" if self.names else "numbers"
            raise InputError(
                f"the labels are {what}, which metric={wanted!r} does not score; use {' or '.join(fitting)}"
            )
        return wanted

    def facts(self) -> dict[str, Any]:
        """What tells this task from others, as plain JSON: classes, sizes and a checksum of texts and labels."""
        checksum = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.dev):
            for example, target in zip(part.examples, part.targets.tolist(), strict=True):
                checksum.update(repr((example.texts, target)).encode())
        sizes = {"train": len(self.train.examples), "dev": len(self.dev.examples)}
        return {"labels": list(self.names), "data": {**sizes, "checksum": checksum.hexdigest()}}


def read_task(
    train: Iterable[Example], dev: Iterable[Example], labels: Sequence[str] | None = None, *, held_out: str = "dev"
) -> Task:
    """Find out what the labels are; `held_out` is what messages call the data that are not trained on.

    Class names are `labels` if given, else those of the training data set, else what occurs in it, sorted. A whole
    number is an index into the names of its data set or into `labels`, if there are any, and else a class of its own.
    If a label is a float, all are numbers to predict.
    """
    examples, found = _labelled(train, labels, "training")
    dev_examples, dev_found = _labelled(dev, labels, held_out)
    if len({isinstance(label, str) for label in found}) > 1:
        raise DataError("some training labels are names and some are numbers; all must be of one kind")
    if len(set(found)) == 1:
        raise DataError(f"all {len(found)} training labels are {found[0]!r}; there is nothing to tell apart")
    if any(isinstance(label, float) for label in found):
        if labels:
            raise DataError(
                f"class names were given ({', '.join(labels)}), but some training labels are not whole numbers"
            )
        if all(float(label).is_integer() for label in found) and len(set(found)) <= 20:
            warnings.warn(
                f"the labels are numbers such as {found[0]}, so a number is predicted; for classes write them as whole "
                "numbers or names, or set label_format (--label-format index)",
                stacklevel=3,
            )
        return Task((), Part(examples, _numbers(found, "training")), Part(dev_examples, _numbers(dev_found, held_out)))
    classes: Sequence[Any] = labels or _names(train) or sorted(set[Any](found))
    return Task(
        tuple(map(str, classes)),
        Part(examples, _indices(examples, found, classes, "training")),
        Part(dev_examples, _indices(dev_examples, dev_found, classes, held_out)),
    )


def _names(data: object) -> Sequence[str] | None:
    return data.labels if isinstance(data, Dataset) else None


def _labelled(data: Iterable[Example], labels: Sequence[str] | None, what: str) -> tuple[list[Example], list[_Label]]:
    """The examples that have a label, and their labels, as names where those are known."""
    every = list(data)
    if not every:
        more = "more data, or a dev set of its own (--dev)" if what == "dev" else "more data"
        raise DataError(f"the {what} data are empty; give {more}")
    examples = [example for example in every if example.label is not None]
    if not examples:
        raise DataError(
            f"none of the {len(every)} {what} examples has a label; say which column holds it (--label-column)"
        )
    if len(examples) < len(every):
        warnings.warn(f"{len(every) - len(examples)} of {len(every)} {what} examples have no label", stacklevel=4)
    names = _names(data) or labels or ()
    found: list[_Label] = []
    for example in examples:
        label = example.label
        if example.choices:
            raise DataError(f"{what} example {example.id!r} has choices; a classifier takes single texts and pairs")
        if names and isinstance(label, int):
            if not 0 <= label < len(names):
                raise DataError(f"{what} example {example.id!r} has label {label}; the labels are {', '.join(names)}")
            label = names[label]
        assert label is not None
        found.append(label)
    return examples, found


def _indices(examples: Sequence[Example], found: Sequence[_Label], classes: Sequence[_Label], what: str) -> Tensor:
    index = {label: number for number, label in enumerate(classes)}
    for example, label in zip(examples, found, strict=True):
        if label not in index:
            known = ", ".join(map(str, classes))
            raise DataError(f"{what} example {example.id!r} has label {label!r}, which is not to be learned: {known}")
    return torch.tensor([index[label] for label in found])


def _numbers(found: Sequence[_Label], what: str) -> Tensor:
    try:
        numbers = torch.tensor([float(label) for label in found], dtype=torch.float32)
    except ValueError as error:
        raise DataError(f"the training labels are numbers, but not all {what} labels are: {error}") from error
    if not bool(numbers.isfinite().all()):
        raise DataError(f"not all {what} labels are finite")
    if len(set(numbers.tolist())) < 2:
        raise DataError(f"the {what} labels are all the same number; how well it is predicted cannot be told")
    return numbers


def _accuracy(logits: Tensor, targets: Tensor) -> float:
    return float((logits.argmax(-1) == targets).double().mean())


def _macro_f1(logits: Tensor, targets: Tensor) -> float:
    return float(f1_score(targets.numpy(), logits.argmax(-1).numpy(), average="macro", zero_division=0))


def _pearson(logits: Tensor, targets: Tensor) -> float:
    """The correlation; 0 for predictions that are all the same."""
    predicted = logits.squeeze(-1).double().numpy()
    return float(np.corrcoef(predicted, targets.numpy())[0, 1]) if np.ptp(predicted) > 0 else 0.0


SCORES: Mapping[str, Callable[[Tensor, Tensor], float]] = MappingProxyType(
    {"accuracy": _accuracy, "macro_f1": _macro_f1, "pearson": _pearson}
)
"""Dev scores of logits [N, C] against targets [N]; higher is better."""
