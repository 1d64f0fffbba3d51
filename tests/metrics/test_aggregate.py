"""The mean, its interval and its counts."""

import math
import random
import statistics
import tracemalloc
from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import bootstrap

from rationales.errors import InputError
from rationales.metrics.aggregate import Aggregate, aggregate


def values(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, size=size)


def test_mean_deviation_and_counts_leave_nan_out():
    given = [0.5, math.nan, 1.0, 0.0, math.nan]
    found = aggregate(np.array(given))
    assert (found.count, found.undefined) == (3, 2)
    assert found.mean == pytest.approx(0.5)
    assert found.std == pytest.approx(statistics.stdev([0.5, 1.0, 0.0]))


def test_nan_does_not_move_the_interval():
    given = values(40)
    mixed = np.insert(given, [3, 17, 40], math.nan)
    with_gaps, without = aggregate(mixed), aggregate(given)
    assert (with_gaps.mean, with_gaps.low, with_gaps.high) == (without.mean, without.low, without.high)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_interval_equals_a_slow_bootstrap(level):
    given = values(30).tolist()
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(given, k=30)) for _ in range(20_000))
    found = aggregate(np.array(given), resamples=20_000, level=level)
    noise = 0.03 * (means[-1] - means[0]) / 2
    assert found.low == pytest.approx(means[round((1 - level) / 2 * 20_000)], abs=noise)
    assert found.high == pytest.approx(means[round((1 + level) / 2 * 20_000)], abs=noise)


def test_interval_equals_scipys():
    given = values(200)
    generator = np.random.default_rng(5)
    theirs = bootstrap((given,), np.mean, n_resamples=10_000, method="percentile", rng=generator).confidence_interval
    found = aggregate(given, resamples=10_000)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_interval_covers_the_true_mean_as_often_as_it_says():
    generator = np.random.default_rng(2)
    found = [aggregate(generator.normal(size=50), resamples=400) for _ in range(400)]
    assert sum(one.low <= 0 <= one.high for one in found) / 400 == pytest.approx(0.94, abs=0.035)
    assert all(one.low <= one.mean <= one.high for one in found)


def test_the_seed_decides():
    given = values(50)
    assert aggregate(given, seed=3) == aggregate(given, seed=3)
    assert aggregate(given, seed=3).low != aggregate(given, seed=4).low


def test_the_result_does_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    given = values(101)
    whole = aggregate(given)
    monkeypatch.setattr("rationales.metrics.aggregate._DRAWS", 999)
    assert aggregate(given) == whole


def test_memory_stays_small():
    given = values(100_000)
    tracemalloc.start()
    try:
        aggregate(given, resamples=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20


def test_few_values():
    nan = math.nan
    for given, expected in [
        ([], (nan, nan, nan, 0, 0, nan)),
        ([nan, nan], (nan, nan, nan, 0, 2, nan)),
        ([0.7, nan], (0.7, nan, nan, 1, 1, nan)),
    ]:
        np.testing.assert_equal(astuple(aggregate(np.array(given))), expected)
    assert aggregate(np.full(5, 0.1)) == Aggregate(0.1, 0.1, 0.1, 5, 0, 0.0)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (np.ones((2, 2)), {}, r"a row of finite numbers or NaN, got shape \(2, 2\)"),
        (np.array([1.0, np.inf]), {}, r"finite"),
        (np.ones(3), {"resamples": 0}, r"resamples must be at least 1 .* got 0 and 0.95"),
        (np.ones(3), {"level": 95}, r"level between 0 and 1, got 1000 and 95"),
    ],
)
def test_errors_say_what_was_given(given, options, message):
    with pytest.raises(InputError, match=message):
        aggregate(given, **options)
