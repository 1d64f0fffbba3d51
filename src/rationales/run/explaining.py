"""Explain many texts.

Texts stream: they are encoded, explained and handed on in rounds, so memory does not follow their
number, and results can go straight to a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers import Aligner, default_method
from rationales.explanation import Explanation, Explanations, ExplanationWriter, write_jsonl
from rationales.models import Model, load, rounds
from rationales.models.tokenising import cut_message
from rationales.run.progress import progress_bar
from rationales.run.texts import Method, Text, as_examples, as_explainer, is_pair


def explained(
    model: Model,
    texts: Text | Iterable[Text],
    method: Method | None = None,
    *,
    target: int | str | None = None,
    progress: bool | None = None,
) -> Iterator[Explanation]:
    """Explanations one after another, in the order of the texts, as they are computed."""
    explainer = as_explainer(default_method(model) if method is None else method)
    if target is not None and not isinstance(target, int | str):
        raise InputError(f"a target is a label or its number, the same for all texts; got {target!r:.80}")
    examples = as_examples(texts)
    total = len(texts) if isinstance(texts, Sequence) and not isinstance(texts, str) and not is_pair(texts) else None
    alone = total == 1 or isinstance(texts, str | Example) or is_pair(texts)
    seen = cut = 0
    with progress_bar(explainer.name, total, progress) as advance:
        for part in rounds(model, examples):
            batch = model.encode(part, warn=False)
            if alone and isinstance(explainer, Aligner):
                explainer.check_words(batch)
            seen, cut = seen + len(part), cut + sum(source.cut for source in batch.sources)
            yield from explainer(model, batch, target)
            advance(len(part))
    if cut:
        warnings.warn(cut_message(cut, seen, model.max_length), stacklevel=2)


def explain(
    model: Any,
    texts: Text | Iterable[Text],
    method: Method | None = None,
    *,
    tokenizer: Any = None,
    target: int | str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Explanations:
    """Why does the model say that?

    `model` is a directory, a hub name, a Transformers model with its `tokenizer`, a pipeline or a `Model`. `texts` is a
    text, a pair, or many of them. `method` is a name or an explainer with options, such as
    `IntegratedGradients(steps=100)`; by default `own`, what the model says itself, of a model that can, and
    `integrated_gradients` of others. `target` is a label or its number; by default each text's predicted class. With
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
