"""`rationales train …`: one sub-command for each recipe, its options the fields of the recipe's config."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

import typer

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, with_fields, without_options
from rationales.data import Columns, Dataset, load
from rationales.errors import NoSuchSplit

EXAMPLE = """Example:

rationales train classifier --data reviews.csv --out my-classifier

rationales train classifier --data sst2 --data-dir data --encoder google/electra-small-discriminator --out sst2"""


def register(root: typer.Typer, called: str) -> None:
    """Add a sub-command for each recipe, with its options if `train` is what is called."""
    app = typer.Typer(help="Train a model.", no_args_is_help=True)
    root.add_typer(app, name="train")
    if called != "train":
        app.command(name="classifier")(without_options(classifier))
        return
    from rationales.train.classifier import Config

    command = with_fields(
        classifier,
        (Config, "Training", lambda name: name),
        (Columns, "Columns of the data", column_flag),
    )
    app.command(name="classifier", epilog=EXAMPLE)(command)


def classifier(
    data: Annotated[str, typer.Option(help="File, directory or name of the data set to train on.")],
    dev: Annotated[str | None, typer.Option(help="Data to choose the best epoch by; else the dev split.")] = None,
    data_dir: DataDir = None,
    on_error: Annotated[Literal["fail", "skip"], typer.Option(help="What to do with a bad row.")] = "fail",
    limit: Annotated[int | None, typer.Option(help="No more training texts than this.")] = None,
    quotes: Annotated[bool, typer.Option(help="Whether quotation marks enclose fields of CSV and TSV.")] = True,
    objects: tuple[Any, ...] = (),
) -> None:
    """Fine-tune an encoder to classify texts or pairs, or to predict a number."""
    from rationales.train.classifier import train

    config, columns = objects

    def opened(source: str, split: str | None, most: int | None = None) -> Dataset:
        return load(
            source, split=split, columns=columns, data_dir=data_dir, on_error=on_error, limit=most, quotes=quotes
        )

    training, held_out = _splits(data, dev, limit, opened)
    directory = train(config, training, held_out)
    epochs = json.loads((directory / "rationales.json").read_text(encoding="utf-8"))
    print(f"best dev score {epochs['best_score']:.4f} in epoch {epochs['best_epoch']}", file=sys.stderr)
    print(directory)
    print(f'try it: rationales explain --model {directory} "some text"', file=sys.stderr)


def _splits(data: str, dev: str | None, limit: int | None, opened: Any) -> tuple[Dataset, Dataset]:
    """Training and dev data: two sources, two splits of one, or nine tenths and one tenth of one without splits."""

    def either(source: str, split: str, most: int | None = None) -> Dataset:
        try:
            found: Dataset = opened(source, split, most)
        except NoSuchSplit:  # then it should have one part only
            found = opened(source, None, most)
        return found

    whole = either(data, "train", limit)
    if dev is not None:
        return whole, either(dev, "dev")
    try:
        return whole, opened(data, "dev", None)
    except NoSuchSplit:
        return whole.folds(range(9)), whole.folds([9])
