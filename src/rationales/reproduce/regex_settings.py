"""Settings of REGEX, looked at on dev data alone, on which all that tables use were chosen.

That of `REGEX` was chosen before anything was measured on test data. `lighter` was looked at after that one's test
figures were known, and became the command's default when its own were.

points   of integrated gradients in training, and guidance in every fourth batch only: what fewer cost in faithfulness
weights  the adversarial term's weight and the place of its perturbation, with two points
more     further ones
finer    the gradient's weight, with what `more` had found
lighter  lighter ones, with what `finer` had found
amazon   whether that trains where most texts have the same label: reviews of musical instruments

All but the last are of SST-2. Where a setting does not say otherwise it is as published, with two points, and in
`points` the adversarial term weighs 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rationales.reproduce.regex_table1 import figures_of, rows
from rationales.reproduce.regex_training import (
    BASELINE,
    DATA,
    PUBLISHED,
    REGEX,
    Job,
    Kinds,
    jobs,
    measured,
    splits,
)
from rationales.reproduce.tables import Found, Options, Table, tables

NAME = "regex-settings"


def _changed(**settings: Any) -> Mapping[str, Any]:
    """The published setting, but for these."""
    return {**PUBLISHED, **settings}


LIGHTER: Kinds = {
    f"adversarial 4, a quarter as large on words{and_}": {**REGEX, "gradient_weight": weight}
    for and_, weight in (("", 0.01), (", gradient 0.03", 0.03))
}
SETTINGS: dict[str, Kinds] = {
    "points": {
        "baseline": BASELINE,
        **{f"{steps} points": _changed(adversarial_weight=2.0, guide_steps=steps) for steps in (1, 2, 4, 8, 50)},
        "8 points, every 4th batch": _changed(adversarial_weight=2.0, guide_steps=8, guide_every=4),
    },
    "weights": {
        "adversarial 0.5, as published": PUBLISHED,
        "adversarial 4": _changed(adversarial_weight=4.0),
        "adversarial 2, words": _changed(adversarial_weight=2.0, site="word"),
    },
    "more": {
        "adversarial 8": _changed(adversarial_weight=8.0),
        "adversarial 4, half as large on words": _changed(adversarial_weight=4.0, site="word", size=0.5),
        "adversarial 4, gradient 0.1": _changed(adversarial_weight=4.0, gradient_weight=0.1),
    },
    "finer": {
        "adversarial 4, gradient 0.3": _changed(adversarial_weight=4.0, gradient_weight=0.3),
        "adversarial 4, gradient 1": _changed(adversarial_weight=4.0, gradient_weight=1.0),
        **{
            f"adversarial 4, {part} as large on words, gradient {weight}": {
                **REGEX,
                "size": size,
                "gradient_weight": weight,
            }
            for part, size, weight in (("half", 0.5, 0.1), ("half", 0.5, 0.3), ("a quarter", 0.25, 0.1))
        },
    },
    "lighter": LIGHTER,
    "amazon": {
        "baseline": BASELINE,
        "as published": PUBLISHED,
        "adversarial 4": _changed(adversarial_weight=4.0),
        **LIGHTER,
    },
}
ELSEWHERE = {"amazon": "amazon-musical-instruments"}
"""Parts that are not of `DATA`."""


def on_dev(job: Job) -> Found:
    """What `regex-table1` measures, on dev data."""
    model = job.trained()
    _, dev, _ = splits(job.data, job.data_dir)
    texts = list(dev)
    return [job.entry("dev", **figures_of(model, texts, len(texts)))]


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure each setting."""
    todo = jobs(SETTINGS[part], ELSEWHERE.get(part, DATA), options)
    return measured(on_dev, todo, options.folder(NAME, part), options, report)


tables(NAME)(
    Table(
        NAME,
        "Settings of REGEX on dev data.",
        tuple(SETTINGS),
        compute,
        rows,
        seeds=(1,),
    )
)
