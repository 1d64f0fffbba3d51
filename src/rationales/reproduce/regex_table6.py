"""Table 6 of the paper on REGEX: what an attack by contractions, names, places and numbers does.

The paper attacks 400 reviews of IMDB with the lists of another tool, and does not say how many edits a text may have;
here it is five. Sentences of SST-2 have less in them to edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from rationales.attack import attack
from rationales.reproduce.regex_training import DATA, Job, row, sample, splits, table_of_one_measure
from rationales.reproduce.tables import Found
from rationales.results import Row

ATTACKED = {"sst2": 500, "imdb": 200}
"""Texts of each test set."""
SHARES = ("accuracy", "accuracy_under_attack", "success_rate", "words_changed_flipped", "words_changed")
PUBLISHED = {
    "baseline": (96.0, 84.8, 11.71, 27.02, None, 339.69),
    "REGEX": (93.0, 90.0, 3.23, 39.06, None, 408.47),
}
"""Shares in per cent, and queries, on IMDB (Li et al., 2023, Table 6). Its tool counts words of successful attacks."""


def attacked(job: Job) -> Found:
    """What an attack does to a sample of the test set."""
    model = job.trained()
    *_, test = splits(job.data, job.data_dir)
    (figures,) = attack({job.name: model}, sample(test, ATTACKED[job.data])).figures
    return [job.entry(job.data, **asdict(figures))]


def attack_rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means over seeds, shares in per cent."""
    table = []
    for data, name in dict.fromkeys((entry["data"], entry["name"]) for entry in found):
        own = [entry for entry in found if (entry["data"], entry["name"]) == (data, name)]
        for metric, paper in zip((*SHARES, "queries"), PUBLISHED[name], strict=True):
            values = [entry[metric] * (100 if metric in SHARES else 1) for entry in own if not isnan(entry[metric])]
            if not values:  # there was no successful attack
                continue
            known = {"method": name, "train": data, "data": data, "paper": paper if data == "imdb" else None}
            table.append(row(metric.replace("_flipped", " where it flipped").replace("_", " "), values, **known))
    return table


table_of_one_measure(
    "regex-table6", "An attack on classifiers, with and without REGEX.", attacked, attack_rows, (DATA, "imdb")
)
