"""One self-contained HTML file: the ranked methods, their charts, and every text with every method's highlights.

The page makes no request of any kind, and its Content-Security-Policy forbids them; the only script and style that may
run are ours, named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from markupsafe import Markup

from rationales.comparison import Comparison
from rationales.comparison.types import Case, Summary
from rationales.explanation.files import package_version, replacing
from rationales.report import grid, palette
from rationales.report.cases import Drawn
from rationales.report.safe import asset, environment
from rationales.report.summary import WRITING, ModelView, page_looks, stability_views, views


def write_page(
    cases: Iterable[Case],
    path: Path | str,
    *,
    summaries: Sequence[Summary] = (),
    title: str = "",
    command: str = "",
) -> Path:
    """Write the page of some cases, and of the figures of comparisons if there are any; `command` is what draws it.

    The cases may be a stream: they are drawn as they come. The file appears when it is complete.
    """
    style = palette.css() + asset("highlights.css") + asset("figures.css") + asset("page.css")
    script = asset("page.js")
    looks = page_looks(summaries)
    models = [view for place, summary in enumerate(summaries) for view in views(summary, looks, f"{place}-")]
    made_by = dict.fromkeys([*(summary.command for summary in summaries), command])
    pieces = (
        environment()
        .get_template("page.html")
        .generate(
            title=title or ("Which explanation can be believed?" if summaries else "Explanations"),
            policy=_policy(style, script),
            style=Markup(style),
            script=Markup(script),
            models=models,
            stability=stability_views(summaries, looks),
            drawn=Drawn(cases, _order(models)),
            commands=[made for made in made_by if made],
            facts=_facts(summaries, models),
            grid=grid.view(summaries),
            **WRITING,
        )
    )
    path = Path(path)
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)
    return path


def write_comparisons(
    comparisons: Sequence[Comparison], path: Path | str, *, title: str = "", command: str = "", limit: int | None = None
) -> Path:
    """Write one page of some comparisons; with a limit, of the first texts of each only."""
    cases = (case for comparison in comparisons for text in islice(_texts(comparison), limit) for case in text)
    summaries = [comparison.summary for comparison in comparisons]
    return write_page(cases, path, summaries=summaries, title=title, command=command)


def write_comparison(comparison: Comparison, path: Path | str) -> Path:
    """Write the page of one comparison."""
    return write_comparisons([comparison], path)


def _texts(comparison: Comparison) -> Iterator[tuple[Case, ...]]:
    """Each text with what every model says of it. All models have the same texts, so none has to wait for another."""
    return zip(*(comparison.cases(model) for model in comparison.summary.models), strict=True)


def _facts(summaries: Sequence[Summary], models: Sequence[ModelView]) -> list[tuple[str, str]]:
    """What the page was made with: versions, hardware and the options of the metrics, each once."""
    if not summaries:
        return [("rationales", package_version())]
    facts = [fact for summary in summaries for fact in (*summary.versions.items(), *summary.hardware.items())]
    facts += [(column.measure.name, column.options) for model in models for column in model.columns if column.options]
    return list(dict.fromkeys((name, str(value)) for name, value in facts))


def _policy(style: str, script: str) -> str:
    def named(source: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode('ascii')}'"

    return (
        f"default-src 'none'; style-src {named(style)}; script-src {named(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _order(models: Sequence[ModelView]) -> Mapping[str, int]:
    """The order of the methods: as they are ranked, for the first model that has them."""
    names = dict.fromkeys(row.standing.method for model in models for row in model.rows)
    return {name: place for place, name in enumerate(names)}
