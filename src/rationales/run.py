"""Explain many texts, and measure the explanations.

Texts stream: they are encoded, explained and handed on in rounds, so ten thousand take no more memory than a
hundred, and results can go straight to a file.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers import Explainer, explainers
from rationales.explanation import Explanation, Explanations, ExplanationWriter, write_jsonl
from rationales.explanation.types import FloatArray
from rationales.metrics import metrics as known_metrics
from rationales.metrics.aggregate import Aggregate, aggregate
from rationales.metrics.base import Golds
from rationales.models import Model, load, rounds
from rationales.models.transformers_classifier import cut_message

Text: TypeAlias = str | tuple[str, str] | Example
Method: TypeAlias = str | Explainer


def as_examples(texts: Text | Iterable[Text]) -> Iterator[Example]:
    """A text, a pair, or any number of texts, pairs and examples → examples; those without an id get their number."""
    if isinstance(texts, str | Example) or _is_pair(texts):
        texts = [texts]  # type: ignore[list-item]
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InputError(
            f"texts must be a string, a pair of strings, an Example, or many of these; got {type(texts).__name__}"
        )
    for number, text in enumerate(texts):
        if isinstance(text, Example):
            yield text
        elif isinstance(text, str):
            yield Example(str(number), (text,))
        elif _is_pair(text):
            yield Example(str(number), (text[0], text[1]))
        else:
            raise InputError(f"text {number} must be a string, a pair of strings or an Example, got {text!r:.80}")


def _is_pair(text: object) -> bool:
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(side, str) for side in text)


def as_explainer(method: Method) -> Explainer:
    """A method by name, with its defaults, or as it is."""
    if isinstance(method, str):
        return explainers[method]()
    if not isinstance(method, Explainer):
        raise InputError(f"a method is a name or an explainer such as IntegratedGradients(steps=100), got {method!r}")
    return method


def explained(
    model: Model,
    texts: Text | Iterable[Text],
    method: Method = "integrated_gradients",
    *,
    target: int | str | None = None,
    progress: bool | None = None,
) -> Iterator[Explanation]:
    """Explanations one after another, in the order of the texts, as they are computed."""
    explainer = as_explainer(method)
    if target is not None and not isinstance(target, int | str):
        raise InputError(f"a target is a label or its number, the same for all texts; got {target!r:.80}")
    examples = as_examples(texts)
    total = len(texts) if isinstance(texts, Sequence) and not isinstance(texts, str) and not _is_pair(texts) else None
    seen = cut = 0
    with _progress(explainer.name, total, progress) as advance:
        for part in rounds(model, examples):
            batch = model.encode(part, warn=False)
            seen, cut = seen + len(part), cut + sum(source.cut for source in batch.sources)
            yield from explainer(model, batch, target)
            advance(len(part))
    if cut:
        warnings.warn(cut_message(cut, seen, model.max_length), stacklevel=2)


def explain(
    model: Any,
    texts: Text | Iterable[Text],
    method: Method = "integrated_gradients",
    *,
    tokenizer: Any = None,
    target: int | str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Explanations:
    """Why does the model say that?

    `model` is a directory, a hub name, a Transformers model with its `tokenizer`, a pipeline or a `Model`. `texts` is a
    text, a pair, or many of them. `method` is a name or an explainer with options, such as
    `IntegratedGradients(steps=100)`. `target` is a label or its number; by default each text's predicted class. With
    `out` the explanations go to that file, .parquet or .jsonl, as they are computed and are read from there. `progress`
    shows a bar; by default when somebody is watching.
    """
    if out is not None:
        check_name(out)
    found = explained(load(model, tokenizer), texts, method, target=target, progress=progress)
    return Explanations(found) if out is None else save(found, out)


def check_name(path: str | Path) -> None:
    """Explanations are saved as .parquet or .jsonl; better to hear it before they are computed."""
    if Path(path).suffix not in (".parquet", ".jsonl"):
        raise InputError(f"explanations are saved in files that end in .parquet or .jsonl, got {path}")


def save(explanations: Iterable[Explanation], path: str | Path) -> Explanations:
    """Write explanations to a file as they come, and open it."""
    check_name(path)
    if Path(path).suffix == ".jsonl":
        write_jsonl(explanations, path)
        return Explanations.from_jsonl(path)
    with ExplanationWriter(path) as writer:
        for explanation in explanations:
            writer.write(explanation)
    return Explanations.load(path)


@dataclass(frozen=True, eq=False)
class Measurement:
    """One metric over one set of explanations: each value [N], their aggregate, and how the metric was set."""

    metric: str
    best: str
    method: str
    options: Mapping[str, Any]
    values: FloatArray
    aggregate: Aggregate


def evaluate(
    model: Any,
    explanations: Sequence[Explanation],
    metrics: str | Sequence[str],
    *,
    tokenizer: Any = None,
    gold: Golds | None = None,
    other: Golds | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> tuple[Measurement, ...]:
    """Measure explanations: each metric's mean with a bootstrap 95 % interval, and how many values were defined.

    `gold` are explanations by people (`rationales.data.gold_selection`) for the metrics that need them, `other` a
    second set for those that compare two. `options` are by metric, such as `{"token_f1": {"fraction": 0.2}}`; each
    measurement records them in full.
    """
    metrics = [metrics] if isinstance(metrics, str) else metrics
    methods = sorted({explanation.provenance.method for explanation in explanations})
    asked = [known_metrics[name] for name in metrics]
    given = options or {}
    if unused := set(given) - set(metrics):
        raise InputError(f"options for metrics that are not asked for: {', '.join(sorted(unused))}")
    if any("model" in metric.needs for metric in asked):
        model = load(model, tokenizer)
    measured = []
    for metric in asked:
        own = {option.name: option.default for option in metric.options} | dict(given.get(metric.name, {}))
        values = metric(model, explanations, other if "other" in metric.needs else gold, **own)
        measured.append(
            Measurement(metric.name, metric.best, "+".join(methods), own, values, aggregate(values, seed=seed))
        )
    return tuple(measured)


@contextmanager
def _progress(title: str, total: int | None, wanted: bool | None) -> Iterator[Any]:
    """A bar on standard error, if it is wanted or somebody is watching.

    What is printed meanwhile goes above the bar, but not what somebody catches from standard output.
    """
    shown = sys.stderr.isatty() if wanted is None else wanted
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("texts"), TimeRemainingColumn())
    console = Console(stderr=True, force_terminal=wanted or None)
    caught = not sys.stdout.isatty()
    with Progress(*columns, console=console, disable=not shown, transient=True, redirect_stdout=not caught) as bar:
        task = bar.add_task(title, total=total)
        yield lambda number: bar.advance(task, number)
