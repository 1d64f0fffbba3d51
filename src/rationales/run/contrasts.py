"""Model against model: is the same method more faithful to one than to another, on the same texts?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rationales.comparison.types import Contrast, Measure
from rationales.metrics.aggregate import aggregate
from rationales.run.ranking import Record


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
    return Contrast(measure.name, one.method, one.model, other.model, found.mean, found.low, found.high)


def beside_the_first(found: Sequence[Contrast], model: str, metric: str) -> str:
    """A sentence for the advice: by which methods a model comes out better or worse than the first one."""
    own = [item for item in found if (item.other, item.metric) == (model, metric) and not math.isnan(item.low)]
    if not own:
        return ""
    groups = {
        f"clearly {verdict}" if verdict else "within noise": [item for item in own if item.verdict == verdict]
        for verdict in ("better", "worse", "")
    }
    said = [f"{name} for {', '.join(map(_said, items))}" for name, items in groups.items() if items]
    return f"Beside `{own[0].one}`, by {metric} on the same texts: {'; '.join(said)}."


def _said(item: Contrast) -> str:
    return f"`{item.method}` ({item.mean:+.3f})" if item.verdict else f"`{item.method}`"
