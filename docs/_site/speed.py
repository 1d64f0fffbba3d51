"""The chart of speed: how many times faster than others, drawn from `results/attribution_*.json`.

It stands where a page says `<!-- chart of speed -->`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from rationales.report import svg

RESULTS = Path(__file__).parent.parent.parent / "results"
MARK = "<!-- chart of speed -->"
SHOWN = {
    "times_faster, equal steps": "Captum, equal steps",
    "times_faster, equal error": "Captum, equal completeness error",
    "times_faster, loop": "text-by-text loop",
    "times_faster, ferret": "ferret",
    "times_faster, bare passes": "bare forward passes",
}
MODELS = {"minilm": "MiniLM", "bert-base": "BERT-base"}
LEFT, RIGHT, TOP, LINE = 345, 700, 34, 21


def chart() -> str:
    """A row for each comparison, with a mark on each machine that it was made on."""
    by_row: dict[tuple[str, str, str], dict[str, float]] = {}
    for path in sorted(RESULTS.glob("attribution_*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        machine = content["hardware"].get("accelerator") or f"{content['hardware']['cores']} cores"
        for row in content["rows"]:
            if row["metric"] in SHOWN:
                by_row.setdefault(_place(row), {})[machine] = row["mean"]
    machines = sorted({machine for found in by_row.values() for machine in found})
    looks = svg.looks(machines, "", 2)
    values = [value for found in by_row.values() for value in found.values()]
    across = svg.fitted([*values, 1.0], LEFT, RIGHT, log=True)
    bottom = TOP + LINE * len(by_row) + 6
    parts = [svg.line(across(1.0), TOP - 8, across(1.0), bottom, "axis")]
    for place, machine in enumerate(machines):
        parts.append(svg.marker(LEFT + 8 + 170 * place, 12, looks[machine], ""))
        parts.append(svg.text(LEFT + 18 + 170 * place, 16, machine, "tick"))
    for number, ((model, texts, rival), found) in enumerate(sorted(by_row.items())):
        y = TOP + LINE * number + 10
        parts.append(svg.line(LEFT, y, RIGHT, y, "grid"))
        parts.append(svg.text(LEFT - 8, y + 4, f"{rival} · {model}, {texts}", "tick", "end"))
        for machine, value in found.items():
            parts.append(svg.marker(across(value), y, looks[machine], f"{rival}, {machine}: {value:.2g} times"))
    for tick in across.ticks():
        parts.append(svg.line(across(tick), bottom, across(tick), bottom + 5, "axis"))
        parts.append(svg.text(across(tick), bottom + 18, f"{tick:g}×", "tick", "middle"))
    parts.append(svg.line(LEFT, bottom, RIGHT, bottom, "axis"))
    parts.append(svg.text((LEFT + RIGHT) / 2, bottom + 38, "times faster than", "label", "middle"))
    about = "; ".join(
        f"{rival}, {model}, {texts}, {machine}: {value:.2g} times"
        for (model, texts, rival), found in sorted(by_row.items())
        for machine, value in found.items()
    )
    return str(svg.picture("speed", RIGHT + 20, bottom + 46, "How many times faster", about, map(Markup, parts)))


def _place(row: dict[str, Any]) -> tuple[str, str, str]:
    return MODELS[row["model"]], row["data"], SHOWN[row["metric"]]


def replace(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put the chart where the page wants it."""
    if MARK in source[0]:
        figure = f'<div class="rationales picture">{chart()}</div>'
        source[0] = source[0].replace(MARK, "```{raw} html\n" + figure + "\n```\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """What Sphinx calls."""
    app.connect("source-read", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
