"""Table 3 of the paper on AREC: accuracy, and whether AREC's links are those that people would draw.

Its human judgements of HANS cannot be repeated. e-SNLI has its highlights of a part of the pairs here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rationales.data import Dataset, Example, gold_alignment, gold_selection
from rationales.explainers import Arec
from rationales.guidance import accuracy
from rationales.metrics import metrics
from rationales.reproduce.arec_models import KINDS, PUBLISHED, sample, test_set, trained
from rationales.reproduce.arec_table1 import explained
from rationales.reproduce.products import quick_products
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.results import Row

MARKED = ("iou_f1", "token_f1")
LINKED = ("largest_alignment_f1", "alignment_included", "alignment_recall")


@quick_products()
def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Everything about one model."""
    model = trained(part, options)  # type: ignore[arg-type]
    found: Found = []

    def note(data: str, metric: str, values: float | Sequence[float], n: int) -> None:
        mean = 100 * (values if isinstance(values, float) else float(np.nanmean(values)))
        found.append({"model": part, "data": data, "metric": metric, "mean": mean, "n": n})
        report(f"{part}: {data} {metric} {mean:.2f}")

    for name in ("snli", "bnli"):
        data = test_set(name, options)
        reached = accuracy(model, data)
        total = sum(reached.counts.values())
        right = sum(reached.shares[group] * count for group, count in reached.counts.items())
        note(name, "accuracy", right / total, total)
    hans = accuracy(model, test_set("hans", options))
    for (_, label), share in hans.shares.items():
        note(f"hans, {label}", "accuracy", share, hans.counts["", label])

    marked = _contradictions(test_set("esnli", options))
    explanations = explained(model, marked, Arec(level="word"))
    gold = [gold_selection(example) for example in marked]
    for metric in MARKED:
        note("esnli, contradiction", metric, metrics[metric](model, explanations, gold).tolist(), len(marked))

    linked = sample(example for example in test_set("bnli", options) if example.alignment)
    explanations = explained(model, linked, Arec(level="word"))
    gold = [gold_alignment(example) for example in linked]
    for metric in LINKED:
        note("bnli", metric, metrics[metric](model, explanations, gold).tolist(), len(linked))
    return found


def _contradictions(data: Dataset) -> list[Example]:
    assert data.labels is not None
    wanted = data.labels.index("contradiction")
    return [example for example in data if example.label == wanted and example.rationale and any(example.rationale)]


_PAPER = {
    ("snli", "accuracy"): (85.04, 87.78, 90.27),
    ("esnli, contradiction", "iou_f1"): (27.62, 20.44, 30.24),
    ("esnli, contradiction", "token_f1"): (54.45, 44.57, 60.52),
    ("bnli", "accuracy"): (48.82, 67.09, 95.40),
    ("bnli", "largest_alignment_f1"): (35.04, 49.90, 64.05),
    ("bnli", "alignment_included"): (66.58, 83.11, 89.50),
    ("bnli", "alignment_recall"): (71.86, 89.01, 93.11),
    ("hans, entailment", "accuracy"): (96.94, 99.35, 99.56),
    ("hans, non-entailment", "accuracy"): (2.47, 1.51, 16.59),
}
"""Of DA, ESIM and BERT-base in per cent (Jiang et al., 2021, Table 3)."""


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Beside what was published."""
    table = []
    for entry in found:
        then = _PAPER[entry["data"], entry["metric"]][KINDS.index(entry["model"])]
        explainer = None if entry["metric"] == "accuracy" else "arec"
        table.append(
            Row(
                entry["metric"],
                entry["mean"],
                model=entry["model"],
                data=entry["data"],
                explainer=explainer,
                n=entry["n"],
                paper=then,
                note=f"the paper's model: {PUBLISHED[entry['model']]}",
            )
        )
    return table


tables("arec-table3")(
    Table("arec-table3", "Whether AREC's links are those that people would draw.", KINDS, compute, rows, seeds=(1,))
)
