"""Model against model: is the same method more faithful to one than to another, on the same texts?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rationales.comparison.types import Contrast, Measure
from rationales.metrics.aggregate import aggregate
from rationales.run.ranking import Record
from rationales.run.stability import DIFFER


def contrasts(
    records: Mapping[str, Sequence[Record]], measures: Sequence[Measure], seed: int = 0
) -> tuple[Contrast, ...]:
    """Each further model beside the first, by every method that could explain both, and by every metric.

    `records` are by model. A difference is taken text by text where both have a figure, as those between methods are.
    """
    first, *others = records
    return tuple(
        _contrast(one, record, measure, seed)
        for other in others
        for measure in measures
        for one, record in zip(records[first], records[other], strict=True)
        if not (one.failure or record.failure)
    )


def _contrast(one: Record, other: Record, measure: Measure, seed: int) -> Contrast:
    difference = other.values[measure.name] - one.values[measure.name]
    found = aggregate(difference if measure.best == "high" else -difference, seed=seed)
    return Contrast(measure.name, one.method, one.model, other.model, found.mean, found.low, found.high, found.count)


def beside_the_first(found: Sequence[Contrast], model: str, ranked_by: str, texts: int) -> list[str]:
    """Sentences for the advice: by which methods a model comes out better or worse than the first one.

    By the metric that ranks, all of them; by each other one, those that differ clearly.
    """
    own = [item for item in found if item.other == model and not math.isnan(item.low)]
    sentences: list[str] = []
    for metric in sorted(dict.fromkeys(item.metric for item in own), key=lambda name: name != ranked_by):
        said = []
        for verdict in ("better", "worse", "") if metric == ranked_by else ("better", "worse"):
            if items := [_said(item, texts) for item in own if (item.metric, item.verdict) == (metric, verdict)]:
                said.append(f"{f'clearly {verdict}' if verdict else 'within noise'} for {', '.join(items)}")
        if said:
            begin = f"By {metric}" if sentences else f"Beside `{own[0].one}`, by {metric} on the same texts"
            sentences.append(f"{begin}: {'; '.join(said)}.")
    return sentences


def _said(item: Contrast, texts: int) -> str:
    if not item.verdict:
        return f"`{item.method}`"
    some = "" if item.count == texts else f" on {item.count} of {texts} texts"
    return f"`{item.method}` ({item.mean:+z.3f}{some})"


def other_classes(predicted: Mapping[str, Sequence[str]], model: str) -> str:
    """A sentence for the advice where a model often explains another class than the first one does."""
    first = next(iter(predicted))
    pairs = list(zip(predicted[first], predicted[model], strict=True))
    differ = sum(one != other for one, other in pairs)
    if differ <= DIFFER * len(pairs):
        return ""
    return (
        f"On {differ} of {len(pairs)} texts it predicts, and so explains, another class than `{first}`; a fixed target "
        "(--target) leaves that out."
    )
