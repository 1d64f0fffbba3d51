"""`rationales train diffmask`: it is trained on a model and not on labels, so it has a command of its own."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Any

import typer

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, with_fields
from rationales.cli.train import splits
from rationales.data import Columns, load

EXAMPLES = """Examples:

rationales train diffmask --model my-da --data pairs.csv --out gates

rationales train diffmask --model my-da --data snli --data-dir data --limit 20000 --epochs 5 --out gates

rationales explain --model my-da --method diffmask:gates=gates "A man sleeps." --pair "A man is awake."

A run that was stopped goes on when the same command is given again. The gates are for this model and no other."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    from rationales.train.diffmask import Config

    command = with_fields(
        diffmask, (Config, "Training", lambda field: field), (Columns, "Columns of the data", column_flag)
    )
    command.__doc__ = Config.__doc__
    app.command(name="diffmask", epilog=EXAMPLES)(command)


def diffmask(
    data: Annotated[str, typer.Option(help="File, directory or name of the data set of pairs; needs no labels.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Directory or hub name of the model to explain.")],
    dev: Annotated[str | None, typer.Option(help="Data to choose the best epoch by; else the dev split.")] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[int | None, typer.Option(help="No more training pairs than this, and no more dev pairs.")] = None,
    quotes: Quotes = True,
    objects: tuple[Any, ...] = (),
) -> None:
    """Train gates for a model; what the list shows is the first line of the recipe's `Config`."""
    from rationales.train.diffmask import train

    config, columns = objects
    opened = partial(load, columns=columns, data_dir=data_dir, on_error=on_error, quotes=quotes)
    training, held_out = splits(data, dev, limit, opened)
    out = train(config, training, held_out, model=model, tell=lambda line: print(line, file=sys.stderr))
    print(out)
    print(
        f'try it: rationales explain --model {model} --method diffmask --gates {out} "first text" --pair "second text"',
        file=sys.stderr,
    )
