"""Explain many texts, measure the explanations, and compare methods."""

from rationales.run.comparing import compare
from rationales.run.explaining import check_name, explain, explained, save
from rationales.run.measuring import Measurement, evaluate
from rationales.run.preparing import prepared
from rationales.run.texts import Method, Text, as_examples, as_explainer

__all__ = [
    "Measurement",
    "Method",
    "Text",
    "as_examples",
    "as_explainer",
    "check_name",
    "compare",
    "evaluate",
    "explain",
    "explained",
    "prepared",
    "save",
]
