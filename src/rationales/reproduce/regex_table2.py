"""Table 2 of the paper on REGEX: classifiers of rationales alone (FRESH), of SST-2, by the models of table 1.

They are also asked about rationales of 500 texts of other data, which neither they nor the model that is explained ever
saw. A fifth of each text's words stays; the paper keeps 2 % of IMDB and 10 % of Yelp. All layers of the new classifier
have one rate, where the head of the models of table 1 has twice that of the encoder. What the paper prints for
integrated gradients with REGEX is, in every row, what it prints for input × gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rationales.data import Example
from rationales.explainers import explainers
from rationales.reproduce.regex_table1 import ATTRIBUTIONS, TESTS
from rationales.reproduce.regex_training import MEASURED, Job, row, sample, splits, table_of_one_measure
from rationales.reproduce.tables import Found
from rationales.results import Row
from rationales.train import fresh

FRESH = tuple(name for name in ATTRIBUTIONS if name != "random")
RATIO = 0.2
_PAPER = """
sst2 88.9(87.7) 83.0(81.1) 87.3(84.4) 77.8(76.3) 77.8(76.8)
imdb 86.3(81.8) 65.3(52.6) 81.1(64.0) 53.2(55.0) 53.2(56.3)
yelp 90.2(88.1) 76.5(72.6) 80.4(75.4) 64.4(59.6) 64.4(63.9)
"""
"""Test data, and macro-F1 in percent of each of `FRESH` with REGEX (baseline) (Li et al., 2023, Table 2)."""


def published() -> dict[tuple[str, str, str], float]:
    """By test data, name and attribution."""
    known = {}
    for line in _PAPER.strip().splitlines():
        data, *cells = line.split()
        for attribution, cell in zip(FRESH, cells, strict=True):
            ours, baseline = cell.rstrip(")").split("(")
            known[data, "REGEX", attribution], known[data, "baseline", attribution] = float(ours), float(baseline)
    return known


def fresh_f1(job: Job) -> Found:
    """Macro-F1 of a classifier of rationales, for each attribution and on each test set.

    And how often it says the class that the rationale was made for, which was not yet kept when the table was measured.
    """
    model = job.trained()
    training, dev, own = splits(job.data, job.data_dir)
    tests: dict[str, Iterable[Example]] = {job.data: own}
    for other in TESTS[job.data][1:]:
        *_, test = splits(other, job.data_dir)
        tests[other] = sample(test, MEASURED)
    found = []
    for attribution in FRESH:
        config = fresh.Config(
            Path(f"{job.config.out}-fresh") / attribution,
            encoder=job.config.encoder,
            epochs=job.config.epochs,
            max_length=job.config.max_length,
            ratio=RATIO,
            seeds=(job.config.seed,),
            overwrite=job.config.overwrite,
        )
        explainer = explainers[attribution](**ATTRIBUTIONS[attribution])
        result = fresh.train(config, training, dev, tests, model=model, method=explainer, labels=training.labels)
        found += [
            job.entry(name, explainer=attribution, macro_f1=figures.mean, agreement=result.agreement[name].mean)
            for name, figures in result.tests.items()
        ]
    return found


def fresh_rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """In percent, beside what was published."""
    paper, table = published(), []
    for key in dict.fromkeys((entry["data"], entry["name"], entry["explainer"]) for entry in found):
        own = [entry for entry in found if (entry["data"], entry["name"], entry["explainer"]) == key]
        data, name, explainer = key
        known = {"method": name, "explainer": explainer, "train": own[0]["train"], "data": data}
        values = [100 * entry["macro_f1"] for entry in own]
        table.append(row("macro F1 of rationales", values, **known, paper=paper.get(key)))
        if all("agreement" in entry for entry in own):
            table.append(row("agreement with what is explained", [100 * entry["agreement"] for entry in own], **known))
    return table


table_of_one_measure(
    "regex-table2", "Classifiers of rationales alone (FRESH), with and without REGEX.", fresh_f1, fresh_rows
)
