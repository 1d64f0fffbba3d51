"""From the values of every text to a ranked table, and to advice in plain words.

Methods are measured on the same texts, so two of them are compared by the differences text by text: the bootstrap
interval of their mean tells whether one is better or the texts cannot say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from rationales.comparison.types import FLOORS, Agreement, Curves, Figure, Measure, Standing
from rationales.explanation import Alignment, Explanation, Scores
from rationales.explanation.types import FloatArray
from rationales.metrics.aggregate import aggregate

WITHIN = "within"
"""The option by which a method that weights links keeps some of them."""

FEW = 30
"""With fewer texts than this, advice says that there are few."""


@dataclass(eq=False)
class Record:
    """Everything that was measured of one method on one model."""

    model: str
    method: str
    params: Mapping[str, Any]
    values: dict[str, FloatArray] = field(default_factory=dict)  # by metric, [N]
    seconds: float = 0.0
    tokens: int = 0
    curves: Curves | None = None
    failure: str = ""
    notes: tuple[str, ...] = ()


def ranked(records: Sequence[Record], measures: Sequence[Measure], ranked_by: str, seed: int = 0) -> list[Standing]:
    """The methods of one model, best first; those that failed come last."""
    measure = next(item for item in measures if item.name == ranked_by)
    floor = next((record for record in records if record.method in FLOORS), None)
    ran = [record for record in records if not record.failure]
    ran.sort(key=lambda record: _order(record, measure))
    standings = []
    for rank, record in enumerate(ran, 1):
        behind = _better(ran[0], record, measure, seed)  # how much better the first is
        standings.append(
            Standing(
                model=record.model,
                method=record.method,
                params=record.params,
                rank=rank,
                tied=record is ran[0] or (_measured_together(ran[0], record, measure) and not behind[0] > 0),
                figures={item.name: _figure(record, item, floor, seed) for item in measures},
                seconds_per_1000_tokens=1000 * record.seconds / record.tokens if record.tokens else float("nan"),
                curves=record.curves,
                notes=record.notes,
            )
        )
    for record in records:
        if record.failure:
            nothing = {"rank": 0, "tied": False, "figures": {}, "seconds_per_1000_tokens": float("nan")}
            standings.append(
                Standing(record.model, record.method, record.params, failure=record.failure, **nothing)  # type: ignore[arg-type]
            )
    return standings


def _measured_together(one: Record, other: Record, measure: Measure) -> bool:
    """Whether there is a text on which both were measured."""
    return not np.isnan(one.values[measure.name] - other.values[measure.name]).all()


def _order(record: Record, measure: Measure) -> tuple[bool, float]:
    mean = aggregate(record.values[measure.name], resamples=1).mean
    return np.isnan(mean), -mean if measure.best == "high" else mean


def _better(one: Record, other: Record, measure: Measure, seed: int) -> tuple[float, float]:
    """How much better `one` is than `other` on the same texts: the interval of the mean difference, positive if so."""
    difference = one.values[measure.name] - other.values[measure.name]
    found = aggregate(difference if measure.best == "high" else -difference, seed=seed)
    return found.low, found.high


def _figure(record: Record, measure: Measure, floor: Record | None, seed: int) -> Figure:
    own = aggregate(record.values[measure.name], seed=seed)
    figure = Figure(own.mean, own.low, own.high, own.count, own.undefined)
    if floor is None or floor.failure or record is floor:
        return figure
    return replace(figure, gain=_better(record, floor, measure, seed))


def agreement(
    model: str,
    methods: Sequence[str],
    texts: Iterable[Sequence[Explanation]],
    unit: Literal["tokens", "links"] = "tokens",
) -> Agreement:
    """Mean Spearman correlation of each pair of methods; `texts` gives each text's explanations, one per method.

    The same figures as the metric `rank_correlation`, but each score is ranked once and not once per pair; of links,
    it is their weights that are ranked.
    """
    total, count = np.zeros((2, len(methods), len(methods)))
    for explanations in texts:
        correlation = _correlations(explanations)
        defined = ~np.isnan(correlation)
        total[defined] += correlation[defined]
        count += defined
    with np.errstate(invalid="ignore"):
        matrix = total / count
    return Agreement(model, tuple(methods), tuple(tuple(row) for row in matrix.tolist()), unit)


def _scores(explanation: Explanation) -> FloatArray:
    """What is ranked: the scores of the tokens, or the weights of the links; NaN where there are none."""
    match explanation.body:
        case Scores(values=values):
            return values[explanation.content]
        case Alignment(weights=weights):
            return weights.ravel()
    return np.full(explanation.content.sum(), np.nan)


def _correlations(explanations: Sequence[Explanation]) -> FloatArray:
    """Of one text, [M, M]; NaN for constant scores, missing ones and fewer than two tokens."""
    scores = np.stack([_scores(item) for item in explanations])
    if scores.shape[1] < 2:
        return np.full((len(scores), len(scores)), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = np.atleast_2d(np.corrcoef(rankdata(scores, axis=1, nan_policy="propagate")))
    return found


def advice(standings: Sequence[Standing], measures: Sequence[Measure], ranked_by: str, texts: int) -> str:
    """What a user should take from the table, in plain words; says so where differences are within noise."""
    able = [item for item in standings if not item.failure and item.method not in FLOORS]
    ran = [item for item in able if item.figures[ranked_by].count]
    if not ran:
        return " ".join(["No method could be measured on this model and these texts.", *_unmeasured(able, measures)])
    sentences = []
    if texts < FEW:
        sentences.append(f"These are only {texts} texts; take more before you rely on the order.")
    first, measure = ran[0], next(item for item in measures if item.name == ranked_by)
    floor = next((item for item in standings if item.method in FLOORS and not item.failure), None)
    if floor is not None and not floor.figures[ranked_by].count:
        floor = None
    if floor is not None and not any(item.figures[ranked_by].beats_random for item in ran):
        sentences.append(
            f"By {ranked_by}, no method is clearly better than random scores here: "
            "do not rely on any of these explanations."
        )
    else:
        sentences.append(_winner(first, floor, measure, len(ran)))
        sentences += _ties([item for item in ran if item.tied and item is not first], first)
        lost = [item.method for item in ran if not item.figures[ranked_by].beats_random] if floor else []
        if lost:
            sentences.append(f"Not clearly better than random: {listed(lost)}.")
    for other in measures:
        sentences += _dissent(ran, first, other) if other.name != ranked_by else []
    sentences += _unmeasured(able, measures)
    failed = [item for item in standings if item.failure]
    sentences += [f"`{item.method}` could not run: {item.failure.rstrip('.')}." for item in failed]
    return " ".join(sentences)


def _winner(first: Standing, floor: Standing | None, measure: Measure, many: int) -> str:
    figure = first.figures[measure.name]
    random = f"; random scores reach {floor.figures[measure.name].mean:z.3f}" if floor is not None else ""
    higher = "higher" if measure.best == "high" else "lower"
    among = f"comes first of {many} methods" if many > 1 else "was measured alone"
    return (
        f"By {measure.name} ({higher} is better), `{first.method}` {among}: "
        f"{figure.mean:z.3f} (95 % interval {figure.low:z.3f} to {figure.high:z.3f}){random}."
    )


def _ties(tied: Sequence[Standing], first: Standing) -> list[str]:
    if not tied:
        return []
    names = listed([item.method for item in tied])
    cheapest = min([first, *tied], key=lambda item: item.seconds_per_1000_tokens)
    sentence = f"{names} {'is' if len(tied) == 1 else 'are'} within noise of it: these texts cannot tell them apart."
    if cheapest is first:
        return [sentence + f" `{first.method}` is also the cheapest of them."]
    cost, costs = cheapest.seconds_per_1000_tokens, first.seconds_per_1000_tokens
    saved = f"{cost:.2g} against {costs:.2g} seconds per 1,000 tokens"
    return [sentence + f" Of these `{cheapest.method}` is the cheapest ({saved})."]


def _dissent(ran: Sequence[Standing], first: Standing, measure: Measure) -> list[str]:
    """Whether another metric puts another method first, beyond its interval."""
    sign = 1 if measure.best == "high" else -1
    known = [item for item in ran if item.figures[measure.name].count]
    if not known:
        return []
    best = max(known, key=lambda item: sign * item.figures[measure.name].mean)
    figure, own = best.figures[measure.name], first.figures[measure.name]
    apart = sign * (figure.mean - own.mean) > 0 and not own.low <= figure.mean <= own.high
    if best is first or not apart:
        return []
    people = " (closeness to what people marked, which is not faithfulness)" if "gold" in measure.needs else ""
    return [f"By {measure.name}{people}, `{best.method}` comes first: {figure.mean:z.3f} against {own.mean:z.3f}."]


def _unmeasured(able: Sequence[Standing], measures: Sequence[Measure]) -> list[str]:
    """Which methods of links have no figures by some metrics, and what to do about it."""
    missing: dict[tuple[str, ...], list[str]] = {}
    for item in able:
        names = tuple(measure.name for measure in measures if not item.figures[measure.name].count)
        if names and WITHIN in item.params:
            missing.setdefault(names, []).append(item.method)
    return [
        f"{listed(methods)} {'weights' if len(methods) == 1 else 'weight'} links and keep"
        f"{'s' if len(methods) == 1 else ''} none, so there is nothing to measure by {', '.join(names)}; the option "
        f"{WITHIN} lets a method keep its strongest (--method {methods[0].partition('(')[0]}:{WITHIN}=0.5)."
        for names, methods in missing.items()
    ]


def listed(names: Sequence[str]) -> str:
    """Names of methods in a sentence."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
