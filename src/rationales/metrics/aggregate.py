"""The numbers of many explanations → a mean with its interval and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import FloatArray

_DRAWS = 1 << 16
"""How many values are drawn at a time: 1 MiB, which a processor keeps close, whatever the number of resamples."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The mean of the `count` values that are defined, its interval [low, high] and their standard deviation.

    `undefined` counts the NaNs that were left out. The mean of no value is NaN; interval and standard deviation are NaN
    for fewer than two, because one value says nothing about spread.
    """

    mean: float
    low: float
    high: float
    count: int
    undefined: int
    std: float


def aggregate(values: FloatArray, *, seed: int = 0, resamples: int = 1000, level: float = 0.95) -> Aggregate:
    """The mean over defined values with a bootstrap percentile interval (Efron, 1979), the same for the same seed.

    >>> aggregate(np.array([0.0, 1.0, np.nan, 1.0]), seed=1)
    Aggregate(mean=0.6666666666666666, low=0.0, high=1.0, count=3, undefined=1, std=0.5773502691896258)
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        raise InputError(f"values must be a row of finite numbers or NaN, got shape {values.shape} with {values!r:.80}")
    if not (resamples >= 1 and 0 < level < 1):
        raise InputError(f"resamples must be at least 1 and level between 0 and 1, got {resamples} and {level}")
    defined = values[~np.isnan(values)]
    count, undefined = len(defined), len(values) - len(defined)
    if count < 2:
        mean = float(defined[0]) if count else np.nan
        return Aggregate(mean, np.nan, np.nan, count, undefined, np.nan)
    low, high = np.quantile(_resampled_means(defined, resamples, seed), [(1 - level) / 2, (1 + level) / 2])
    return Aggregate(float(defined.mean()), float(low), float(high), count, undefined, float(defined.std(ddof=1)))


def _resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    generator = np.random.default_rng(seed)
    rows = max(1, _DRAWS // len(values))
    means = np.empty(resamples)
    for start in range(0, resamples, rows):
        part = means[start : start + rows]
        part[:] = values[generator.integers(len(values), size=(len(part), len(values)))].mean(axis=1)
    return means
