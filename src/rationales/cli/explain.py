"""`rationales explain`: why does my model say that?"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from rationales.cli.fields import (
    DataDir,
    OnError,
    Quotes,
    built,
    merged_parameters,
    parted,
    with_fields,
    without_options,
)
from rationales.cli.guiding import AlignmentOption, guide_of
from rationales.data import Columns, Example, load
from rationales.errors import InputError
from rationales.explanation.files import check_writable

if TYPE_CHECKING:
    from rationales.explainers import AnyExplainer

EXAMPLES = """Examples:

rationales explain --model my-classifier "The soup was wonderful."

rationales explain --model my-classifier --method lime --samples 1000 --data reviews.csv --out lime.parquet

rationales explain --model my-nli --alignment roles "The nurse paid the guard." --pair "The guard paid the nurse."

cat texts.txt | rationales explain --model my-classifier --json"""

GUIDED = "arec"
"""Who explains a guided model, unless the user says: who shows links."""


def column_flag(field: str) -> str:
    """`text` → `text_column`; formats keep their names."""
    return field if field.endswith("_format") else f"{field}_column"


def register(app: typer.Typer, words: Sequence[str]) -> None:
    """Add the command, with the options of all methods if it is the one that is called."""
    if words[:1] != ["explain"]:
        app.command(name="explain")(without_options("explain", explain.__doc__))
        return
    from rationales.explainers import aligners, explainers

    methods = {**explainers, **aligners}
    command = with_fields(
        explain,
        (Columns, "Columns of the data", column_flag),
        merged=merged_parameters(methods, "Options of the methods", inspect.signature(explain).parameters),
    )
    app.command(name="explain", epilog=EXAMPLES)(command)


def explain(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines from standard input.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="Directory or hub name of a model.")] = "",
    method: Annotated[
        str,
        typer.Option(
            help="A name from: rationales methods; else own of a model that explains itself, integrated_gradients of "
            "others. With --alignment: arec."
        ),
    ] = "",
    pair: Annotated[str | None, typer.Option(help="Second text, to go with one text.")] = None,
    alignment: AlignmentOption = None,
    target: Annotated[str | None, typer.Option(help="Label or its number to explain; else the predicted one.")] = None,
    data: Annotated[str | None, typer.Option(help="File, directory or name of a data set to explain.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of the data set.")] = None,
    data_dir: DataDir = None,
    on_error: OnError = "fail",
    limit: Annotated[int | None, typer.Option(help="No more texts than this.")] = None,
    quotes: Quotes = True,
    out: Annotated[Path | None, typer.Option(help="Save to this file: .parquet, or .jsonl.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
    max_length: Annotated[int | None, typer.Option(help="Cut texts to so many tokens.")] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1; else the best there is.")] = None,
    objects: tuple[Any, ...] = (),
    extra: dict[str, Any] | None = None,
) -> None:
    """Say which words made a classifier decide as it did."""
    from rationales import models, run
    from rationales.explainers import default_method
    from rationales.guidance import set_guide

    if not model:
        raise InputError("which model? Give --model DIRECTORY_OR_HUB_NAME (rationales demo trains one)")
    if out is not None:
        run.check_name(out)
    if limit is not None and limit < 1:
        raise InputError(f"--limit must be at least 1, got {limit}")
    if out is not None and as_json:
        raise InputError("--json prints and --out saves; give one of them (--out FILE.jsonl saves JSON)")
    explainer = _explainer(method, extra) if method else None  # before time is spent on the model
    guide = None if alignment is None else guide_of(alignment, one_pair=data is None)
    (columns,) = objects
    examples: Iterable[Example]
    if data is not None:
        if texts or pair:
            raise InputError("give texts or --data, not both")
        examples = load(
            data,
            split=split,
            columns=columns,
            data_dir=data_dir,
            on_error=on_error,
            limit=limit,
            quotes=quotes,
        )
    else:
        if split is not None or columns != Columns():
            raise InputError("--split and the columns go with --data")
        if pair is not None and not pair.strip():
            raise InputError("the second text is empty")
        examples = list(_given(texts, pair))[:limit]
    if out is not None:
        check_writable(out)
    loaded = models.load(model, device=device, max_length=max_length)
    if guide is not None:
        set_guide(loaded, guide)
    explainer = explainer or _explainer(default_method(loaded) if guide is None else GUIDED, extra)
    chosen = int(target) if target is not None and target.isdecimal() and target not in loaded.labels else target
    prints_to_screen = out is None and sys.stdout.isatty()  # where a bar would be in the way
    found = run.explained(loaded, examples, explainer, target=chosen, progress=False if prints_to_screen else None)
    first = next(found, None)
    if first is None:
        raise InputError(f"there are no texts in {data}")
    found = chain([first], found)
    if out is None:
        for explanation in found:
            _print(explanation, as_json)
        return
    run.save(found, out)
    print(f"saved to {out}", file=sys.stderr)


def _explainer(method: str, extra: Mapping[str, Any] | None) -> AnyExplainer:
    from rationales.explainers import method_named

    name, options = parted(method)
    extra = extra or {}
    if twice := sorted(options.keys() & extra.keys()):
        raise InputError(
            f"{twice[0]} is given in --method {method} and as --{twice[0].replace('_', '-')} too; leave one of them"
        )
    explainer: AnyExplainer = built(name, method_named(name), {**options, **extra})
    return explainer


def _given(texts: list[str] | None, pair: str | None) -> Iterator[Example]:
    if not texts:
        if sys.stdin.isatty():
            raise InputError("which text? Give it as an argument, on standard input, or a data set with --data")
        try:
            texts = [line.rstrip("\n").removeprefix("\ufeff") for line in sys.stdin if line.strip()]
        except UnicodeDecodeError as error:
            raise InputError(f"standard input is not text in UTF-8: {error}") from None
        if not texts:
            raise InputError("standard input holds no text")
    if pair is not None and len(texts) != 1:
        raise InputError(f"--pair goes with one text, got {len(texts)}")
    for number, text in enumerate(texts):
        if not text.strip():
            raise InputError(f"text {number} is empty")
        yield Example(str(number), (text,) if pair is None else (text, pair))


def _print(explanation: Any, as_json: bool) -> None:
    from rationales.explanation.sequence import to_json
    from rationales.report import coloured, plain

    console = Console()
    if as_json:
        print(json.dumps(to_json(explanation), ensure_ascii=False))
    elif console.is_terminal:
        console.print(coloured(explanation))
    else:
        print(plain(explanation) + "\n")
