"""Pictures on the pages of methods: one planted review, or pair, what was planted, and what the method marks or links.

`docs/make_pictures.py` keeps the explanations in files; they are drawn here, by the same renderer as everywhere,
where a page says `<!-- picture -->` or names methods, `<!-- picture: lime, random -->`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from rationales.explanation import Explanation, read_jsonl
from rationales.report import palette
from rationales.report.html import highlights
from rationales.report.safe import asset

PICTURES = Path(__file__).parent.parent / "pictures"
MARK = re.compile(r"<!-- picture(?:: (.+?))? -->")
LEGENDS = {
    "review": '<mark class="f4">for</mark> <mark class="a4">against</mark> the label',
    "pair": '<mark class="f4">for</mark> <mark class="a4">against</mark> the label, <mark class="kept">kept</mark>',
}
PLANTED = {"review": "what decides the label", "pair": "what belongs together"}
RANKS = ("backselect", "link_backselect")
"""Methods whose scores must not be added up."""


@cache
def explanations(kind: str) -> dict[str, Explanation]:
    """The explanations of the review or the pair, by method; "human" is what was planted."""
    return {explanation.provenance.method: explanation for explanation in read_jsonl(PICTURES / f"{kind}.jsonl")}


def drawn(methods: Sequence[str]) -> str:
    """The planted truth, and below it what each method marks, as a block of HTML."""
    kind = "pair" if methods[0] in explanations("pair") else "review"
    known = explanations(kind)
    rows = [_row("planted", PLANTED[kind], known["human"])]
    for method in methods:
        found = known[method]
        asked = f"why {found.target.label} ({found.target.score:.3f})?"
        rows.append(_row(method, asked, found.words(pool="max") if method in RANKS else found))
    legend = f'<p class="aside legend">{LEGENDS[kind]}</p>'
    return "```{raw} html\n" + f'<div class="rationales picture">{"".join(rows)}{legend}</div>' + "\n```\n"


def _row(name: str, about: str, explanation: Explanation) -> str:
    head = f'<p class="head"><strong>{name}</strong> <span class="aside">{about}</span></p>'
    return f'<div class="explanation">{head}{highlights(explanation)}</div>'


def replace(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the picture where the page wants it."""

    def picture(match: re.Match[str]) -> str:
        return drawn((match[1] or page.rpartition("/")[2]).split(", "))

    source[0] = MARK.sub(picture, source[0])


def style() -> str:
    """The renderer's own style; the theme of the site, which has a button, goes before that of the system."""
    chosen = ""
    for name, theme in (("light", palette.LIGHT), ("dark", palette.DARK)):
        colours = " ".join(f"--{key}: {value};" for key, value in theme.items() if key != "scheme")
        chosen += f'body[data-theme="{name}"] .rationales {{ color-scheme: {name}; {colours} }}\n'
    return palette.css() + chosen + asset("highlights.css") + asset("figures.css")


def write_style(app: Sphinx) -> None:
    """The style as a file of the site."""
    path = Path(app.outdir) / "_static" / "rationales.css"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(style(), encoding="utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """What Sphinx calls."""
    app.connect("source-read", replace)
    app.connect("builder-inited", write_style)
    app.add_css_file("rationales.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
