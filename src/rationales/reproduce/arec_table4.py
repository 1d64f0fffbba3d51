"""Table 4 of the paper on AREC: HANS with and without guided alignments, for three models, without retraining.

Roles are read off a dependency parse, where the paper has a semantic role labeller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rationales.guidance import RoleGuide, SpacyLabeller, accuracy
from rationales.models.guiding import Guide
from rationales.reproduce.arec_models import KINDS, PUBLISHED, test_set, trained
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.results import Row

GUIDES = ("none", "roles")
AVERAGE = "average"


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """One model, guided and not."""
    model = trained(part, options)  # type: ignore[arg-type]
    data = test_set("hans", options)
    labeller = SpacyLabeller()
    labeller.read_ahead({text for example in data for text in example.texts})
    guides: dict[str, Guide | None] = {"none": None, "roles": RoleGuide(labeller)}
    found: Found = []
    for name in GUIDES:
        reached = accuracy(model, data, guides[name], groups="heuristic")
        groups = {f"{label}, {heuristic}": share for (heuristic, label), share in reached.shares.items()}
        for group, share in {**groups, AVERAGE: reached.average}.items():
            found.append({"model": part, "guide": name, "group": group, "mean": 100 * share})
        report(f"{part}: guided by {name}: {100 * reached.average:.2f} on average")
    return found


_GROUPS = [
    *(f"{label}, {heuristic}" for label in ("entailment", "non-entailment") for heuristic in
      ("lexical_overlap", "subsequence", "constituent")),
    AVERAGE,
]  # fmt: skip
_PAPER = """
DA none 97.18 96.02 97.62 2.66 1.76 3.00 49.71
ESIM none 99.68 98.76 99.60 .18 .12 4.22 50.43
BERT none 98.82 100.00 99.86 43.02 2.94 3.82 58.08
DA roles 93.66 96.64 96.36 88.24 25.88 3.28 67.34
ESIM roles 93.94 96.76 99.42 99.10 32.28 5.30 71.13
BERT roles 96.24 99.36 99.74 96.26 29.44 .24 70.21
"""
"""Model, guide, and accuracy in each group in per cent (Jiang et al., 2021, Table 4)."""


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Beside what was published."""
    known = {
        (model, guide, group): float(cell)
        for model, guide, *cells in map(str.split, _PAPER.strip().splitlines())
        for group, cell in zip(_GROUPS, cells, strict=True)
    }
    return [
        Row(
            "accuracy",
            entry["mean"],
            method=f"guided by {entry['guide']}",
            model=entry["model"],
            data=f"hans, {entry['group']}",
            paper=known.get((PUBLISHED[entry["model"]], entry["guide"], entry["group"])),
        )
        for entry in sorted(found, key=lambda own: (KINDS.index(own["model"]), GUIDES.index(own["guide"])))
    ]


tables("arec-table4")(
    Table("arec-table4", "HANS with alignments guided by roles, without retraining.", KINDS, compute, rows, seeds=(1,))
)
