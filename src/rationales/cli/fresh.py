"""`rationales train fresh`: its rationales come from a model or from files, so it has a command of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, built, parameter, parted, with_fields
from rationales.cli.sources import names_of, split_or_whole
from rationales.cli.train import CLOSE, NOTHING_LEARNED, notes_told, of_one_label, splits
from rationales.data import Columns, Dataset, load
from rationales.errors import InputError, NoSuchSplit
from rationales.registry import options_of

if TYPE_CHECKING:
    from rationales.train.fresh_measuring import Figures
    from rationales.train.loop import Settings

EXAMPLES = """Examples:

rationales train fresh --data sst2 --data-dir data --model my-classifier --method scaled_attention --out fresh

rationales train fresh --data reviews.csv --model my-classifier --method lime:samples=50 --ratio 0.1 --seeds 1,2,3

rationales train fresh --data reviews.csv --explanations lime.parquet --ratio 0.1 --out fresh-lime

rationales train fresh --data films.csv --model my-classifier --test films-test.csv --test restaurants.csv

A run that was stopped goes on when the same command is given again. The models expect texts that were cut down to \
their rationale in the same way."""


def register(app: typer.Typer) -> None:
    """Add the command; there is no --seed among its options, since it has --seeds."""
    from rationales.train.fresh import Config

    merged = [parameter(each.name, each, panel="Training") for each in options_of(Config) if each.name != "seed"]
    command = with_fields(fresh, (Columns, "Columns of the data", column_flag), merged=merged)
    command.__doc__ = Config.__doc__
    app.command(name="fresh", epilog=EXAMPLES)(command)


def fresh(
    data: Annotated[str, typer.Option(help="File, directory or name of the data set to train on.")],
    dev: Annotated[str | None, typer.Option(help="Data to choose the best epoch by; else the dev split.")] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Data to measure on; else the test split, if there is one. May be given again: other domains."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Directory or hub name of the model to explain.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="A name from: rationales methods, options behind it: lime:samples=50. Else the model's own, or "
            "integrated_gradients."
        ),
    ] = None,
    explanations: Annotated[
        list[Path] | None,
        typer.Option(help="File of saved explanations, in place of a model; may be given again, for other splits."),
    ] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[int | None, typer.Option(help="No more training texts than this, and no more dev texts.")] = None,
    quotes: Quotes = True,
    objects: tuple[Any, ...] = (),
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Train classifiers on rationales alone; what the list shows is the first line of the recipe's `Config`."""
    if bool(model) == bool(explanations):
        raise InputError("where do rationales come from? Give either --model to explain, or --explanations FILE")
    from rationales.explainers import method_named
    from rationales.train.fresh import SUMMARY, Config, train

    (columns,) = objects
    config = built("fresh", Config, extra)
    explainer = None
    if method:
        name, options = parted(method)
        explainer = built(name, method_named(name), options)

    opened = partial(load, columns=columns, data_dir=data_dir, on_error=on_error, quotes=quotes)
    with _one_speaks(config), notes_told():
        training, held_out = splits(data, dev, limit, opened)
        found = train(
            config,
            training,
            held_out,
            _tests(data, test or [], opened),
            model=model,
            method=explainer,
            explanations=explanations or None,
            labels=training.labels,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
        for split, figures in (("dev", found.dev), *found.tests.items()):
            agreement = found.agreement.get(split)
            agreed = f", agreement with what is explained {_shown(agreement)}" if agreement else ""
            print(f"{split} macro-F1 {_shown(figures)}{agreed}", file=sys.stderr)
        if found.dev.mean <= of_one_label(held_out, "macro_f1") + CLOSE:
            print(f"that of the dev data {NOTHING_LEARNED}: nothing was learned from these rationales", file=sys.stderr)
        print("the models expect texts that were cut down to their rationale, not whole ones", file=sys.stderr)
        print(found.out / SUMMARY)


@contextmanager
def _one_speaks(config: Settings) -> Iterator[None]:
    """Of several processes, on as many devices, the first prints and warns; errors, which leave the block, all have."""
    from rationales.train.loop import session

    with session(config) as accelerator:
        first = accelerator.is_main_process
    if first:
        yield
        return
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def _tests(data: str, sources: Sequence[str], opened: Any) -> dict[str, Dataset]:
    """The sets to measure on, by their names: those that are given, else the test split, unless that has no labels."""
    if sources:
        names = names_of(sources, "--test")
        return {name: split_or_whole(opened, source, "test") for name, source in zip(names, sources, strict=True)}
    try:
        own: Dataset = opened(data, split="test")
    except NoSuchSplit:
        return {}
    if all(example.label is None for example in own):
        print("the test split has no labels; figures are of the dev data alone", file=sys.stderr)
        return {}
    return {"test": own}


def _shown(figures: Figures) -> str:
    spread = "" if figures.std is None else f" ± {figures.std:.4f}"
    return f"{figures.mean:.4f}{spread}"
