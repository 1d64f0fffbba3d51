"""`rationales compare`: which explanation can I believe on my model and data?"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from rationales.cli.explain import column_flag
from rationales.cli.fields import DataDir, OnError, Quotes, built, parted, read_options, with_fields, without_options
from rationales.cli.guiding import AlignmentOption, guide_of
from rationales.cli.sources import names_of, split_or_whole
from rationales.data import Columns, Dataset, load
from rationales.errors import InputError
from rationales.registry import options_of

if TYPE_CHECKING:
    from rationales.comparison import Comparison, Grid
    from rationales.explainers import AnyExplainer

EXAMPLES = """Examples:

rationales compare --model my-classifier --data reviews.csv

rationales compare -m seed-1 -m seed-2 -m seed-3 --data reviews.csv --stability --untrained my-encoder

rationales compare -m my-pair-classifier --data pairs.csv --method links:within=0.5

rationales compare -m plain -m faithful --data reviews.csv --data letters.csv --metric normalised_sufficiency

rationales compare -m my-classifier --data reviews.csv --method integrated_gradients --method lime:samples=1000 \
--metric comprehensiveness --metric token_f1:fraction=0.2 --out my-comparison

A run that was stopped goes on when the same command is given again."""


def register(app: typer.Typer, words: Sequence[str]) -> None:
    """Add the command, with the columns of the data if it is the one that is called."""
    if words[:1] != ["compare"]:
        app.command(name="compare")(without_options("compare", compare.__doc__))
        return
    command = with_fields(compare, (Columns, "Columns of the data", column_flag))
    app.command(name="compare", epilog=EXAMPLES)(command)


def compare(
    data: Annotated[
        list[str] | None,
        typer.Option(help="File, directory or name of a data set. May be given again: then all stand in one table."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Directory or hub name; may be given again.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A name from: rationales methods, options behind it: lime:samples=1000. May be given again. "
            "links: all that link two texts."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A name from: rationales metrics, options behind it: token_f1:fraction=0.2. Again, too."),
    ] = None,
    rank_by: Annotated[str | None, typer.Option(help="The metric that orders the table; else the first.")] = None,
    stability: Annotated[
        bool, typer.Option("--stability", help="Also say how alike the models are explained; give several.")
    ] = False,
    untrained: Annotated[
        str | None,
        typer.Option(
            help="With --stability: the pretrained encoder, to be explained with a random head (empty: the embedded "
            "one); or: random."
        ),
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="With --stability: share of the tokens that count as the best; else 0.25.")
    ] = None,
    alignment: AlignmentOption = None,
    target: Annotated[str | None, typer.Option(help="Label or its number to explain; else the predicted one.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of the data set; of several, of those that have splits.")
    ] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[int | None, typer.Option(help="No more texts than this.", min=1)] = None,
    quotes: Quotes = True,
    out: Annotated[Path, typer.Option(help="Directory for explanations, results and page.")] = Path("comparison"),
    page: Annotated[bool, typer.Option(help="Whether to write the page, report.html.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    max_length: Annotated[int | None, typer.Option(help="Cut texts to so many tokens.")] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1; else the best there is.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the intervals and of an untrained model.")] = 0,
    objects: tuple[Any, ...] = (),
) -> None:
    """Explain texts by several methods, measure them, and say which can be believed."""
    if not model:
        raise InputError("which model? Give --model DIRECTORY_OR_HUB_NAME (rationales demo trains one)")
    if not data:
        raise InputError("which texts? Give --data FILE_OR_NAME (rationales data lists the names)")
    from rationales import models, run
    from rationales.comparison import Comparison
    from rationales.guidance import set_guide
    from rationales.metrics import metrics as known
    from rationales.report.table import print_grid, print_summary

    methods = [explainer for name, options in map(parted, method or ()) for explainer in _explainers(name, options)]
    metrics = {name: read_options(name, known[name].options, options) for name, options in map(parted, metric or ())}
    if len(metrics) < len(metric or ()):
        raise InputError(f"a metric is given twice among {', '.join(metric or ())}; compare twice for other options")
    guide = None if alignment is None else guide_of(alignment, one_pair=False)
    (columns,) = objects
    opened = partial(load, columns=columns, data_dir=data_dir, on_error=on_error, limit=limit, quotes=quotes)
    if len(data) == 1:
        sets = [opened(data[0], split=split)]
    else:  # some may have splits and others not
        sets = [split_or_whole(opened, source, split) for source in data]
    loaded = {name: models.load(name, device=device, max_length=max_length) for name in dict.fromkeys(model)}
    if guide is not None:
        for own in loaded.values():
            set_guide(own, guide)
    labels = {label for own in loaded.values() for label in own.labels}
    asked: dict[str, Any] = {
        "methods": methods or None,
        "metrics": list(metrics) or None,
        "rank_by": rank_by,
        "options": metrics,
    }

    def compared(examples: Dataset, out: Path) -> Comparison:
        return run.compare(
            loaded,
            examples,
            **asked,
            target=int(target) if target is not None and target.isdecimal() and target not in labels else target,
            stability=stability,
            untrained=untrained,
            share=share,
            out=out,
            seed=seed,
            command=shlex.join(["rationales", *sys.argv[1:]]),
        )

    if len(sets) == 1:
        found: Comparison | Grid = compared(sets[0], out)
    else:
        named = dict(zip(names_of(data, "--data"), sets, strict=True))
        found = _compared_on_each(named, partial(run.prepared, loaded, **asked), compared, out)
    if as_json:
        print(json.dumps(found.results(), ensure_ascii=False))
    elif isinstance(found, Comparison):
        print_summary(found.summary, Console())
    else:
        print_grid(found, Console())
    if page:
        print(f"the page: {found.report(out / 'report.html')}", file=sys.stderr)


def _compared_on_each(
    sets: Mapping[str, Dataset],
    prepared: Callable[..., object],
    compared: Callable[[Dataset, Path], Comparison],
    out: Path,
) -> Grid:
    """A comparison on each data set, in a directory of its own; none is begun if one of them is not possible."""
    from rationales.comparison import Grid
    from rationales.comparison.grid import begin_grid, finish_grid, grid_places

    places = grid_places(out, sets)
    for name, examples in sets.items():
        try:
            prepared(examples, out=places[name])
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    begin_grid(out)
    comparisons: dict[str, Comparison] = {}
    for name, examples in sets.items():
        print(f"{name}: data set {len(comparisons) + 1} of {len(sets)}", file=sys.stderr)
        comparisons[name] = compared(examples, places[name])
    finish_grid(out, places)
    return Grid(comparisons)


def _explainers(name: str, options: Mapping[str, str]) -> list[AnyExplainer]:
    """The method of that name, or all that the word stands for, each with those of the options that it has."""
    from rationales.explainers import method_named
    from rationales.run.choosing import LINK_METHODS, LINKS, check_name

    check_name(name)
    if name != LINKS:
        return [built(name, method_named(name), options)]
    own = {each: {option.name for option in options_of(method_named(each))} for each in LINK_METHODS}
    if foreign := sorted(set(options) - set().union(*own.values())):
        raise InputError(f"no method that links two texts has an option {foreign[0]}")
    return [
        built(each, method_named(each), {option: value for option, value in options.items() if option in known})
        for each, known in own.items()
    ]
