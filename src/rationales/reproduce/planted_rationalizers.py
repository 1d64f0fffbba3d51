"""RNP and VER on planted reviews, whose rationales are known because we put them there: no data are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.models.loading import checked_device
from rationales.reproduce.rationalizers import Run, rows_beside, trained_and_scored
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.results import Row
from rationales.train.labels import read_task
from rationales.train.rationalizers import ver

NAME = "planted-rationalizers"
METHODS = {"RNP": 0.0, "VER": 0.3}
SIZES = {"train": 8000, "dev": 500, "test": 1000}


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure RNP and VER, all seeds together; word vectors are learned with the networks."""
    train, dev, test = (reviews(size, seed=seed) for seed, size in enumerate(SIZES.values()))
    runs = [
        Run(
            name,
            part,
            ver.Config(
                out=Path(NAME),
                batch_size=64,
                learning_rate=0.0005,
                sparsity=0.022,
                sparsity_weight=3.0,
                continuity_weight=0.05,
                max_length=128,
                perturb=share,
                seed=seed,
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
        updates=options.updates or 6000,
        every=100,
        balance=False,
        device=str(checked_device(options.device or None)),
        report=report,
    )


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means and standard deviations over seeds, in percent."""
    return rows_beside(found, "")


tables(NAME)(Table(NAME, "RNP and VER on planted reviews; needs no data.", ("reviews",), compute, rows))
