"""`Summary` ↔ JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rationales.comparison.types import (
    Agreement,
    Answers,
    Contrast,
    Curves,
    Figure,
    Likeness,
    Measure,
    Overlap,
    Pair,
    Stability,
    Standing,
    Summary,
)

NAN = float("nan")


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Plain data; the file keeps numbers that are not finite as null."""
    return asdict(summary)


def summary_from_json(content: Mapping[str, Any]) -> Summary:
    """What `summary_to_json` gave, also after it was a file."""
    return Summary(
        **{
            **content,
            "models": tuple(content["models"]),
            "measures": tuple(Measure(**{**item, "needs": tuple(item["needs"])}) for item in content["measures"]),
            "standings": tuple(_standing(item) for item in content["standings"]),
            "agreements": tuple(_agreement(item) for item in content["agreements"]),
            "stability": _stability(content.get("stability")),
            "answers": {model: Answers(**item) for model, item in content.get("answers", {}).items()},
            "contrasts": tuple(_contrast(item) for item in content.get("contrasts", ())),
        }
    )


def _standing(item: Mapping[str, Any]) -> Standing:
    return Standing(
        **{
            **item,
            "figures": {name: _figure(figure) for name, figure in item["figures"].items()},
            "seconds_per_1000_tokens": number(item["seconds_per_1000_tokens"]),
            "curves": item["curves"] and Curves(**{name: _numbers(points) for name, points in item["curves"].items()}),
            "notes": tuple(item["notes"]),
        }
    )


def _figure(item: Mapping[str, Any]) -> Figure:
    numbers = {name: number(item[name]) for name in ("mean", "low", "high")}
    low, high = _numbers(item["gain"])
    return Figure(**numbers, count=item["count"], undefined=item["undefined"], gain=(low, high))


def _contrast(item: Mapping[str, Any]) -> Contrast:
    return Contrast(**{**item, **{name: number(item[name]) for name in ("mean", "low", "high")}})


def _agreement(item: Mapping[str, Any]) -> Agreement:
    matrix = tuple(_numbers(row) for row in item["matrix"])
    return Agreement(item["model"], tuple(item["methods"]), matrix, item.get("unit", "tokens"))


def _stability(item: Mapping[str, Any] | None) -> Stability | None:
    if item is None:
        return None
    methods = tuple(_likeness(method) for method in item["methods"])
    return Stability(**{**item, "models": tuple(item["models"]), "methods": methods})


def _likeness(item: Mapping[str, Any]) -> Likeness:
    low, high = _numbers(item["gap"])
    return Likeness(
        item["method"],
        tuple(Pair(pair["one"], pair["other"], _overlap(pair["overlap"])) for pair in item["pairs"]),
        item["trained"] and _overlap(item["trained"]),
        item["untrained"] and _overlap(item["untrained"]),
        (low, high),
    )


def _overlap(item: Mapping[str, Any]) -> Overlap:
    return Overlap(**vars(_figure(item)), chance=number(item["chance"]), same_label=number(item["same_label"]))


def number(value: float | None) -> float:
    """A number from a file, in which what is not finite is null."""
    return NAN if value is None else float(value)


def _numbers(values: list[float | None]) -> tuple[float, ...]:
    return tuple(map(number, values))
