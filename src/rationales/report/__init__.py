"""Explanations and results for people: in a terminal, as text. Free of torch."""

from rationales.report.terminal import coloured, plain

__all__ = ["coloured", "plain"]
