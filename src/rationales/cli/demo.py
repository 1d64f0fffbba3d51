"""`rationales demo`: the main job on embedded defaults, without network, account or options."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

METHODS = ("random", "attention", "gradient", "integrated_gradients", "deeplift", "leave_one_out")
METRICS = ("auroc", "sufficiency", "comprehensiveness")
SHOWN = "integrated_gradients"


def register(app: typer.Typer, _called: str) -> None:
    """Add the command."""
    app.command(epilog="Example: rationales demo --out demo")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Directory for the model and the explanations.")] = Path("demo"),
    shown: Annotated[int, typer.Option(help="Held-out reviews to print.")] = 3,
    measured: Annotated[int, typer.Option(help="Held-out reviews to measure the methods on.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the data and of training.")] = 0,
) -> None:
    """Train a classifier on embedded reviews, explain held-out ones, and measure which method finds the truth."""
    from rationales import evaluate, explain, load_model
    from rationales.data import gold_selection
    from rationales.data.planted import REVIEW_LABELS, reviews
    from rationales.report import coloured, plain
    from rationales.train.classifier import Config, train

    console = Console()
    started = time.monotonic()
    console.print("Training a classifier of restaurant reviews, in which only what is said of the food counts …")
    config = Config(out=out / f"model-{seed}", epochs=2, learning_rate=2e-4, seed=seed)
    directory = train(config, reviews(1200, seed=seed), reviews(200, seed=seed + 1), labels=REVIEW_LABELS)
    model = load_model(directory)

    held_out = reviews(measured, seed=seed + 2)
    gold = [gold_selection(example) for example in held_out]
    table = Table("method", *METRICS, "seconds", title=f"{measured} held-out reviews: mean and 95 % interval")
    for name in METHODS:
        began = time.monotonic()
        found = explain(model, held_out, name, out=out / f"{name}.parquet")
        took = time.monotonic() - began
        figures = [row.aggregate for row in evaluate(model, found, METRICS, gold=gold)]
        table.add_row(name, *(f"{a.mean:.2f} [{a.low:.2f}, {a.high:.2f}]" for a in figures), f"{took:.1f}")
        if name == SHOWN:
            console.print(
                "\nWhy the model decides so (for the label [bold]bold[/], against it [underline]underlined[/]):"
            )
            for explanation, example in zip(found[:shown], held_out, strict=False):
                decisive = ", ".join(example.texts[0][start:end] for start, end in (example.rationale or ((),))[0])
                console.print()
                console.print(coloured(explanation) if console.is_terminal else plain(explanation, 5), markup=False)
                console.print(f"  planted: {decisive}", markup=False, highlight=False)
    console.print()
    console.print(table)
    console.print("auroc: how well the scores single out the planted words (0.5 is chance). Higher is better, except")
    console.print("for sufficiency. A model and texts of your own:")
    console.print(f'  rationales explain --model {directory} "Your text."', markup=False, highlight=False)
    console.print(f"The model and all explanations are in {out} ({time.monotonic() - started:.0f} s).", highlight=False)
