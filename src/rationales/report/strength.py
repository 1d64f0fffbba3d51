"""How strong a score is among its neighbours: what marks, cells and shades are styled by."""

from __future__ import annotations

import math

import numpy as np

from rationales.explanation.types import FloatArray
from rationales.report.palette import LEVELS

SHOWN = 0.1
"""What has less than this share of the largest score stays unmarked."""


def shares(values: FloatArray) -> FloatArray:
    """Scores as shares of the largest finite one, in [-1, 1]; 0 for NaN and for what is too small to be marked."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
    with np.errstate(all="ignore"):  # a scale of 1e-320 has no inverse
        found = np.maximum(np.minimum(values / largest, 1.0), -1.0)
    return np.where(np.abs(found) >= SHOWN, found, 0.0)


def level(share: float) -> str:
    """The class of a share: f1 to f5 for, a1 to a5 against, nothing for 0.

    >>> level(1), level(-0.2), level(0)
    ('f5', 'a1', '')
    """
    if share == 0:
        return ""
    return f"{'f' if share > 0 else 'a'}{max(1, math.ceil(abs(share) * LEVELS - 1e-9))}"
