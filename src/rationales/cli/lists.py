"""`methods`, `metrics` and `data`: what is there."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from rationales.cli.fields import DataDir
from rationales.registry import Option, options_of, summary

console = Console()
Name = Annotated[str | None, typer.Argument(help="Show one of them in full.")]


def register(app: typer.Typer, _words: Sequence[str]) -> None:
    """Add the commands."""
    app.command(epilog="Example: rationales methods integrated_gradients")(methods)
    app.command(epilog="Example: rationales metrics comprehensiveness")(metrics)
    app.command(epilog="Example: rationales data planted-reviews --split dev")(data)


def methods(name: Name = None) -> None:
    """List the methods that explain, or show one with its options."""
    from rationales.explainers import OWN, aligners, explainers, method_named

    if name is None:
        known = [(each, method_named(each)) for each in (*explainers, *aligners, OWN)]
        _table(("method", "needs", "what it does"), [(each, cls.needs.__name__, summary(cls)) for each, cls in known])
    else:
        _show(name, method_named(name).__doc__, options_of(method_named(name)))


def metrics(name: Name = None) -> None:
    """List the metrics, or show one with its options."""
    from rationales.metrics import metrics as known

    if name is None:
        rows = [(n, m.family, m.best, ", ".join(m.needs) or "–", summary(m)) for n, m in known.items()]
        _table(("metric", "family", "best", "needs", "what it measures"), sorted(rows, key=lambda row: row[1]))
    else:
        metric = known[name]
        _show(f"{name} ({metric.family}, best {metric.best})", metric.__doc__, metric.options)


def data(
    name: Name = None,
    data_dir: DataDir = None,
    split: Annotated[str | None, typer.Option(help="Split to show examples of.")] = None,
    limit: Annotated[int, typer.Option(help="Examples to show.")] = 3,
) -> None:
    """List the data sets known by name, or show the first examples of one, or of any file or directory."""
    from rationales.data import load, named_sets
    from rationales.data.planted.table import PLANTED, SPLITS

    if name is None:
        rows = [(name, ", ".join(spec.splits), spec.summary) for name, spec in named_sets.items()]
        planted = [(name, ", ".join(SPLITS), summary(make)) for name, (make, _) in PLANTED.items()]
        _table(("data", "splits", "what it is"), rows + planted)
        return
    if split is None:
        split = next(iter(named_sets[name].splits if name in named_sets else SPLITS if name in PLANTED else ()), None)
    found = load(name, split=split, data_dir=data_dir, limit=limit)
    console.print(f"{found.name}: labels {', '.join(found.labels or ()) or 'not named'}", markup=False)
    for example in found:
        console.print()
        _fields(example, ("id", "texts", "label", "choices", "rationale", "alignment", "sentences"))


def _fields(thing: Any, names: Sequence[str]) -> None:
    for name in names:
        value = getattr(thing, name)
        if value not in (None, ()):
            console.print(f"  {name:10} {value!r}", markup=False, highlight=False)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not console.is_terminal:  # one row a line, for grep and cut
        for row in rows:
            print("\t".join(row))
        return
    table = Table(*heads, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _show(title: str, about: str | None, options: Sequence[Option]) -> None:
    console.print(title, style="bold", markup=False)
    console.print(inspect.cleandoc(about or ""), markup=False, highlight=False)
    for option in options:
        flag = "--" + option.name.replace("_", "-")
        console.print(f"  {flag} = {option.default!r}: {option.help}", markup=False, highlight=False)
