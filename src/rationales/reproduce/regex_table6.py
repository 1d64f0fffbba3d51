"""Table 6 of the paper on REGEX: what an attack by contractions, names, places and numbers does, on SST-2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rationales.attack import attack
from rationales.reproduce.regex_training import DATA, Job, row, sample, splits, table_of_sst2
from rationales.reproduce.tables import Found
from rationales.results import Row


def attacked(job: Job) -> Found:
    """What an attack does to a sample of the test set."""
    model = job.trained()
    *_, test = splits(job.train, job.data_dir)
    (figures,) = attack({job.name: model}, sample(test)).figures
    return [job.entry(job.train, **asdict(figures))]


def attack_rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means over seeds."""
    table = []
    for name in dict.fromkeys(entry["name"] for entry in found):
        own = [entry for entry in found if entry["name"] == name]
        for metric in ("accuracy", "accuracy_under_attack", "success_rate", "words_changed", "queries"):
            values = [entry[metric] for entry in own]
            table.append(row(metric.replace("_", " "), values, method=name, train=DATA, data=DATA))
    return table


table_of_sst2("regex-table6", "An attack on classifiers, with and without REGEX.", attacked, attack_rows)
