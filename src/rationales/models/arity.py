"""How many texts a classifier was trained to read: one, or two that belong together.

No model says so by its shape: each gives an answer to either. But some say it by what they were trained for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FIELD = "texts_per_example"
"""Where our own training notes it in a model's config."""

_TASKS = {
    **dict.fromkeys(("cola", "sst2", "sst-2"), 1),
    **dict.fromkeys(("mnli", "mrpc", "qnli", "qqp", "rte", "snli", "stsb", "sts-b", "wnli", "xnli"), 2),
}
"""The tasks of GLUE, which scripts of Transformers note as `finetuning_task`."""

_ABOUT_TWO = {"entailment", "contradiction", "not_entailment", "not_equivalent", "paraphrase", "not_duplicate"}


def texts_per_example(config: Any, labels: Sequence[str]) -> int | None:
    """1 or 2, or None where nothing tells."""
    noted = getattr(config, FIELD, None)
    if noted in (1, 2):
        return int(noted)
    task = str(getattr(config, "finetuning_task", None) or "").lower()
    if task in _TASKS:
        return _TASKS[task]
    return 2 if any(label.lower() in _ABOUT_TWO for label in labels) else None


def mismatch(name: str, wanted: int) -> str:
    """What to tell a user whose texts come in another number."""
    if wanted == 2:
        return f"{name} was trained on pairs of texts, and some of these texts are single; its answer may mean nothing"
    return f"{name} was trained on single texts, and some of these are pairs; its answer may mean nothing"
