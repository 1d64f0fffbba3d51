"""`rationales report`: explanations and results on one page that opens anywhere."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from rationales.errors import InputError

EXAMPLES = """Examples:

rationales report runs/reviews

rationales report ig.parquet lime.parquet people.jsonl --out page.html --open"""


def register(app: typer.Typer, _words: Sequence[str]) -> None:
    """Add the command."""
    app.command(name="report", epilog=EXAMPLES)(report)


def report(
    sources: Annotated[list[Path], typer.Argument(help="Directories of comparisons, or files of explanations.")],
    out: Annotated[Path | None, typer.Option(help="The page; else report.html, beside what it shows.")] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    limit: Annotated[int | None, typer.Option(help="No more texts than this; of comparisons, for each model.")] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write one self-contained page of comparisons, or of saved explanations (.parquet or .jsonl) side by side."""
    from rationales.comparison import Comparison, Grid
    from rationales.comparison.grid import told_apart
    from rationales.comparison.store import is_grid
    from rationales.report import cases_of, write_comparisons, write_page

    if limit is not None and limit < 1:
        raise InputError(f"--limit must be at least 1, got {limit}")
    command = shlex.join(["rationales", *sys.argv[1:]])
    directories = [source for source in sources if source.is_dir()]
    page = out or (directories[0] / "report.html" if directories else sources[0].with_name("report.html"))
    if not directories:
        write_page(islice(cases_of(sources), limit), page, title=title, command=command)
    elif directories == sources:
        grids = (Grid.load(source).values() if is_grid(source) else [Comparison.load(source)] for source in sources)
        found = told_apart(list(chain.from_iterable(grids)))
        write_comparisons(found, page, title=title, command=command, limit=limit)
    else:
        raise InputError(f"a page shows comparisons or files; {directories[0]} is a directory among files")
    print(page)
    if open_it:
        webbrowser.open(page.resolve().as_uri())
