"""Intervals and tests against what their definitions say, and what files of before hold."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import pytest
from by_words import ByWords

from rationales.attack import Attacked, Figures, attack
from rationales.attack.certainty import mcnemar, wilson
from rationales.data import Example
from rationales.reproduce.regex_table6 import attack_rows

RESULTS = Path(__file__).parents[2] / "results"
TEXTS = ("It's fine", "It's fine", "It's fine", "fine", "We don't")
"""Of which the first three flip or do not, the fourth has nothing to edit, and the last may be wrong."""


def attacked(**models):
    examples = [Example(str(number), (text,), "good") for number, text in enumerate(TEXTS)]
    return attack({name: ByWords(weights) for name, weights in models.items()}, examples)


FLIPS, HOLDS, WRONG_TWICE = {"fine": 1.0, "It": -3.0, "We": 1.0}, {"fine": 1.0, "We": 1.0}, {"fine": 1.0}


def slow_wilson(part: int, whole: int) -> tuple[float, float]:
    """The shares p whose own distance from what was seen is just 1.96 standard errors, by bisection."""
    seen, z = part / whole, 1.959963984540054

    def beyond(share):
        return abs(seen - share) > z * math.sqrt(share * (1 - share) / whole)

    ends = []
    for outer in (0.0, 1.0):
        inner, far = seen, outer
        for _ in range(60):
            middle = (inner + far) / 2
            inner, far = (inner, middle) if beyond(middle) else (middle, far)
        ends.append(inner)
    return ends[0], ends[1]


@pytest.mark.parametrize(("part", "whole"), [(0, 5), (5, 5), (1, 2), (3, 500), (81, 263), (1, 1)])
def test_the_interval_holds_the_shares_that_what_was_seen_does_not_contradict(part, whole):
    assert wilson(part, whole) == pytest.approx(slow_wilson(part, whole), abs=1e-9)


def test_an_interval_that_is_published():
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)  # Newcombe (1998), Table I, method 3


def test_of_nothing_there_is_no_interval():
    assert all(math.isnan(end) for end in wilson(0, 0))


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 6), (6, 0), (3, 9), (7, 7), (40, 12)])
def test_p_is_the_share_of_all_ways_to_fall_that_are_as_uneven(one, other):
    apart = one + other
    uneven = sum(math.comb(apart, k) for k in range(apart + 1) if abs(2 * k - apart) >= abs(one - other))
    assert mcnemar(one, other) == pytest.approx(uneven / 2**apart)


def test_models_that_never_part_are_not_told_apart():
    assert mcnemar(0, 0) == 1.0


def test_further_models_stand_beside_the_first_text_by_text():
    found = attacked(first=FLIPS, second=HOLDS, third=WRONG_TWICE)
    assert [(each.first, each.other, each.figure) for each in found.paired] == [
        ("first", "second", "accuracy_under_attack"),
        ("first", "second", "success_rate"),
        ("first", "third", "accuracy_under_attack"),
        ("first", "third", "success_rate"),
    ]
    # three flip for the first and hold for the others; the last text is right for the first two only
    assert [(each.texts, each.only_first, each.only_other) for each in found.paired] == [
        (5, 0, 3), (5, 0, 3), (5, 1, 3), (4, 0, 3),
    ]  # fmt: skip
    assert [each.p for each in found.paired] == pytest.approx([0.25, 0.25, 0.625, 0.25])
    assert attacked(only=HOLDS).paired == ()


def test_intervals_are_of_the_counts():
    figures = attacked(first=FLIPS).figures[0]
    assert figures.success_rate_interval == wilson(3, 5)
    assert figures.accuracy_under_attack_interval == wilson(2, 5)
    nothing_right = attacked(first={"fine": -1.0, "We": -1.0}).figures[0]
    assert all(math.isnan(end) for end in nothing_right.success_rate_interval)
    assert nothing_right.accuracy_under_attack_interval == wilson(0, 5)


def test_files_of_before_are_read_and_have_intervals_too():
    runs = [
        run
        for part in ("sst2", "imdb")
        for run in json.loads((RESULTS / f"regex-table6/{part}.json").read_text(encoding="utf-8"))["runs"]
    ]
    for run in runs:
        figures = Figures(**{field.name: run[field.name] for field in fields(Figures)})
        low, high = figures.success_rate_interval
        assert low <= run["success_rate"] <= high
        assert Attacked((figures,), {}).paired == ()
    rows = json.loads((RESULTS / "regex-table6.json").read_text(encoding="utf-8"))["rows"]
    means = {(row["data"], row["method"], row["metric"]): row["mean"] for row in rows}
    again = {(row.data, row.method, row.metric): row.mean for row in attack_rows(runs)}
    assert again == pytest.approx(means)
