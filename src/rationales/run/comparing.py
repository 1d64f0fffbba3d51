"""Which explanation can be believed on this model and these texts? Methods × metrics, part by part, with resume.

The texts are taken in parts. For each part every method explains it, every metric measures that, and both are on disk
before the next begins, so a run that was killed goes on where it was. A part does not depend on what was computed
before it: a run that went on gives the very numbers of one that was never disturbed.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rationales import results
from rationales.comparison import Answers, Comparison, Curves, Measure, Stability, Summary
from rationales.comparison.results import summary_to_json
from rationales.comparison.store import RESULTS, Store, read_json, write_json
from rationales.comparison.types import LINK_RANDOM, RANDOM
from rationales.data import Example
from rationales.errors import InputError, MissingCapability
from rationales.explainers import Own, Random
from rationales.explanation import Explanation
from rationales.explanation.files import check_writable
from rationales.metrics.passes import shared_passes
from rationales.models import Model, TransformersClassifier, load
from rationales.models.tokenising import cut_message
from rationales.models.untrained import untrained as untrained_model
from rationales.registry import summary as about
from rationales.run.contrasts import beside_the_first, contrasts, other_classes
from rationales.run.labels import true_label, without_other_numbers
from rationales.run.parts import Part, Worker
from rationales.run.preparing import Data, prepared
from rationales.run.progress import Steps
from rationales.run.ranking import Record, advice, agreement, ranked
from rationales.run.stability import likeness, shared_unit, stability_of
from rationales.run.texts import Method

WHOLE = "selections are erased as a whole; figures of scores are means over several shares of the text"
"""Of a method that selects: why its figures and those of scores are not quite of the same kind."""

UNTRAINED = "untrained"
"""How the untrained model is called among the others."""

SHARE = 0.25
"""Of the tokens, those that count as the best in the test of stability."""

FEWEST, MOST = 16, 1024
"""Texts in a part: few enough that little is lost by a kill, and enough to fill an accelerator."""


def compare(
    model: Any,
    data: Data,
    methods: Sequence[Method] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    tokenizer: Any = None,
    target: int | str | None = None,
    rank_by: str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    stability: bool = False,
    untrained: Any = None,
    share: float | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    progress: bool | None = None,
    command: str = "",
) -> Comparison:
    """Which explanation can be believed on my model and data?

    `model` is what `rationales.explain` takes, or several: a list, or a mapping from the names they should have. `data`
    are texts, pairs or examples, a data set that was loaded, or the name or path of one. `methods` are names, or
    explainers with options; `random`, the floor, is always among them, and unless methods are given so is `own`, what a
    model that explains itself says. Methods that link the words of two texts are compared among themselves, over
    `link_random`; "links" stands for all of them that need no training. `metrics` are names, with `options` by name;
    methods are ranked by `rank_by`, the first of them unless told otherwise. `stability` says how alike the models are
    explained: the overlap of the best `share` of the tokens (0.25), for each method and pair of models. `untrained`
    adds a model to these that never saw the task: the pretrained encoder that training began from (a directory or hub
    name; "", the embedded one), which gets a random head; "random", every weight; or a model of your own. `out` is the
    directory for explanations and results: a run that was stopped goes on from what is there, and further methods,
    metrics and texts are added to it. Without it they last as long as the comparison that is returned.
    """
    if seed < 0:
        raise InputError(f"seed must be a number from 0 up, got {seed}")
    asked = prepared(model, data, methods, metrics, tokenizer=tokenizer, rank_by=rank_by, options=options, out=out)
    examples, models, chosen = asked.examples, asked.models, asked.methods
    if asked.linking and stability:
        raise InputError(
            "stability is about the best tokens, and these methods link two texts; leave out one or the other"
        )
    beside = _untrained(untrained, tokenizer, models, seed)
    if stability:
        share = SHARE if share is None else share
        _check_stability([*models, *beside], share)
    elif beside or share is not None:
        what = "an untrained model" if beside else "a share of the tokens"
        raise InputError(f"{what} is for the test of stability; ask for that too (--stability)")
    of_model = {title: _labelled(examples, asked.labels, title, own) for title, own in models.items()}
    settings: dict[str, Any] = {
        "command": command,
        "data": asked.source,
        "models": list(models),
        "methods": {name: asdict(explainer) for name, explainer in chosen.items()},  # type: ignore[call-overload]
        "metrics": {choice.metric.name: choice.options for choice in asked.metrics},
        "size": max(FEWEST, min(MOST, min(own.budget for own in models.values()) // 128)),
        "texts": len(examples),
        "stability": {"share": share, "untrained": [own.name for own in beside.values()]} if stability else None,
    }
    with ExitStack() as stack:
        if out is None:
            out = tempfile.mkdtemp(prefix="rationales-")
            stack.callback(shutil.rmtree, out, ignore_errors=True)
        store = Store(Path(out))
        check_writable(store.directory / RESULTS)
        size = store.begin(settings)["size"]
        kinds = [(title, name) for title in (*models, *beside) for name in chosen]
        with Steps(kinds, len(examples), progress) as steps, shared_passes() as passes:
            worker = Worker(store, chosen, asked.metrics, target, asked.labels, passes, steps)
            explains_only = replace(worker, metrics=())  # sharing what is known of models and methods
            for number, start in enumerate(range(0, len(examples), size)):
                some = examples[start : start + size]
                worker.keep_texts(number, some)
                for title, own in models.items():
                    worker.do(Part(number, of_model[title][start : start + size], title, own))
                for title, own in beside.items():
                    explains_only.do(Part(number, some, title, own))
        for title, own in models.items():
            if cut := sum(read_json(store.predictions(title, part))["cut"] for part in store.parts()):
                warnings.warn(cut_message(cut, len(examples), own.max_length), stacklevel=2)
        summary = _summary(store, worker, settings, models, asked.rank_by, seed)
        if share is not None:
            summary = replace(summary, stability=_stability(store, worker, [*models, *beside], share, seed))
        write_json(store.directory / RESULTS, summary_to_json(summary))
        found = Comparison(store.directory)
        weakref.finalize(found, stack.pop_all().close)  # a temporary directory lives as long as what reads from it
    return found


def _untrained(given: Any, tokenizer: Any, models: Mapping[str, Model], seed: int) -> dict[str, Model]:
    """The untrained model by its name, if there is to be one."""
    if given is None:
        return {}
    if UNTRAINED in models:
        raise InputError(f"a model is called {UNTRAINED!r}, as the untrained one will be; give it another name")
    if not isinstance(given, str | Path):
        return {UNTRAINED: load(given, tokenizer)}
    if str(given) in models:
        raise InputError(f"{given} is the trained model; as untrained give the pretrained one that training began from")
    like = next(
        (own for own in models.values() if isinstance(own, TransformersClassifier)), next(iter(models.values()))
    )
    return {UNTRAINED: untrained_model(like, given, seed=seed)}


def _check_stability(titles: Sequence[str], share: float) -> None:
    if len(titles) < 2:
        raise InputError(
            f"stability compares the explanations of several models, and there is only {titles[0]}; give others that "
            "were trained from other seeds (--model A --model B), or the pretrained encoder (--untrained ENCODER)"
        )
    if not 0 < share <= 1:
        raise InputError(f"share must be above 0 and at most 1, got {share}")


def _labelled(examples: Sequence[Example], names: Sequence[str] | None, title: str, model: Model) -> Sequence[Example]:
    """The examples with labels that one model can be right about; says so if they have others."""
    taken = without_other_numbers(examples, names, model)
    given = [example.label for example in examples if isinstance(example.label, int | str)]
    found = {true_label(example, names, model) for example in taken}
    if given and not model.regression and not found & set(model.labels):
        other = next((label for label in given if label not in range(len(model.labels))), given[0])
        if names and isinstance(other, int) and other in range(len(names)):
            other = names[other]
        warnings.warn(
            f"no text counts as right or wrong: labels such as {other!r} are not those of {title} "
            f"({', '.join(model.labels)})",
            stacklevel=3,
        )
    return taken


def _summary(
    store: Store, worker: Worker, settings: Mapping[str, Any], models: Mapping[str, Model], rank_by: str, seed: int
) -> Summary:
    """What all parts together say."""
    measures = tuple(
        Measure(choice.metric.name, choice.metric.best, choice.options, choice.metric.needs, about(choice.metric))
        for choice in worker.metrics
    )
    records = {title: [_record(store, worker, title, name) for name in worker.methods] for title in models}
    beside = contrasts(records, measures, seed)
    said = {title: [read_json(store.predictions(title, part)) for part in store.parts()] for title in models}
    predicted = {title: [each for part in parts for each in part["predicted"]] for title, parts in said.items()}
    standings, agreements, advices, answers = [], [], {}, {}
    for title, model in models.items():
        rows = ranked(records[title], measures, rank_by, seed)
        ran = [row.method for row in rows if not row.failure]
        if not ran:
            raise MissingCapability(f"none of the methods can explain {title}: {rows[0].failure}")
        standings += rows
        scoring = [name for name in ran if not isinstance(worker.methods[name], Own)]
        unit: Literal["tokens", "links"] = "links" if LINK_RANDOM in worker.methods else "tokens"
        texts = _text_by_text(store, [(title, name) for name in scoring])
        agreements.append(agreement(title, scoring, texts, unit))
        known = [each for part in said[title] for each in part["labels"]]
        told = [_silence(predicted[title]), advice(rows, measures, rank_by, settings["texts"])]
        told += beside_the_first(beside, title, rank_by, settings["texts"])
        if worker.target is None:
            told.append(other_classes(predicted, title))
        advices[title] = " ".join(filter(None, told))
        if set(known) & set(model.labels):  # else data and model speak of different things
            answers[title] = _answers(known, predicted[title])
    return Summary(
        command=settings["command"],
        data=settings["data"],
        models=tuple(models),
        texts=settings["texts"],
        tokens=max(record.tokens for each in records.values() for record in each),
        measures=measures,
        ranked_by=rank_by,
        standings=tuple(standings),
        agreements=tuple(agreements),
        advice=advices,
        versions=results.versions(),
        hardware=results.hardware(),
        answers=answers,
        contrasts=beside,
    )


def _stability(store: Store, worker: Worker, titles: Sequence[str], share: float, seed: int) -> Stability:
    """How alike the models are explained, by each method that depends on the model."""
    found = []
    untrained = UNTRAINED if titles[-1] == UNTRAINED else ""
    if untrained and (untrained, RANDOM) in worker.failures:
        raise MissingCapability(f"the untrained model cannot be explained: {worker.failures[untrained, RANDOM]}")
    unit = shared_unit(_text_by_text(store, [(title, RANDOM) for title in titles]))
    for name, explainer in worker.methods.items():
        ran = [title for title in titles if (title, name) not in worker.failures]
        if isinstance(explainer, Random) or len(ran) < 2:
            continue
        texts = _text_by_text(store, [(title, name) for title in ran])
        found.append(likeness(name, ran, untrained, texts, share=share, unit=unit, seed=seed))
    return stability_of(found, share=share, unit=unit, models=titles, untrained=untrained)


def _answers(known: Sequence[str | None], predicted: Sequence[str]) -> Answers:
    """How often a model is right; no answer is a wrong one."""
    pairs = [(label, said) for label, said in zip(known, predicted, strict=True) if label is not None]
    of_class = Counter(name for pair in pairs for name in pair)
    hits = Counter(label for label, said in pairs if label == said)
    scores = [2 * hits[name] / number for name, number in of_class.items() if name]
    return Answers(len(pairs), hits.total() / len(pairs), sum(scores) / len(scores))


def _silence(predicted: Sequence[str]) -> str:
    """A sentence for the advice if the model answered some texts with NaN or infinity."""
    if silent := predicted.count(""):
        return f"The model answers {silent} of {len(predicted)} texts with NaN or infinity; these are left out."
    return ""


def _record(store: Store, worker: Worker, title: str, name: str) -> Record:
    """One method on one model, put together from its parts."""
    record = Record(title, name, asdict(worker.methods[name]))  # type: ignore[call-overload]
    record.failure = worker.failures.get((title, name), "")
    if record.failure:
        return record
    parts = [read_json(store.measured(title, name, part)) for part in store.parts()]
    for choice in worker.metrics:
        metric = choice.metric.name
        values = [value for part in parts for value in part["measures"][metric]["values"]]
        record.values[metric] = np.array(values, dtype=np.float64)  # None becomes NaN
    record.seconds, record.tokens = sum(part["seconds"] for part in parts), sum(part["tokens"] for part in parts)
    if parts[0]["curves"]:
        record.curves = Curves(
            tuple(parts[0]["curves"]["fractions"]), *(_mean(parts, side) for side in ("without_best", "only_best"))
        )
    if isinstance(worker.methods[name], Own):
        record.notes = (WHOLE,)
    errors = [error for part in parts for error in part["checks"].get("completeness_error", ())]
    tolerance = record.params.get("tolerance", 0.05)
    missed = [error for error in errors if error is None or error > tolerance]
    if missed:
        worst = max((error for error in missed if error is not None), default=float("nan"))
        record.notes = (
            f"the scores of {len(missed)} of {len(errors)} texts do not add up to within {tolerance:.0%} "
            f"(worst: {worst:.1%})",
        )
    return record


def _mean(parts: Sequence[Mapping[str, Any]], side: str) -> tuple[float, ...]:
    points = np.array([row for part in parts for row in part["curves"][side]], dtype=np.float64)
    defined = points[~np.isnan(points).any(1)]
    return tuple((defined.mean(0) if len(defined) else np.full(points.shape[1], np.nan)).tolist())


def _text_by_text(store: Store, made: Sequence[tuple[str, str]]) -> Iterator[tuple[Explanation, ...]]:
    """Each text's explanations, one for each of the models and methods."""
    for part in store.parts():
        yield from zip(*(store.explanations(store.measured(*each, part)) for each in made), strict=True)
