"""`rationales diagnose`: what goes on between selector and predictor while they are trained, in numbers and plots."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, built, parameter, with_fields, without_options
from rationales.cli.sources import split_or_whole
from rationales.cli.train import splits
from rationales.data import Columns, Dataset, Example, load
from rationales.errors import NoSuchSplit
from rationales.registry import Option, options_of

if TYPE_CHECKING:
    from rationales.train.labels import Part, Task

EXAMPLES = """Examples:

rationales diagnose --out diagnosis

rationales diagnose --data beer-aroma --data-dir data --vectors glove.6B.100d.txt --seeds 1,2,3,4,5 \
--updates 20000 --every 500 --sparsity 0.123 --out beer-diagnosis"""

EMBEDDED = "planted reviews"
LESSON = MappingProxyType(
    {
        "hidden": 32,
        "vector_size": 32,
        "batch_size": 32,
        "learning_rate": 0.01,
        "sparsity": 0.125,
        "sparsity_weight": 5.0,
        "continuity_weight": 3.0,
    }
)
"""Options with which networks learn the embedded reviews in a few hundred steps, unless others are given."""
SIZES = (2000, 300, 300)
"""Embedded reviews to train on, to choose the best by, and to measure on."""
SETTLED = ("out", "overwrite", "seed", "perturb")
WITHOUT = ("epochs", "warmup", "decay", "weight_decay", "patience", "precision")
TRANSFORMERS = ("encoder", "encoder_learning_rate", "masking", "pooling")
"""Options of a rationalizer that the plan settles, that many runs at once do not have, and that word vectors lack."""


def register(app: typer.Typer, words: Sequence[str]) -> None:
    """Add the command, with its options if it is the one that is called."""
    if words[:1] != ["diagnose"]:
        app.command(name="diagnose")(without_options("diagnose", diagnose.__doc__))
        return
    from rationales.train.rationalizers.diagnosis import Plan
    from rationales.train.rationalizers.rnp import Config

    training = [each for each in options_of(Config) if each.name not in (*SETTLED, *WITHOUT, *TRANSFORMERS)]
    merged = [parameter(each.name, each, panel="Diagnosis") for each in options_of(Plan)]
    merged += [parameter(each.name, _with_lesson(each), panel="Training") for each in training]
    command = with_fields(diagnose, (Columns, "Columns of the data", column_flag), merged=merged)
    app.command(name="diagnose", epilog=EXAMPLES)(command)


def _with_lesson(option: Option) -> Option:
    """An option whose help also tells the default on the embedded reviews, where that is another."""
    if option.name not in LESSON:
        return option
    return replace(option, help=f"{option.help.rstrip('.')}; {LESSON[option.name]} without --data")


def diagnose(
    data: Annotated[
        str, typer.Option(help="File, directory or name of a data set. None: planted reviews, small networks.")
    ] = "",
    dev: Annotated[str | None, typer.Option(help="Data to choose the best weights by; else the dev split.")] = None,
    marked: Annotated[
        str | None, typer.Option(help="Data with marked words to measure on; else the test split, or the dev data.")
    ] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[
        int | None, typer.Option(help="No more training texts than this, and no more dev texts.", min=1)
    ] = None,
    quotes: Quotes = True,
    out: Annotated[Path, typer.Option(help="Directory for diagnosis.json and the page.")] = Path("diagnosis"),
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1; else the best there is.")] = None,
    objects: tuple[Any, ...] = (),
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Train RNP and VER, measure what goes on between their players, and plot it."""
    from rationales.explanation.files import check_writable
    from rationales.models.loading import checked_device
    from rationales.report.diagnosis import write_diagnosis
    from rationales.results import hardware, versions
    from rationales.train.rationalizers import diagnosis
    from rationales.train.rationalizers.rnp import Config

    own = {each.name for each in options_of(diagnosis.Plan)}
    plan = built("diagnose", diagnosis.Plan, {name: value for name, value in extra.items() if name in own})
    given = {name: value for name, value in extra.items() if name not in own}
    config = built("diagnose", Config, given if data else {**LESSON, **given})
    (columns,) = objects

    opened = partial(load, columns=columns, data_dir=data_dir, on_error=on_error, quotes=quotes)
    task, measured = _read(data, dev, marked, limit, opened) if data else _embedded(limit)
    check_writable(out / "diagnosis.json")
    with _telling(plan.work) as tell:
        found = diagnosis.diagnose(plan, task, measured, config, device=checked_device(device), tell=tell)
    asked = sum(any(example.rationale or ()) for example in measured.examples)
    used = {name: value for name, value in asdict(config).items() if name not in (*SETTLED, *WITHOUT, *TRANSFORMERS)}
    content = _plain(
        {
            "command": shlex.join(["rationales", *sys.argv[1:]]),
            "versions": versions(),
            "hardware": hardware(),
            "data": {"name": data or EMBEDDED, "train": len(task.train.examples), "marked": asked},
            "seeds": plan.seeds,
            "options": {**asdict(plan), **used},
            **found.plain(),
        }
    )
    _write(content, out / "diagnosis.json")
    print(out / "diagnosis.json")
    print(f"the page: {write_diagnosis(content, out / 'diagnosis.html')}", file=sys.stderr)


def _embedded(limit: int | None) -> tuple[Task, Part]:
    """Planted reviews in which each aspect has opinion words of its own, so that little training is enough."""
    from rationales.data.planted import REVIEW_LABELS, reviews

    parts = [reviews(size, seed=seed, shared=0.0, evidence="clause") for seed, size in enumerate(SIZES)]
    training, dev = (list(islice(part, limit)) for part in parts[:2])
    return _task(training, dev, parts[2], REVIEW_LABELS)


def _read(
    data: str, dev: str | None, marked: str | None, limit: int | None, opened: Callable[..., Dataset]
) -> tuple[Task, Part]:
    training, held_out = splits(data, dev, limit, opened)
    if marked is not None:
        return _task(training, held_out, split_or_whole(opened, marked, "test"))
    try:
        return _task(training, held_out, opened(data, split="test"))
    except NoSuchSplit:
        return _task(training, held_out, held_out)


def _task(
    training: Dataset | Sequence[Example],
    dev: Dataset | Sequence[Example],
    measured: Dataset | Sequence[Example],
    labels: Sequence[str] | None = None,
) -> tuple[Task, Part]:
    """What is to be learned, and the texts to measure on with the same classes."""
    from rationales.train.labels import read_task

    return read_task(training, dev, labels), read_task(training, measured, labels).dev


@contextmanager
def _telling(work: int) -> Iterator[Callable[[str, int], None]]:
    """A bar that counts updates, for whoever is watching."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("updates: {task.description}"), TimeRemainingColumn())
    with Progress(
        *columns, console=console, disable=not console.is_terminal, redirect_stdout=sys.stdout.isatty(), transient=True
    ) as bar:
        task = bar.add_task("", total=work)
        yield lambda what, done: bar.update(task, description=what, advance=done)


def _plain(value: Any) -> Any:
    """As JSON has it: a number that is none is null."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(content: Mapping[str, Any], path: Path) -> None:
    from rationales.explanation.files import replacing

    with replacing(path) as beside:
        beside.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
