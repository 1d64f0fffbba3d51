"""What a comparison is asked for, found to be possible before anything is explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rationales.comparison.store import Store, read_json
from rationales.data import Dataset, Example
from rationales.data import load as load_data
from rationales.errors import InputError
from rationales.explainers import Aligner, AnyExplainer
from rationales.models import Model, load
from rationales.run.choosing import marked_kinds, methods_to_compare, metrics_to_compare
from rationales.run.measuring import Choice
from rationales.run.texts import Method, Text, as_examples, check_same_texts

Data: TypeAlias = str | Path | Iterable[Text]


@dataclass(frozen=True)
class Prepared:
    """Texts, the names of their labels, and what the data are called; models and methods by name; and the metrics.

    `linking` says whether the methods link the words of two texts.
    """

    examples: list[Example]
    labels: Sequence[str] | None
    source: str
    models: Mapping[str, Model]
    methods: Mapping[str, AnyExplainer]
    linking: bool
    metrics: Sequence[Choice]
    rank_by: str


def prepared(
    model: Any,
    data: Data,
    methods: Sequence[Method] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    tokenizer: Any = None,
    rank_by: str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    out: str | Path | None = None,
) -> Prepared:
    """Read what `rationales.compare` was given, or say why that cannot be compared, or cannot be kept in `out`."""
    examples, labels, source = _examples(data)
    models = _models(model, tokenizer)
    chosen = methods_to_compare(methods, models)
    linking = any(isinstance(explainer, Aligner) for explainer in chosen.values())
    asked = metrics_to_compare(metrics, options, linking=linking, marked=marked_kinds(examples))
    rank_by = rank_by or asked[0].metric.name
    if rank_by not in {choice.metric.name for choice in asked}:
        raise InputError(f"methods are ranked by a metric that is measured; {rank_by!r} is not among them")
    if out is not None:
        _check_texts(Store(Path(out)), examples)
    return Prepared(examples, labels, source, models, chosen, linking, asked, rank_by)


def _examples(data: Data) -> tuple[list[Example], Sequence[str] | None, str]:
    if isinstance(data, str | Path):
        data = load_data(str(data))
    examples = list(as_examples(data))
    if not examples:
        where = f" in {data.name}" if isinstance(data, Dataset) else ""
        raise InputError(f"there are no texts to compare explanations of{where}")
    if isinstance(data, Dataset):
        return examples, data.labels, data.name
    return examples, None, f"{len(examples)} texts"


def _models(given: Any, tokenizer: Any) -> dict[str, Model]:
    """One model or several, by name."""
    if isinstance(given, Mapping):
        return {str(name): load(each, tokenizer) for name, each in given.items()}
    loaded = [load(each, tokenizer) for each in (given if isinstance(given, list | tuple) else [given])]
    found = {each.name: each for each in loaded}
    if not found or len(found) < len(loaded):
        names = ", ".join(each.name for each in loaded) or "none"
        raise InputError(f"models must have different names, got {names}; give them names: {{'name': model, …}}")
    return found


def _check_texts(store: Store, examples: Sequence[Example]) -> None:
    first = store.texts(0)
    there = [tuple(each["texts"]) for each in read_json(first)["texts"]] if first.exists() else []
    check_same_texts(store.directory, "a comparison of", there, examples)
