"""Table 3 of the paper on VER: questions and claims with a document, by a pretrained encoder.

The question or claim is always seen; tokens are selected from the document. The paper's encoder is bert-base-uncased.
MultiRC is a fifth of the published training data here; FEVER has none, so its dev set is split into train and dev. From
so few texts no choice forms at the published rates: the predictor never learns to read a fifth of a document, chosen
at random. So the rates are higher here, and at first all is shown (`narrowing`). That does not suffice:
before a predictor has learned to read a document, most of it is hidden, and then it knows the claims by heart. In parts
that end in `-tuned`, both players begin as an encoder that was fine-tuned as a classifier of both texts; the predictor
goes by the first token, as that one did, and learns more slowly than the selector. The share is asked of each text:
otherwise all is chosen of one and nothing of another, which tells the label.

The controls are plain classifiers of the question or claim alone, which no selection can tell from a rationalizer that
makes no use of its document, and of both texts whole, which says what there is to be had from the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rationales.data import Dataset, Example, load
from rationales.errors import InputError
from rationales.models import TransformersClassifier
from rationales.models.loading import checked_device
from rationales.reproduce.rationalizers import best_score, rows_beside, trained_alone
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.reproduce.trainings import Training, answered, for_each
from rationales.results import Row
from rationales.train import classifier
from rationales.train.rationalizers import rationalizers
from rationales.train.rationalizers.game import GameConfig

DATA = ("multirc", "fever")
CONTROLS, TUNED = "-controls", "-tuned"
METHODS = {"RNP": "rnp", "VER": "ver"}
FROM_CLASSIFIER = {f"{name}, from a classifier": method for name, method in METHODS.items()}
SLOWER = {"epochs": 24, "pooling": "first", "predictor_rate": 0.1, "sparsity_ratio": "text"}
"""What differs for those."""
SEEN = {"first text alone": 1, "both texts": 2}
"""Controls, and how many texts of a pair they see."""
EPOCHS, NARROWING, BATCH, LENGTH = 12, 800, 32, 512

_PAPER = """
multirc A2R 20.0 66.1 18.5 21.9 19.3
multirc NIR 20.0 66.4 22.6 26.9 23.8
multirc VER 19.2 67.1 24.5 23.8 24.1
fever A2R 20.0 82.1 36.3 44.0 36.7
fever NIR 20.0 78.2 39.0 47.2 39.5
fever VER 22.5 82.1 40.1 40.8 40.4
"""
"""Data, method, S, accuracy, precision, recall and F1 in percent, as published (Liu et al., 2025, Table 3)."""


Job: TypeAlias = Training[GameConfig | classifier.Config]


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure RNP and VER, or the controls, on one data set."""
    if not options.encoder:
        raise InputError("ver-table3 needs a pretrained encoder, such as --encoder bert-base-uncased")
    if options.updates:
        raise InputError("ver-table3 goes through its data several times; --updates has no meaning there")
    folder, data = options.folder("ver-table3", part), part.removesuffix(CONTROLS).removesuffix(TUNED)
    device = checked_device(options.device or None)
    common: dict[str, Any] = {
        "encoder": options.encoder,
        "batch_size": BATCH,
        "max_length": LENGTH,
        "precision": "bf16" if device.type == "cuda" else "no",
        "overwrite": options.overwrite,
    }
    configs: dict[str, Callable[[Path, int], GameConfig | classifier.Config]]
    if part.endswith(CONTROLS):
        configs = dict.fromkeys(SEEN, lambda out, seed: classifier.Config(out, seed=seed, **common))
    else:
        names, changes = (FROM_CLASSIFIER, SLOWER) if part.endswith(TUNED) else (METHODS, {})
        own = {**common, "epochs": EPOCHS, **changes}
        configs = {name: partial(_game, rationalizers[method].Config, own) for name, method in names.items()}
    todo = [
        Job(name, make(folder / f"{name.replace(' ', '-')}-{seed}", seed), data, options.data_dir, str(device))
        for name, make in configs.items()
        for seed in options.seeds
    ]

    return for_each(_control if part.endswith(CONTROLS) else _measured, todo, folder, options.workers, report)


def _game(config: type[GameConfig], common: Mapping[str, Any], out: Path, seed: int) -> GameConfig:
    return config(
        out,
        seed=seed,
        learning_rate=1e-3,
        encoder_learning_rate=5e-5,
        whole="first",
        sparsity=0.2,
        narrowing=NARROWING,
        sparsity_weight=5.0,
        continuity_weight=2.5,
        **common,
    )


def _measured(job: Job) -> dict[str, Any]:
    assert isinstance(job.config, GameConfig)
    training, dev = _splits(job.data, job.data_dir)
    test = list(load(job.data, split="test", data_dir=job.data_dir or None))
    config = job.config
    if job.name in FROM_CLASSIFIER:
        config = replace(config, encoder=str(_tuned(config, training, dev)))
    found = trained_alone({**METHODS, **FROM_CLASSIFIER}[job.name], config, training, dev, test, job.device)
    return {"name": job.name, "data": job.data, **found}


def _tuned(game: GameConfig, training: Dataset, dev: Dataset) -> Path:
    """A classifier of both texts, of the encoder and the seed of a game."""
    same = {name: getattr(game, name) for name in ("encoder", "batch_size", "max_length", "precision", "seed")}
    config = classifier.Config(Path(f"{game.out}-classifier"), overwrite=game.overwrite, **same)
    return classifier.train(config, training, dev, labels=training.labels)


def _control(job: Job) -> dict[str, Any]:
    assert isinstance(job.config, classifier.Config)

    def seen(examples: Iterable[Example]) -> list[Example]:
        return [Example(one.id, one.texts[: SEEN[job.name]], label=one.label) for one in examples]

    training, dev = _splits(job.data, job.data_dir)
    path = classifier.train(job.config, seen(training), seen(dev), labels=training.labels)
    model = TransformersClassifier.from_pretrained(path, device=job.device, max_length=LENGTH)
    test = seen(load(job.data, split="test", data_dir=job.data_dir or None))
    right = [said == one.label for said, one in zip(answered(model, test), test, strict=True)]
    entry = {"name": job.name, "data": job.data, "seed": job.config.seed}
    return {**entry, "accuracy": float(np.mean(right)), "dev_accuracy": best_score(path)}


def _splits(part: str, data_dir: str) -> tuple[Dataset, Dataset]:
    folder = data_dir or None
    if part == "multirc":
        return load(part, split="train", data_dir=folder), load(part, split="dev", data_dir=folder)
    whole = load(part, split="dev", data_dir=folder)
    return whole.folds(range(8)), whole.folds([8, 9])


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means and standard deviations over seeds, in percent, beside what was published."""
    return rows_beside(found, _PAPER)


tables("ver-table3")(
    Table(
        "ver-table3",
        "Rationalizers with a pretrained encoder on MultiRC and FEVER (VER).",
        tuple(f"{data}{kind}" for kind in ("", TUNED, CONTROLS) for data in DATA),
        compute,
        rows,
    )
)
