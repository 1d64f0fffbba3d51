"""RNP and VER on planted reviews, whose rationales are known because we put them there: no data are needed.

reviews          GRUs on word vectors that are learned with them
reviews-encoder  a pretrained encoder of Transformers; without --encoder, the embedded MiniLM
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rationales.data.planted import REVIEW_LABELS, Planted, reviews
from rationales.errors import InputError
from rationales.models import embedded_encoder
from rationales.models.loading import checked_device
from rationales.reproduce.rationalizers import Run, rows_beside, trained_alone, trained_and_scored
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.reproduce.trainings import Training, for_each
from rationales.results import Row
from rationales.train.labels import read_task
from rationales.train.rationalizers import ver

NAME, REVIEWS = "planted-rationalizers", "reviews"
METHODS = {"RNP": 0.0, "VER": 0.3}
SIZES = {"train": 8000, "dev": 1000, "test": 1000}
UPDATES = 3000
"""Of GRUs. In two thirds of them the wanted share falls from all tokens to that of planted words, text by text: asked
of a batch, it leaves room for a code, nothing for one class and twice as much for the other."""
EPOCHS, NARROWING = 12, 1000
"""Of a training with an encoder; without narrowing, predictors were seen to learn nothing."""
WANTED: dict[str, Any] = {"sparsity": 0.022, "continuity_weight": 0.05, "max_length": 128}


def texts() -> tuple[Planted, Planted, Planted]:
    """Train, dev and test."""
    train, dev, test = (reviews(size, seed=seed) for seed, size in enumerate(SIZES.values()))
    return train, dev, test


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure RNP and VER."""
    return _together(part, options, report) if part == REVIEWS else _one_by_one(part, options, report)


def _together(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """All seeds at once."""
    train, dev, test = texts()
    updates = options.updates or UPDATES
    runs = [
        Run(
            name,
            part,
            ver.Config(
                Path(NAME),
                batch_size=64,
                learning_rate=0.0005,
                sparsity_weight=10.0,
                sparsity_ratio="text",
                narrowing=2 * updates // 3,
                perturb=share,
                seed=seed,
                **WANTED,
            ),
        )
        for name, share in METHODS.items()
        for seed in options.seeds
    ]
    return trained_and_scored(
        "ver",
        runs,
        {part: read_task(train, dev, REVIEW_LABELS)},
        {part: list(test)},
        updates=updates,
        every=100,
        balance=False,
        device=str(checked_device(options.device or None)),
        report=report,
    )


def _one_by_one(part: str, options: Options, report: Callable[[str], None]) -> Found:
    if options.updates:
        raise InputError(f"{part} goes through its data {EPOCHS} times; --updates has no meaning there")
    device, folder = checked_device(options.device or None), options.folder(NAME, part)
    todo = [
        Training(
            name,
            ver.Config(
                folder / f"{name}-{seed}",
                encoder=options.encoder or str(embedded_encoder()),
                epochs=EPOCHS,
                batch_size=64,
                learning_rate=0.0005,
                encoder_learning_rate=5e-5,
                sparsity_weight=3.0,
                narrowing=NARROWING,
                perturb=share,
                seed=seed,
                precision="bf16" if device.type == "cuda" else "no",
                **WANTED,
            ),
            part,
            options.data_dir,
            str(device),
        )
        for name, share in METHODS.items()
        for seed in options.seeds
    ]
    return for_each(_measured, todo, folder, options.workers, report)


def _measured(job: Training[ver.Config]) -> dict[str, Any]:
    train, dev, test = texts()
    found = trained_alone("ver", job.config, train, dev, list(test), job.device, REVIEW_LABELS)
    return {"name": job.name, "data": job.data, **found}


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means and standard deviations over seeds, in percent."""
    return rows_beside(found, "")


tables(NAME)(
    Table(NAME, "RNP and VER on planted reviews; needs no data.", (REVIEWS, f"{REVIEWS}-encoder"), compute, rows)
)
