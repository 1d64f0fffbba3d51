"""`rationales demo`: the main job on embedded defaults, without network, account or options."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from rationales.comparison import Comparison
    from rationales.data import Example

METHODS = ("attention", "gradient", "input_x_gradient", "integrated_gradients", "deeplift", "leave_one_out")
SAMPLING = 60
"""Samples per text of LIME and KernelSHAP: few, for the sake of time; the library's defaults are larger."""


@dataclass(frozen=True)
class Lesson:
    """A task with planted truth that the embedded encoder learns in about a minute on two cores."""

    name: str
    rule: str
    make: Callable[[int, int], Sequence[Example]]  # number, seed
    labels: Sequence[str]
    training: int
    epochs: int
    compared: int


def register(app: typer.Typer, _words: Sequence[str]) -> None:
    """Add the command."""
    app.command(epilog="Example: rationales demo --out demo")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Directory for models, explanations, results and the page.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of training.")] = 0,
) -> None:
    """Train two models on texts whose truth is known, compare explanations of them, and write the page."""
    from rationales.report import write_comparisons

    console = Console()
    started = time.monotonic()
    found = []
    for lesson in _lessons():
        console.print(f"[bold]{lesson.name}[/]: {lesson.rule}")
        found.append(_compared(lesson, out, seed))
        console.print(f"{next(iter(found[-1].summary.advice.values()))}\n", markup=False, highlight=False)
    command = shlex.join(["rationales", *sys.argv[1:]])
    page = write_comparisons(found, out / "report.html", title="Which explanation finds the truth?", command=command)
    model = out / "reviews-model"
    console.print(f"Done in {time.monotonic() - started:.0f} s. Models, explanations and figures are in {out}.")
    console.print(f'Next: rationales explain --model {model} "The soup was bland, but the waiter was lovely."')
    console.print(f"The page, with the planted truth beside every method: {page}", soft_wrap=True)


def _lessons() -> tuple[Lesson, Lesson]:
    from rationales.data.planted import PAIR_LABELS, REVIEW_LABELS, pairs, reviews

    return (
        Lesson(
            "reviews",
            "restaurant reviews, in which only what is said of the food decides.",
            lambda number, seed: reviews(number, seed=seed),
            REVIEW_LABELS,
            training=1200,
            epochs=1,
            compared=32,
        ),
        Lesson(
            "pairs",
            "pairs of sentences, in which what is done to which animal decides whether one follows from the other.",
            lambda number, seed: pairs(number, seed=seed, deciding=("object",), scenes=1, details=0),
            PAIR_LABELS,
            training=1200,
            epochs=2,
            compared=32,
        ),
    )


def _compared(lesson: Lesson, out: Path, seed: int) -> Comparison:
    """Train on some texts, compare methods on others."""
    from rationales import compare, load_model
    from rationales.explainers import KernelShap, Lime
    from rationales.train.classifier import Config, train

    model = out / f"{lesson.name}-model"
    config = Config(out=model, epochs=lesson.epochs, learning_rate=3e-4, batch_size=16, seed=seed)
    directory = train(config, lesson.make(lesson.training, seed), lesson.make(150, seed + 1), labels=lesson.labels)
    methods: list[Any] = [*METHODS, Lime(samples=SAMPLING), KernelShap(samples=SAMPLING)]
    return compare(load_model(directory), lesson.make(lesson.compared, seed + 2), methods, out=out / lesson.name)
