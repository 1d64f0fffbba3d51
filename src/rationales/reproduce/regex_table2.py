"""Table 2 of the paper on REGEX: classifiers of rationales alone (FRESH), on SST-2, by the models of table 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rationales.explainers import explainers
from rationales.reproduce.regex_table1 import ATTRIBUTIONS
from rationales.reproduce.regex_training import DATA, Job, row, splits, table_of_one_measure
from rationales.reproduce.tables import Found
from rationales.results import Row
from rationales.train import fresh

FRESH = ("scaled_attention", "attention", "deeplift", "input_x_gradient")
RATIO = 0.2
_FRESH_PAPER = {
    "REGEX": (89.7, 88.9, 83.0, 87.3, 77.8),
    "baseline": (90.1, 87.7, 81.1, 84.4, 76.3),
}
"""Macro-F1 of the full text, then of `FRESH`, in percent, as published (Li et al., 2023, Table 2)."""


def fresh_f1(job: Job) -> Found:
    """Macro-F1 of a classifier of rationales, for each attribution, on the test set."""
    model = job.trained()
    training, dev, test = splits(job.data, job.data_dir)
    found = []
    for name in FRESH:
        config = fresh.Config(
            Path(f"{job.config.out}-fresh") / name,
            encoder=job.config.encoder,
            epochs=job.config.epochs,
            max_length=job.config.max_length,
            ratio=RATIO,
            seeds=(job.config.seed,),
            overwrite=job.config.overwrite,
        )
        result = fresh.train(config, training, dev, test, model=model, method=explainers[name](**ATTRIBUTIONS[name]))
        assert result.test is not None
        found.append(job.entry(job.data, explainer=name, macro_f1=result.test.mean))
    return found


def fresh_rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """In percent, beside what was published."""
    table = []
    for name, explainer in dict.fromkeys((entry["name"], entry["explainer"]) for entry in found):
        values = [100 * e["macro_f1"] for e in found if (e["name"], e["explainer"]) == (name, explainer)]
        then = _FRESH_PAPER[name][1 + FRESH.index(explainer)]
        known = {"method": name, "explainer": explainer, "train": DATA, "data": DATA}
        table.append(row("macro F1 of rationales", values, **known, paper=then))
    return table


table_of_one_measure(
    "regex-table2", "Classifiers of rationales alone (FRESH), with and without REGEX.", fresh_f1, fresh_rows
)
