"""Table 3 of the paper on VER: questions and claims with a document, by a pretrained encoder.

The question or claim is always seen; tokens are selected from the document. The paper's encoder is bert-base-uncased.
MultiRC is a fifth of the published training data here; FEVER has none, so its dev set is split into train and dev. With
so few texts, epochs and learning rates as published are too few updates for a choice to form: there are more of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rationales.data import Dataset, load
from rationales.errors import InputError
from rationales.models.loading import checked_device
from rationales.models.rationalizer import Rationalizer
from rationales.reproduce.rationalizers import marked_share, rows_beside, scored, texts_to_test
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.reproduce.trainings import for_each
from rationales.results import Row
from rationales.train.rationalizers import rationalizers, train
from rationales.train.rationalizers.game import GameConfig

PARTS = ("multirc", "fever")
METHODS = {"RNP": "rnp", "VER": "ver"}
EPOCHS, BATCH, LENGTH = 30, 32, 512

_PAPER = """
multirc A2R 20.0 66.1 18.5 21.9 19.3
multirc NIR 20.0 66.4 22.6 26.9 23.8
multirc VER 19.2 67.1 24.5 23.8 24.1
fever A2R 20.0 82.1 36.3 44.0 36.7
fever NIR 20.0 78.2 39.0 47.2 39.5
fever VER 22.5 82.1 40.1 40.8 40.4
"""
"""Data, method, S, accuracy, precision, recall and F1 in percent, as published (Liu et al., 2025, Table 3)."""


class Job(NamedTuple):
    """One training and what it is measured on."""

    name: str
    config: GameConfig
    data: str
    data_dir: str
    device: str

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from others."""
        return {"name": self.name, "data": self.data, **self.config.choices()}


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure RNP and VER on one data set."""
    if not options.encoder:
        raise InputError("ver-table3 needs a pretrained encoder, such as --encoder bert-base-uncased")
    if options.updates:
        raise InputError(f"ver-table3 goes through its data {EPOCHS} times; --updates has no meaning there")
    device = checked_device(options.device or None)
    folder = options.folder("ver-table3", part)
    todo = []
    for name, method in METHODS.items():
        for seed in options.seeds:
            config = rationalizers[method].Config(
                out=folder / f"{method}-{seed}",
                encoder=options.encoder,
                epochs=EPOCHS,
                batch_size=BATCH,
                learning_rate=1e-3,
                encoder_learning_rate=5e-5,
                max_length=LENGTH,
                whole="first",
                sparsity=0.2,
                sparsity_weight=5.0,
                continuity_weight=2.5,
                seed=seed,
                precision="bf16" if device.type == "cuda" else "no",
                overwrite=options.overwrite,
            )
            todo.append(Job(name, config, part, options.data_dir, str(device)))

    return for_each(
        _measured,
        todo,
        folder,
        options.workers,
        lambda job: report(f"{part}: {job.name}, seed {job.config.seed}, is done"),
    )


def _measured(job: Job) -> dict[str, Any]:
    method, seed = METHODS[job.name], job.config.seed
    path = train(method, job.config, *_splits(job.data, job.data_dir))
    record = json.loads((path / "rationales.json").read_text(encoding="utf-8"))
    model = Rationalizer.from_pretrained(path, device=job.device)
    texts = texts_to_test(model, list(load(job.data, split="test", data_dir=job.data_dir or None)))
    entry = {"name": job.name, "data": job.data, "seed": seed, "marked": marked_share(texts)}
    entry |= scored(model, texts)._asdict()
    model.sampling, model.seed = "gumbel", seed
    return {**entry, "by_chance": scored(model, texts)._asdict(), "dev_accuracy": record["best_score"]}


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
        PARTS,
        compute,
        rows,
    )
)
