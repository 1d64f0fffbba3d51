"""Comparisons of explanations: what they found, and the directory they are kept in. Free of torch."""

from rationales.comparison.comparison import Comparison
from rationales.comparison.grid import Grid
from rationales.comparison.types import (
    Agreement,
    Answers,
    Case,
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

__all__ = [
    "Agreement",
    "Answers",
    "Case",
    "Comparison",
    "Contrast",
    "Curves",
    "Figure",
    "Grid",
    "Likeness",
    "Measure",
    "Overlap",
    "Pair",
    "Stability",
    "Standing",
    "Summary",
]
