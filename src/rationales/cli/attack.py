"""`rationales attack`: how easily do harmless edits turn right answers into wrong ones?"""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, built, parameter, with_fields, without_options
from rationales.data import Columns, load
from rationales.errors import InputError
from rationales.registry import options_of
from rationales.report.terminal import printable

if TYPE_CHECKING:
    from rationales.attack import Attacked, Figures, Outcome, Paired

EXAMPLES = """Examples:

rationales attack --model my-classifier --data reviews.csv

rationales attack -m baseline -m regex --data imdb --split test --limit 400 --edits contractions,names,places \
--max-edits 0 --out my-attack

A run that was stopped goes on when the same command is given again."""


def register(app: typer.Typer, words: Sequence[str]) -> None:
    """Add the command, with its options if it is the one that is called."""
    if words[:1] != ["attack"]:
        app.command(name="attack")(without_options("attack", attack.__doc__))
        return
    from rationales.attack import Search

    merged = [parameter(each.name, each, panel="Search") for each in options_of(Search)]
    command = with_fields(attack, (Columns, "Columns of the data", column_flag), merged=merged)
    app.command(name="attack", epilog=EXAMPLES)(command)


def attack(
    data: Annotated[str, typer.Option(help="File, directory or name of a data set with labels.")] = "",
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Directory or hub name; may be given again.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the data set.")] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[int | None, typer.Option(help="No more texts than this.", min=1)] = None,
    quotes: Quotes = True,
    out: Annotated[Path, typer.Option(help="Directory for the results.")] = Path("attack"),
    show: Annotated[int, typer.Option(help="Flipped texts to print of each model, at most; 0: none.", min=0)] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    max_length: Annotated[int | None, typer.Option(help="Cut texts to so many tokens.")] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1; else the best there is.")] = None,
    objects: tuple[Any, ...] = (),
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Edit contractions, names, places and numbers, and see how many right answers turn wrong."""
    if not model:
        raise InputError("which model? Give --model DIRECTORY_OR_HUB_NAME (rationales demo trains one)")
    if not data:
        raise InputError("which texts? Give --data FILE_OR_NAME (rationales data lists the names)")
    from rationales import models
    from rationales.attack import Search
    from rationales.attack import attack as run

    search = built("attack", Search, extra)
    (columns,) = objects
    examples = load(
        data, split=split, columns=columns, data_dir=data_dir, on_error=on_error, limit=limit, quotes=quotes
    )
    loaded = {name: models.load(name, device=device, max_length=max_length) for name in dict.fromkeys(model)}
    found = run(loaded, examples, search, out=out, command=shlex.join(["rationales", *sys.argv[1:]]))
    results = out / "results.json"
    if as_json:
        print(json.dumps(json.loads(results.read_text(encoding="utf-8")), ensure_ascii=False))
    else:
        _print(found, show, Console())
    print(f"every text: {results}", file=sys.stderr)


def _print(found: Attacked, show: int, console: Console) -> None:
    """The figures of each model, the further models beside the first, and `show` flipped texts of each."""
    if not console.is_terminal:
        console.width = max(console.width, 40 + 40 * len(found.figures))
    console.print(_table(found.figures))
    for each in found.figures:
        if each.right and each.no_edits == each.right:
            said = f"{printable(each.model)}: no text that it gets right has anything to edit, so nothing was attacked"
            console.print(f"\n{said}; this says nothing of how it would hold.", markup=False, highlight=False)
    if found.paired:
        console.print()
        console.print(_paired_table(found.paired))
    for title, outcomes in found.outcomes.items():
        flipped = [each for each in outcomes if each.status == "flipped"]
        if some := flipped[:show]:
            lines = [Text(f"\n{printable(title)}: {len(some)} of {len(flipped)} flipped texts"), *map(_flip, some)]
            console.print(*lines, sep="\n", highlight=False, soft_wrap=not console.is_terminal)


def _table(figures: Sequence[Figures]) -> Table:
    """One column for each model."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("")
    for each in figures:
        table.add_column(Text(printable(each.model)), justify="right", overflow="fold")
    rows = {
        "texts": [str(each.texts) for each in figures],
        "right before": [str(each.right) for each in figures],
        "flipped": [str(each.flipped) for each in figures],
        "nothing to edit": [str(each.no_edits) for each in figures],
        "accuracy before ↑": [_percent(each.accuracy) for each in figures],
        "accuracy under attack ↑": [
            _with_interval(each.accuracy_under_attack, each.accuracy_under_attack_interval) for each in figures
        ],
        "success rate ↓": [_with_interval(each.success_rate, each.success_rate_interval) for each in figures],
        "words changed": [_percent(each.words_changed) for each in figures],
        "… where it flipped": [_percent(each.words_changed_flipped) for each in figures],
        "queries per text": ["–" if math.isnan(each.queries) else f"{each.queries:.1f}" for each in figures],
    }
    for heading, cells in rows.items():
        table.add_row(heading, *cells)
    table.caption = (
        "Success rate, words changed and queries are of the texts that were right before. In brackets: 95 % intervals."
    )
    table.caption_justify = "left"
    return table


def _paired_table(paired: Sequence[Paired]) -> Table:
    """Two rows for each model but the first."""
    table = Table(box=box.SIMPLE_HEAD, title=Text(f"Beside {printable(paired[0].first)}, text by text"))
    table.title_justify = "left"
    table.add_column("model", overflow="fold")
    table.add_column("by")
    for heading in ("texts", "only the\nfirst holds", "only this\none holds", "p"):
        table.add_column(heading, justify="right")
    for each in paired:
        p = "< 0.001" if each.p < 0.001 else f"{each.p:.3f}"
        counts = map(str, (each.texts, each.only_first, each.only_other))
        table.add_row(Text(printable(each.other)), each.figure.replace("_", " "), *counts, p)
    table.caption = (
        "A model holds where it was right and did not flip; by success rate, of the texts that both had right. "
        "p: McNemar's exact test."
    )
    table.caption_justify = "left"
    return table


def _flip(outcome: Outcome) -> Text:
    """What the model said before and after, and each text with its edits."""
    from rationales.attack.shown import pieces

    before = f"{outcome.predicted} {outcome.probability:.3f}"
    after = f"{outcome.predicted_after} ({outcome.predicted} {outcome.probability_after:.3f})"
    shown = Text(printable(f"[{outcome.id}] {before} → {after}"), style="dim")
    for segment in range(len(outcome.texts)):
        shown.append("\n  ")
        for piece in pieces(outcome, segment):
            shown.append(printable(piece.text), style="not dim bold" if piece.changed else "not dim")
    return shown


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    """`20.0% (5.7–51.0)`, or a dash."""
    low, high = (100 * end for end in interval)
    return "–" if math.isnan(share) else f"{share:.1%} ({low:.1f}–{high:.1f})"
