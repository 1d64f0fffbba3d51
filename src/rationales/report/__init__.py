"""Explanations and results for people: in a terminal, in a notebook, on a page. Free of torch."""

from rationales.report.html import highlights
from rationales.report.notebook import show, to_html
from rationales.report.page import write_comparison, write_comparisons, write_page
from rationales.report.saved import cases_of
from rationales.report.summary import grid_html, summary_html
from rationales.report.terminal import coloured, plain

__all__ = [
    "cases_of",
    "coloured",
    "grid_html",
    "highlights",
    "plain",
    "show",
    "summary_html",
    "to_html",
    "write_comparison",
    "write_comparisons",
    "write_page",
]
