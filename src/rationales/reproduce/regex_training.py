"""What tables about REGEX have in common: classifiers trained with and without it, on one data set and several seeds.

What differs from the paper: the encoder is what is given (BERT-base there); Yelp and Amazon are smaller sets, Prime
Pantry is missing; few texts of each test set are explained; a training has fewer epochs at five times the learning rate
of the encoder, in batches of 32, and guidance by two points of integrated gradients; on an accelerator matrices are
multiplied in TF32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import t

from rationales.data import Dataset, Example, load
from rationales.models import TransformersClassifier
from rationales.models.loading import checked_device
from rationales.reproduce.products import quick_products
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.reproduce.trainings import Training, for_each
from rationales.results import Row
from rationales.train import regex

MEASURED, ELSEWHERE = 500, 200
"""Texts of a test set that are explained, and of one from elsewhere than the training data."""
LENGTH = 256

REVIEWS, AMAZON = ("sst2", "imdb", "yelp"), ("amazon-digital-music", "amazon-musical-instruments")
EPOCHS = {"sst2": 5, "imdb": 1, "yelp": 2, "amazon-digital-music": 5, "amazon-musical-instruments": 5}

DATA = "sst2"
"""What most tables are of."""

Kinds: TypeAlias = Mapping[str, Mapping[str, Any]]
PUBLISHED = {"gradient_weight": 0.01, "adversarial_weight": 0.5, "site": "output", "size": 1.0}
"""The weights of the paper; and what is perturbed as in programs that it builds on, in units of its magnitude."""
BASELINE = {**PUBLISHED, "gradient_weight": 0.0, "adversarial_weight": 0.0, "guidance_weight": 0.0}
REGEX = {"gradient_weight": 0.1, "adversarial_weight": 4.0, "site": "word", "size": 0.25}
"""Chosen on dev data, see `regex_settings.py`."""
REGEX_LIGHTER = {**REGEX, "gradient_weight": 0.01}
"""With the published weight of the gradient: what `rationales train regex` does by default."""
REGEX_STRONGER = {**REGEX, "size": 0.5}
"""Words perturbed twice as far: on dev data more comprehensiveness, of all attributions, for less sufficiency."""


class Job(Training[regex.Config]):
    """A classifier, with or without REGEX."""

    def trained(self) -> TransformersClassifier:
        """The model; it is trained unless it was before."""
        training, dev, _ = splits(self.data, self.data_dir)
        directory = regex.train(self.config, training, dev)
        return TransformersClassifier.from_pretrained(directory, device=self.device, max_length=self.config.max_length)

    def entry(self, data: str, **figures: Any) -> dict[str, Any]:
        """What was found on some test data, with all that tells this training from others."""
        return {"name": self.name, "train": self.data, "data": data, "seed": self.config.seed, **figures}


Measure: TypeAlias = Callable[[Job], Found]


def kinds_of(train: str) -> Kinds:
    """With and without REGEX, set as it was chosen on dev data like these.

    Where most texts have the same label, terms heavier than the published ones cost macro-F1.
    """
    return {"baseline": BASELINE, "REGEX": PUBLISHED if train in AMAZON else REGEX}


def splits(name: str, data_dir: str) -> tuple[Dataset, Dataset, Dataset]:
    """Train, dev and test; what comes without a dev split gives a part of train."""

    def opened(split: str) -> Dataset:
        return load(name, split=split, data_dir=data_dir or None)

    if name == "imdb":
        whole = opened("train")
        return whole.folds(range(8)), whole.folds([8]), whole.folds([9])
    if name == "yelp":
        whole = opened("train")
        return whole.folds(range(9)), whole.folds([9]), opened("test")
    return opened("train"), opened("dev"), opened("test")


def sample(examples: Iterable[Example], size: int = MEASURED) -> list[Example]:
    """At most so many of them, the same each time."""
    whole = list(examples)
    return [whole[place] for place in np.random.default_rng(0).permutation(len(whole))[:size]]


def jobs(kinds: Kinds, train: str, options: Options) -> list[Job]:
    """A training for each kind and seed; tables that want the same one share it."""
    device = str(checked_device(options.device or None))
    folder = Path(options.models or Path(options.out) / "models") / f"regex-{train}"
    return [
        Job(
            name,
            regex.Config(
                folder / f"{name.replace(' ', '-')}-{seed}",
                encoder=options.encoder,
                epochs=EPOCHS[train],
                learning_rate=5e-5,
                head_learning_rate=1e-4,
                metric="macro_f1",
                max_length=LENGTH,
                seed=seed,
                overwrite=options.overwrite,
                **changes,
            ),
            train,
            options.data_dir,
            device,
        )
        for name, changes in kinds.items()
        for seed in options.seeds
    ]


def measured(
    measure: Measure, todo: Sequence[Job], folder: Path, options: Options, report: Callable[[str], None]
) -> Found:
    """What `measure` finds in each training, in their order; several at once if there are workers for them."""
    found = for_each(partial(_quickly, measure), todo, folder, options.workers, report)
    return [entry for entries in found for entry in entries]


def _quickly(measure: Measure, job: Job) -> Found:
    with quick_products():
        return measure(job)


def row(metric: str, values: Sequence[float], *, apart: bool = True, **known: Any) -> Row:
    """Mean and standard deviation over seeds; and the margin of the mean (Student's t), if the values stand `apart`."""
    count = len(values)
    spread = float(np.std(values, ddof=1)) if count > 1 else None
    margin = None if spread is None or not apart else float(t.ppf(0.975, count - 1)) * spread / math.sqrt(count)
    return Row(metric, float(np.mean(values)), std=spread, n=count, margin=margin, **known)


def table_of_one_measure(
    name: str,
    about: str,
    measure: Measure,
    rows: Callable[[Found], Sequence[Row]],
    parts: Sequence[str] = (DATA,),
) -> None:
    """Register a table of one measure, with and without REGEX, with a part for each training set."""

    def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
        return measured(measure, jobs(kinds_of(part), part, options), options.folder(name, part), options, report)

    tables(name)(Table(name, about, tuple(parts), compute, rows))
