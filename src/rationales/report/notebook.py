"""Explanations by themselves: as a piece of HTML that brings its own style, or shown wherever Python runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup
from rich.console import Console

from rationales.explanation import Alignment, Explanation, Scores
from rationales.report import palette
from rationales.report.figures import counted, number
from rationales.report.html import highlights
from rationales.report.links import has_signs
from rationales.report.safe import asset, environment
from rationales.report.terminal import coloured, plain


def to_html(explanations: Sequence[Explanation], first: int | None = None) -> str:
    """The explanations, or the first few of them, as HTML that can be put into any page."""
    chosen = list(islice(explanations, first))
    linked = [explanation.body for explanation in chosen if isinstance(explanation.body, Alignment)]
    return (
        environment()
        .get_template("fragment.html")
        .render(
            style=Markup(palette.css() + asset("highlights.css")),
            explanations=[(explanation, highlights(explanation)) for explanation in chosen],
            scored=any(isinstance(explanation.body, Scores) for explanation in chosen),
            linked=bool(linked),
            signs=any(links.keep is None and has_signs(links) for links in linked),
            left_out=_left_out(explanations, chosen),
            number=number,
        )
    )


def show(explanations: Sequence[Explanation], first: int | None = None) -> None:
    """Show them in a notebook; elsewhere print them, in colours if that is to a terminal."""
    if _in_notebook():
        _ipython().display.display(_ipython().display.HTML(to_html(explanations, first)))
        return
    console = Console()
    chosen = list(islice(explanations, first))
    for explanation in chosen:
        console.print(
            coloured(explanation) if console.is_terminal else plain(explanation), markup=False, soft_wrap=True
        )
    if left_out := _left_out(explanations, chosen):
        console.print(left_out, markup=False)


def _left_out(explanations: Sequence[Explanation], chosen: Sequence[Explanation]) -> str:
    return f"{len(chosen)} of {counted(len(explanations), 'explanation')}" if len(chosen) < len(explanations) else ""


def _ipython() -> Any:
    """IPython, if the running program has loaded it; only then can it be the one that shows things."""
    return sys.modules.get("IPython")


def _in_notebook() -> bool:
    shell = _ipython().get_ipython() if _ipython() is not None else None
    return hasattr(shell, "kernel")  # IPython in a terminal has none
