"""Table 1 of the paper on REGEX: how faithful attributions are, in and out of domain.

Models are trained on one data set and measured on it and on others of its kind. Each text's predicted class is
explained by six attributions, integrated gradients with 20 points of Gauss (50 there); figures are means over five
shares of the tokens, where the paper divides by one more than there are shares: its figures are shown times 6/5.
Erasing is padding, special tokens stay.

Where REGEX and the baseline were trained with the same seeds, their differences are rows too; some of them were
wanted to be so and so large.

Parts are named after their training data; `-lighter` and `-stronger` behind it stand for other settings of REGEX, of
which the latter is looked at in domain alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import f1_score

from rationales.data import Example
from rationales.explainers import explainers
from rationales.models import TransformersClassifier
from rationales.reproduce.regex_training import (
    AMAZON,
    ELSEWHERE,
    MEASURED,
    REGEX_LIGHTER,
    REGEX_STRONGER,
    REVIEWS,
    Job,
    Kinds,
    jobs,
    kinds_of,
    measured,
    row,
    sample,
    splits,
)
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.reproduce.trainings import answered
from rationales.results import Row
from rationales.run import evaluate, explain

NAME = "regex-table1"
ATTRIBUTIONS: Mapping[str, Mapping[str, Any]] = {
    "random": {},
    "scaled_attention": {},
    "attention": {},
    "deeplift": {},
    "input_x_gradient": {"aggregate": "l2"},
    "integrated_gradients": {"aggregate": "l2", "rule": "gauss", "steps": 20},
}
F1, SATURATION = "macro F1", "saturation"
METRICS = {"sufficiency": "normalised_sufficiency", "comprehensiveness": "normalised_comprehensiveness"}
GAIN = " − baseline"
"""What the name of a difference ends with."""
OTHERS: Mapping[str, tuple[str, Kinds, bool]] = {
    f"{train}-{setting}": (train, {f"REGEX, {setting}": changes}, elsewhere)
    for train, setting, changes, elsewhere in (
        ("sst2", "lighter", REGEX_LIGHTER, True),
        ("imdb", "lighter", REGEX_LIGHTER, True),
        ("sst2", "stronger", REGEX_STRONGER, False),
    )
}
"""Parts of other settings: their training data, the setting, and whether it is measured out of domain too."""
TESTS = {train: (train, *(other for other in kind if other != train)) for kind in (REVIEWS, AMAZON) for train in kind}
WANTED: Mapping[str, Mapping[tuple[str, str], float]] = {
    "sst2": {
        (F1, ""): -0.005,
        **{("comprehensiveness", name): 0.08 for name in ("scaled_attention", "attention")},
        **{("comprehensiveness", name): 0.04 for name in ("deeplift", "input_x_gradient", "integrated_gradients")},
        **{("sufficiency", name): 0.0 for name in ("scaled_attention", "deeplift")},
        **{("sufficiency", name): -0.06 for name in ("attention", "input_x_gradient", "integrated_gradients")},
    },
    "imdb": {("comprehensiveness", name): 0.08 for name in ("scaled_attention", "deeplift")},
}
"""The least difference that was wanted in domain."""


def measure(tests: Mapping[str, Sequence[str]], job: Job) -> Found:
    """Each test set's macro-F1, and each attribution's means of the metrics."""
    model = job.trained()
    found = []
    for name in tests[job.data]:
        *_, test = splits(name, job.data_dir)
        size = MEASURED if name == job.data else ELSEWHERE
        found.append(job.entry(name, **figures_of(model, list(test), size)))
    return found


def figures_of(model: TransformersClassifier, examples: Sequence[Example], size: int) -> dict[str, Any]:
    """Macro-F1 of all texts, and of `size` of them each attribution's means of the metrics.

    Saturation, the share of texts that these say little about, is that of the model, whatever the attribution.
    """
    targets = [example.label for example in examples]  # named sets have the numbers of classes
    figures: dict[str, Any] = {"macro_f1": float(f1_score(targets, answered(model, examples), average="macro"))}
    some = sample(examples, size)
    for name, options in ATTRIBUTIONS.items():
        explanations = explain(model, some, explainers[name](**options))
        if SATURATION not in figures:
            (saturated,) = evaluate(model, explanations, [SATURATION])
            figures[SATURATION] = saturated.aggregate.mean
        results = evaluate(model, explanations, list(METRICS.values()))
        figures[name] = {short: result.aggregate.mean for short, result in zip(METRICS, results, strict=True)}
    return figures


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train on one data set and measure: with and without REGEX, or with another setting of it."""
    data, kinds, elsewhere = OTHERS.get(part) or (part, kinds_of(part), True)
    tests = TESTS if elsewhere else {data: (data,)}
    todo = jobs(kinds, data, options)
    return measured(partial(measure, tests), todo, options.folder(NAME, part), options, report)


_PAPER = """
sst2 sst2 .30(.38) .68(.51) .48(.42) .71(.42) .49(.40) .49(.41) .22(.19) .56(.39) .41(.22) .52(.25) .43(.26) .43(.26)
sst2 imdb .25(.31) .54(.53) .45(.39) .46(.32) .40(.31) .40(.32) .19(.23) .75(.54) .66(.34) .61(.27) .58(.27) .58(.28)
sst2 yelp .24(.32) .51(.56) .38(.40) .45(.35) .35(.33) .36(.34) .22(.21) .70(.48) .57(.28) .59(.24) .48(.24) .47(.25)
imdb imdb .34(.32) .82(.55) .51(.46) .80(.36) .54(.36) .53(.36) .17(.16) .71(.48) .39(.31) .62(.25) .31(.23) .32(.24)
imdb sst2 .30(.24) .72(.35) .42(.28) .68(.28) .46(.27) .45(.27) .21(.27) .59(.46) .28(.32) .51(.33) .32(.33) .33(.33)
imdb yelp .32(.35) .81(.48) .53(.41) .79(.36) .48(.36) .47(.36) .20(.21) .71(.45) .42(.32) .64(.26) .33(.26) .34(.26)
yelp yelp .35(.23) .82(.32) .59(.31) .82(.29) .53(.24) .53(.25) .10(.12) .64(.20) .39(.14) .63(.16) .24(.15) .23(.16)
yelp sst2 .33(.41) .76(.45) .49(.43) .75(.44) .60(.41) .60(.41) .16(.17) .57(.24) .31(.18) .55(.21) .40(.22) .40(.22)
yelp imdb .38(.18) .83(.34) .59(.32) .82(.25) .61(.22) .61(.22) .13(.19) .74(.34) .43(.29) .70(.23) .31(.23) .31(.24)
music music .50(.34) .73(.56) .55(.34) .66(.31) .60(.41) .62(.39) .18(.13) .60(.32) .12(.14) .21(.10) .26(.16) .24(.17)
music inst .60(.29) .75(.54) .67(.32) .67(.31) .66(.33) .68(.32) .16(.19) .62(.47) .18(.23) .15(.19) .24(.22) .23(.23)
inst inst .52(.16) .82(.34) .58(.18) .82(.21) .59(.18) .58(.17) .16(.26) .58(.52) .22(.26) .56(.29) .18(.28) .19(.29)
inst music .56(.21) .82(.38) .58(.21) .82(.22) .60(.24) .59(.22) .12(.23) .48(.46) .16(.20) .46(.22) .15(.24) .15(.25)
"""
"""Train, test, and REGEX (baseline) of random, scaled attention, attention, DeepLift, input × gradient and integrated
gradients: sufficiency, then comprehensiveness (Li et al., 2023, Table 1)."""
_PAPER_F1 = """
89.7(90.1) 83.4(84.3) 87.8(87.9)
91.3(91.1) 88.0(85.8) 90.3(91.0)
96.1(96.9) 85.3(86.8) 86.2(88.6)
72.4(70.6) 60.3(61.2) 72.9(71.5) 60.7(61.3)
"""
"""Macro-F1 of the same lines in percent (Table 2)."""
PAIRS = [(metric, attribution) for metric in METRICS for attribution in ATTRIBUTIONS]
Published: TypeAlias = Mapping[tuple[str, str, str], Mapping[tuple[str, str], float]]
"""By train, test and name: by metric and attribution."""


def published() -> Published:
    """What the paper has of our trainings and test sets."""
    names = {"music": "amazon-digital-music", "inst": "amazon-musical-instruments"}
    known = {}
    for line, f1 in zip(_PAPER.strip().splitlines(), _PAPER_F1.split(), strict=True):
        train, test, *cells = line.split()
        pairs = [cell.rstrip(")").split("(") for cell in (f1, *cells)]
        for name, values in zip(("REGEX", "baseline"), zip(*pairs, strict=True), strict=True):
            known[names.get(train, train), names.get(test, test), name] = as_ours(values)
    return known


def as_ours(cells: Iterable[str]) -> dict[tuple[str, str], float]:
    """Figures of a model as the paper prints them: macro-F1 in percent, or – where it has none, then the others."""
    f1, *others = cells
    figures = {place: 1.2 * float(cell) for place, cell in zip(PAIRS, others, strict=True)}
    return figures if f1 == "–" else {**figures, (F1, ""): float(f1) / 100}


def rows(found: Sequence[dict[str, Any]], others: Published = MappingProxyType({})) -> list[Row]:
    """Means over seeds, beside what is published of them here and among `others`."""
    known, table = {**published(), **others}, []
    for train, data, name in dict.fromkeys((entry["train"], entry["data"], entry["name"]) for entry in found):
        own = [entry for entry in found if (entry["train"], entry["data"], entry["name"]) == (train, data, name)]
        paper = known.get((train, data, name), {})
        for metric, attribution in shown(own):
            values = [figure(entry, metric, attribution) for entry in own]
            facts = {"method": name, "explainer": attribution or None, "train": train, "data": data}
            table.append(row(metric, values, **facts, paper=paper.get((metric, attribution))))
    return table


def gains(found: Sequence[dict[str, Any]]) -> list[Row]:
    """By how much each setting of REGEX is above the baseline, seed by seed; and what was wanted."""
    known, table = published(), []
    by_seed = {(entry["train"], entry["data"], entry["name"], entry["seed"]): entry for entry in found}
    for train, data, name in dict.fromkeys(key[:3] for key in by_seed if key[2] != "baseline"):
        pairs = [
            (entry, by_seed[train, data, "baseline", seed])
            for (*place, seed), entry in by_seed.items()
            if place == [train, data, name] and (train, data, "baseline", seed) in by_seed
        ]
        if not pairs:
            continue
        with_it, without = known.get((train, data, name), {}), known.get((train, data, "baseline"), {})
        for metric, attribution in shown(entry for pair in pairs for entry in pair):
            values = [figure(one, metric, attribution) - figure(other, metric, attribution) for one, other in pairs]
            place = (metric, attribution)
            paper = with_it[place] - without[place] if place in with_it else None
            wanted = WANTED.get(train, {}).get(place) if train == data else None
            facts = {"method": name + GAIN, "explainer": attribution or None, "train": train, "data": data}
            table.append(row(metric, values, **facts, paper=paper, note=_judged(float(np.mean(values)), wanted)))
    return table


def shown(entries: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The metrics that there are figures of, and their attributions; of the model itself there is none."""
    ours = [F1, *([SATURATION] if all(SATURATION in entry for entry in entries) else ())]
    return [(name, "") for name in ours] + [(metric, name) for name in ATTRIBUTIONS for metric in METRICS]


def figure(entry: Mapping[str, Any], metric: str, attribution: str) -> float:
    """A figure of a training."""
    value: float = entry[attribution][metric] if attribution else entry[metric.replace(" ", "_").lower()]
    return value


def _judged(mean: float, wanted: float | None) -> str | None:
    return None if wanted is None else f"wanted: {wanted:+g} at least{'' if mean >= wanted else '; missed'}"


tables(NAME)(
    Table(
        NAME,
        "Faithfulness of attributions with and without REGEX, in and out of domain.",
        (*REVIEWS, *AMAZON, *OTHERS),
        compute,
        lambda found: [*rows(found), *gains(found)],
    )
)
