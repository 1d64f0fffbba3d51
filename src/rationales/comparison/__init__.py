"""Comparisons of explanations: what they found, and the directory they are kept in. Free of torch."""

from rationales.comparison.comparison import Comparison
from rationales.comparison.types import (
    Agreement,
    Case,
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

__all__ = [
    "Agreement",
    "Case",
    "Comparison",
    "Curves",
    "Figure",
    "Likeness",
    "Measure",
    "Overlap",
    "Pair",
    "Stability",
    "Standing",
    "Summary",
]
