"""`rationales train …`: one sub-command for each recipe, its options the fields of the recipe's config."""

from __future__ import annotations

import ast
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from rationales import train
from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, with_fields, without_options
from rationales.cli.sources import split_or_whole
from rationales.data import Columns, Dataset, load
from rationales.errors import NoSuchSplit
from rationales.report.terminal import printable

ABOUT = "Train a model: a classifier, or one that explains itself."

CLASSIFIER = """Example:

rationales train classifier --data reviews.csv --out my-classifier

rationales train classifier --data sst2 --data-dir data --encoder google/electra-small-discriminator --out sst2"""

RATIONALIZER = """Example:

rationales train {0} --data reviews.csv --out my-{0}

rationales train {0} --data beer-aroma --data-dir data --vectors glove.6B.100d.txt --out beer-{0}

rationales explain --model my-{0} "The soup was wonderful." """


PAIRS = """Example:

rationales train {0} --data pairs.csv --vectors glove.6B.100d.txt --out my-{0}

rationales train {0} --data snli --data-dir data --vectors glove.6B.100d.txt --out snli-{0}

rationales explain --model my-{0} "A man sleeps." --pair "A man is awake." --method arec"""


CLOSE = 0.02
NOTHING_LEARNED = "is hardly better than always giving the commonest label"
"""A dev score so little above that of one label for all is chance."""


SHOWN = 5
"""Labels in one line."""


class Recipe(NamedTuple):
    """What one sub-command runs: the options, the function, examples for the help, and how best to explain the model.

    No method: that which `rationales explain` takes by itself.
    """

    config: type
    train: Callable[[Any, Dataset, Dataset], Path]
    examples: str
    method: str = ""


def register(root: typer.Typer, words: Sequence[str]) -> None:
    """Add a sub-command for each recipe, with its options if it is the one that is called."""
    if words[:1] != ["train"]:
        root.command(name="train")(without_options("train", ABOUT))
        return
    app = typer.Typer(help=ABOUT, no_args_is_help=True)
    root.add_typer(app, name="train")
    called = next(iter(words[1:]), "")
    recipes = _recipes() if called else {}
    for name, about in listed().items():
        if name == called == "fresh":
            from rationales.cli import fresh  # which reads the data as this does

            fresh.register(app)
        elif name == called == "diffmask":
            from rationales.cli import diffmask

            diffmask.register(app)
        elif name == called:
            recipe = recipes[name]
            command = with_fields(
                _command(name, recipe),
                (recipe.config, "Training", lambda field: field),
                (Columns, "Columns of the data", column_flag),
            )
            app.command(name=name, epilog=recipe.examples)(command)
        else:
            app.command(name=name)(without_options(name, about))


def listed() -> dict[str, str]:
    """What can be trained, by name, with a line on each.

    A recipe is a file with a class `Config`. The files are read and not imported, since they would bring PyTorch.
    """
    found = {}
    home = Path(train.__file__).parent
    for file in (*sorted(home.glob("*.py")), *sorted(home.glob("rationalizers/*.py"))):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name == "Config":
                found[file.stem] = (ast.get_docstring(node) or "").partition("\n")[0]
    return found


def _recipes() -> dict[str, Recipe]:
    """All that can be trained, by name."""
    from rationales.train import classifier, da, esim, rationalizers, regex

    found = {
        "classifier": Recipe(classifier.Config, classifier.train, CLASSIFIER, "arec"),
        "da": Recipe(da.Config, da.train, PAIRS.format("da"), "arec"),
        "esim": Recipe(esim.Config, esim.train, PAIRS.format("esim"), "arec"),
        "regex": Recipe(regex.Config, regex.train, CLASSIFIER.replace("classifier", "regex"), "arec"),
    }
    for name, game in rationalizers.rationalizers.items():
        found[name] = Recipe(game.Config, partial(rationalizers.train, name), RATIONALIZER.format(name))
    return found


def _command(name: str, recipe: Recipe) -> Callable[..., None]:
    def command(
        data: Annotated[str, typer.Option(help="File, directory or name of the data set to train on.")],
        dev: Annotated[str | None, typer.Option(help="Data to choose the best epoch by; else the dev split.")] = None,
        data_dir: DataDir = None,
        on_error: OnError = "fail",
        limit: Annotated[
            int | None, typer.Option(help="No more training texts than this, and no more dev texts.")
        ] = None,
        quotes: Quotes = True,
        objects: tuple[Any, ...] = (),
    ) -> None:
        config, columns = objects

        opened = partial(load, columns=columns, data_dir=data_dir, on_error=on_error, quotes=quotes)
        training, held_out = splits(data, dev, limit, opened)
        with notes_told():
            directory = recipe.train(config, training, held_out)
        epochs = json.loads((directory / "rationales.json").read_text(encoding="utf-8"))
        score = f"{epochs['best_score']:.4f} ({epochs['run']['metric']})"
        reached = f"best dev score {score} in epoch {epochs['best_epoch']}"
        print(f"{reached}, of {len(list(held_out))} dev texts", file=sys.stderr)
        if epochs["best_score"] <= of_one_label(held_out, epochs["run"]["metric"]) + CLOSE:
            less = ", or less of --gradient-weight" if getattr(config, "gradient_weight", 0) else ""
            print(
                f"that {NOTHING_LEARNED}: this model has learned nothing to explain. Give it more epochs, more texts "
                f"or a higher learning rate{less}",
                file=sys.stderr,
            )
        print(directory)
        first = next(iter(training), None)
        paired = first is not None and len(first.texts) == 2
        texts = '"first text" --pair "second text"' if paired else '"some text"'
        method = f" --method {recipe.method}" if recipe.method and paired else ""
        print(f"try it: rationales explain --model {directory} {texts}{method}", file=sys.stderr)

    command.__name__, command.__doc__ = name, recipe.config.__doc__
    return command


@contextmanager
def notes_told() -> Iterator[None]:
    """Inside, what a recipe notes of its directory is said: that it goes on, or was finished before.

    And how each epoch did, where there is no terminal to draw a bar in.
    """
    from rationales.train import checkpoint, loop

    told = [checkpoint.notes, *([] if sys.stderr.isatty() else [loop.log])]
    handler, levels = logging.StreamHandler(sys.stderr), [logger.level for logger in told]
    for logger in told:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(told, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


def of_one_label(data: Dataset, metric: str) -> float:
    """The score of always giving the commonest label; of no use where numbers are predicted."""
    counts = Counter(example.label for example in data if example.label is not None)
    share = max(counts.values(), default=0) / max(counts.total(), 1)
    scores = {"accuracy": share, "macro_f1": 2 * share / (1 + share) / max(len(counts), 1)}
    return scores.get(metric, float("-inf"))


def splits(data: str, dev: str | None, limit: int | None, opened: Any) -> tuple[Dataset, Dataset]:
    """Training and dev data: two sources, two splits of one, or nine tenths and one tenth of one without splits.

    Neither has more texts than the limit. What is set aside is said, and which labels it lacks.
    """

    limited = partial(opened, limit=limit)
    whole = split_or_whole(limited, data, "train")
    if dev is not None:
        return whole, split_or_whole(limited, dev, "dev")
    try:
        return whole, limited(data, split="dev")
    except NoSuchSplit:
        parts = whole.folds(range(9)), whole.folds([9])
    _say_set_aside(*parts)
    return parts


def _say_set_aside(training: Dataset, dev: Dataset) -> None:
    learned, held = (Counter(example.label for example in part) for part in (training, dev))
    if not held:
        return  # the recipe says that there are none
    print(
        f"no dev data are given: {held.total()} of {held.total() + learned.total()} texts are set aside to choose the "
        "best epoch by (--dev gives others)",
        file=sys.stderr,
    )
    if any(isinstance(label, float) for label in learned):
        return  # numbers to predict, which need not come back
    names: dict[object, str] = dict(enumerate(training.labels or ()))
    missing = sorted(names.get(label, str(label)) for label in learned.keys() - held.keys() if label is not None)
    if missing:
        shown = ", ".join(missing[:SHOWN]) + (f" and {len(missing) - SHOWN} more" if missing[SHOWN:] else "")
        say = f"no text that is set aside is labelled {shown}, so the dev score says nothing of that; give more texts"
        print(printable(f"warning: {say}, or dev data with every label (--dev)"), file=sys.stderr)
