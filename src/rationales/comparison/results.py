"""`Summary` ↔ JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rationales.comparison.types import Agreement, Curves, Figure, Measure, Standing, Summary

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


def _agreement(item: Mapping[str, Any]) -> Agreement:
    return Agreement(item["model"], tuple(item["methods"]), tuple(_numbers(row) for row in item["matrix"]))


def number(value: float | None) -> float:
    """A number from a file, in which what is not finite is null."""
    return NAN if value is None else float(value)


def _numbers(values: list[float | None]) -> tuple[float, ...]:
    return tuple(map(number, values))
