"""Table 3 of the paper on REGEX: how alike scaled attention is between seeds, and to that of an untrained model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from rationales.explanation.types import Selection
from rationales.explanation.views import top
from rationales.models import embedded_encoder
from rationales.models.untrained import untrained
from rationales.reproduce.regex_training import DATA, Job, row, sample, splits, table_of_one_measure
from rationales.reproduce.tables import Found
from rationales.results import Row
from rationales.run import explain

UNTRAINED = "untrained"
SHARE = 0.25


def best_tokens(job: Job) -> Found:
    """The best quarter of each test text's tokens by scaled attention; of the baseline also untrained."""
    model = job.trained()
    models = {job.name: model}
    if job.name == "baseline":
        models[UNTRAINED] = untrained(model, job.config.encoder or embedded_encoder(), seed=job.config.seed)
    *_, test = splits(job.data, job.data_dir)
    examples, found = sample(test), []
    for name, one in models.items():
        chosen = []
        for explanation in explain(one, examples, "scaled_attention"):
            body = top(explanation, fraction=SHARE).body
            assert isinstance(body, Selection)
            chosen.append(np.flatnonzero(body.keep).tolist())
        found.append({**job.entry(job.data, chosen=chosen), "name": name})
    return found


def stability_rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Mean Jaccard between the seeds of each kind, and between each seed and the models that were never trained.

    Its standard deviation is over pairs of models, of which each is in several.
    """
    table = []
    never = [entry for entry in found if entry["name"] == UNTRAINED]
    for name in dict.fromkeys(entry["name"] for entry in found if entry["name"] != UNTRAINED):
        own = [entry for entry in found if entry["name"] == name]
        known = {"method": name, "explainer": "scaled_attention", "train": DATA, "data": DATA}
        between = [_jaccard(one["chosen"], other["chosen"]) for one, other in combinations(own, 2)]
        beside = [_jaccard(one["chosen"], other["chosen"]) for one in own for other in never]
        if between:
            note = "published: .41 to .56" if name == "REGEX" else "published: .33 to .44"
            table.append(row("Jaccard between seeds", between, apart=False, **known, note=note))
        note = "published: .12 to .28" if name == "REGEX" else "published: .16 to .27"
        table.append(row("Jaccard with untrained", beside, apart=False, **known, note=note))
    return table


def _jaccard(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    """|A ∩ B| / |A ∪ B|, averaged over texts."""
    pairs = [(set(a), set(b)) for a, b in zip(one, other, strict=True)]
    return float(np.mean([len(a & b) / len(a | b) for a, b in pairs if a | b]))


table_of_one_measure(
    "regex-table3", "How alike attributions are between seeds, with and without REGEX.", best_tokens, stability_rows
)
