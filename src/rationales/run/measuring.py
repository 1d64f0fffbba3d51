"""Measure explanations: several metrics at once, which share their forward passes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rationales.errors import InputError
from rationales.explanation import Explanation
from rationales.explanation.types import FloatArray
from rationales.metrics import metrics as known_metrics
from rationales.metrics.aggregate import Aggregate, aggregate
from rationales.metrics.base import Golds, Metric
from rationales.metrics.passes import shared_passes
from rationales.models import Model, load, rounds
from rationales.models.tokenising import cut_message


@dataclass(frozen=True, eq=False)
class Measurement:
    """One metric over one set of explanations: each value [N], their aggregate, and how the metric was set."""

    metric: str
    best: str
    method: str
    options: Mapping[str, Any]
    values: FloatArray
    aggregate: Aggregate


def evaluate(
    model: Any,
    explanations: Sequence[Explanation],
    metrics: str | Sequence[str],
    *,
    tokenizer: Any = None,
    gold: Golds | None = None,
    other: Golds | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> tuple[Measurement, ...]:
    """Measure explanations: each metric's mean with a bootstrap 95 % interval, and how many values were defined.

    `gold` are explanations by people (`rationales.data.gold_selection`, and `gold_alignment` for metrics of links) for
    the metrics that need them, `other` a second set for those that compare two. `options` are by metric, such as
    `{"token_f1": {"fraction": 0.2}}`; each measurement records them in full.
    """
    asked = chosen_metrics([metrics] if isinstance(metrics, str) else metrics, options)
    methods = "+".join(sorted({explanation.provenance.method for explanation in explanations}))
    for name, third in (("gold", gold), ("other", other)):
        if third is not None and len(third) != len(explanations):
            raise InputError(
                f"{len(explanations)} explanations but {len(third)} in `{name}`; it must hold one for each, in the "
                "same order, None where there is none"
            )
    if not any("model" in choice.metric.needs for choice in asked):
        values = [choice(None, explanations, gold, other) for choice in asked]
    else:
        values = _in_rounds(load(model, tokenizer), explanations, asked, gold, other)
    return tuple(
        Measurement(choice.metric.name, choice.metric.best, methods, choice.options, own, aggregate(own, seed=seed))
        for choice, own in zip(asked, values, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Choice:
    """A metric with all of its options."""

    metric: Metric[...]
    options: Mapping[str, Any]

    def __call__(
        self, model: Model | None, explanations: Sequence[Explanation], gold: Golds | None, other: Golds | None = None
    ) -> FloatArray:
        return self.metric(model, explanations, other if "other" in self.metric.needs else gold, **self.options)


def chosen_metrics(names: Sequence[str], options: Mapping[str, Mapping[str, Any]] | None = None) -> list[Choice]:
    """Metrics by name; what `options` does not say of a metric keeps its default."""
    given = options or {}
    if unused := set(given) - set(names):
        raise InputError(f"options for metrics that are not asked for: {', '.join(sorted(unused))}")
    asked = [known_metrics[name] for name in dict.fromkeys(names)]
    return [
        Choice(metric, {option.name: option.default for option in metric.options} | dict(given.get(metric.name, {})))
        for metric in asked
    ]


def _in_rounds(
    model: Model, explanations: Sequence[Explanation], asked: list[Choice], gold: Golds | None, other: Golds | None
) -> list[FloatArray]:
    """The values of each metric, [N]; what the metrics of a round ask of the model is asked once."""
    if not explanations:
        raise InputError("there are no explanations to measure")
    found: list[list[FloatArray]] = [[] for _ in asked]
    nothing: Golds = [None] * len(explanations)
    with shared_passes() as passes:
        for part in rounds(model, zip(explanations, gold or nothing, other or nothing, strict=True)):
            own, golds, others = (list(column) for column in zip(*part, strict=True))
            thirds = golds if gold else None, others if other else None
            measured = passes.together([partial(choice, model, own, *thirds) for choice in asked])
            for values, some in zip(found, measured, strict=True):
                values.append(some)
            passes.forget()
    if passes.cut:
        warnings.warn(cut_message(passes.cut, len(explanations), model.max_length), stacklevel=3)
    return [np.concatenate(values) for values in found]
