"""The colours of both themes, as CSS variables.

For and against are blue and orange, which people tell apart whatever their colour vision; marks differ in their
underlines besides. The tests compute the contrast of every pair of colours that meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LEVELS = 5
"""Strengths of a mark, 1 to 5."""
SERIES = 8
"""Colours of the lines in a chart, beside the grey of the random floor."""

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "scheme": "light",
        "page": "#f6f6f3",
        "paper": "#ffffff",
        "ink": "#1a1d21",
        "muted": "#555d67",
        "edge": "#d9dce0",
        "control": "#7c858f",
        "link": "#1653ad",
        "right": "#13683a",
        "wrong": "#a8231b",
        "accent": "#1653ad",
        "on-accent": "#ffffff",
        "f1": "#e4eefc",
        "f2": "#cbdffa",
        "f3": "#abccf8",
        "f4": "#88b6f5",
        "f5": "#659ff0",
        "for": "#0b3a86",
        "a1": "#fdebdc",
        "a2": "#fbd9bd",
        "a3": "#f9c294",
        "a4": "#f5aa6b",
        "a5": "#f09147",
        "against": "#7a2e00",
        "kept": "#d8efc9",
        "kept-edge": "#35691a",
        "s0": "#1b62c5",
        "s1": "#c2500c",
        "s2": "#0a7a5a",
        "s3": "#8b3fb0",
        "s4": "#8a6700",
        "s5": "#0c7c9b",
        "s6": "#c02a72",
        "s7": "#6b4c35",
        "floor": "#5f6873",
    }
)
DARK: Mapping[str, str] = MappingProxyType(
    {
        "scheme": "dark",
        "page": "#121418",
        "paper": "#1b1e23",
        "ink": "#e9ebee",
        "muted": "#a6afba",
        "edge": "#363c44",
        "control": "#77808b",
        "link": "#8ab8ff",
        "right": "#6fd19a",
        "wrong": "#ff9a90",
        "accent": "#8ab8ff",
        "on-accent": "#10213c",
        "f1": "#1d2c42",
        "f2": "#1d3657",
        "f3": "#1e416f",
        "f4": "#1f4c88",
        "f5": "#2058a4",
        "for": "#a9cbff",
        "a1": "#3a2817",
        "a2": "#4c2f14",
        "a3": "#613810",
        "a4": "#77420c",
        "a5": "#8c4b07",
        "against": "#ffc596",
        "kept": "#2a4520",
        "kept-edge": "#9ad67c",
        "s0": "#6ea8ff",
        "s1": "#ff9a57",
        "s2": "#3fc79d",
        "s3": "#cf97ee",
        "s4": "#dcb43a",
        "s5": "#4fc3e6",
        "s6": "#ff86b8",
        "s7": "#cfa483",
        "floor": "#98a2ae",
    }
)


def _variables(theme: Mapping[str, str]) -> str:
    colours = " ".join(f"--{name}: {value};" for name, value in theme.items() if name != "scheme")
    return f"{{ color-scheme: {theme['scheme']}; {colours} }}\n"


def _in(theme: str) -> str:
    """Where something other than the system says which theme is on: our own button, or a notebook."""
    jupyter = "true" if theme == "light" else "false"
    places = (f'[data-jp-theme-light="{jupyter}"]', f".vscode-{theme}", f'html[theme="{theme}"]')
    return ",\n".join([f'.rationales[data-theme="{theme}"]', *(f"{place} .rationales" for place in places)])


def css() -> str:
    """The colours for `.rationales`: the system's theme, unless a notebook or the reader says otherwise."""
    return (
        f".rationales {_variables(LIGHT)}"
        f"@media (prefers-color-scheme: dark) {{ .rationales {_variables(DARK)}}}\n"
        f"{_in('light')} {_variables(LIGHT)}"
        f"{_in('dark')} {_variables(DARK)}"
        f"@media print {{ html .rationales.rationales, html.rationales.rationales {_variables(LIGHT)}}}\n"
    )
