"""The work of a comparison on some consecutive texts: predict, explain by each method, measure, and keep it all.

What is kept already, made from the same texts by the same model and method with the same options, is not done again.
Where only that has changed which people marked, the explanations stay, and are measured again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from rationales import __version__
from rationales.comparison.comparison import HUMAN
from rationales.comparison.store import Store, digest, plain
from rationales.data import Example, gold_alignment, gold_selection
from rationales.errors import QualityWarning, RationalesError
from rationales.explainers import AnyExplainer
from rationales.explanation import Explanation, Scores
from rationales.explanation.types import FloatArray
from rationales.metrics import perturbation_curve
from rationales.metrics.base import GoldKind, Golds
from rationales.metrics.faithfulness import BINS
from rationales.metrics.passes import Passes
from rationales.models import Batch, Erasure, Model, predict
from rationales.run.labels import true_label
from rationales.run.measuring import Choice
from rationales.run.progress import Steps

FRACTIONS = (0.0, *BINS, 1.0)
"""Where the curves have their points: those of the metrics, so that they cost next to nothing."""

CURVES: Mapping[str, Literal["best", "rest"]] = {"without_best": "best", "only_best": "rest"}

SAME = 1e-3
"""A model that gives the same logits to within this is the same model."""


class _CannotExplain(Exception):
    """A method does not work on a model; says why."""


@dataclass(eq=False)
class Part:
    """Some texts before one model; encoded and read at most once."""

    number: int
    examples: Sequence[Example]
    title: str
    model: Model

    @cached_property
    def digest(self) -> str:
        return digest([(example.id, example.texts, example.label) for example in self.examples])

    @cached_property
    def gold(self) -> Mapping[GoldKind, Golds]:
        """What people said of each text, by what they were asked for."""
        return {
            "selection": [gold_selection(example) for example in self.examples],
            "alignment": [gold_alignment(example) for example in self.examples],
        }

    @cached_property
    def gold_digests(self) -> Mapping[GoldKind, str]:
        """What tells that which people said of the texts from anything else they might have said."""
        return {
            "selection": digest([example.rationale for example in self.examples]),
            "alignment": digest([example.alignment for example in self.examples]),
        }

    @cached_property
    def batch(self) -> Batch:
        return self.model.encode(self.examples, warn=False)

    @cached_property
    def logits(self) -> Tensor:
        with self.model.borrowed(), torch.no_grad():
            return predict(self.model, self.batch).cpu()


@dataclass(eq=False)
class Worker:
    """Does parts, one after another. `failures` says which methods cannot explain which models, and why."""

    store: Store
    methods: Mapping[str, AnyExplainer]
    metrics: Sequence[Choice]
    target: int | str | None
    labels: Sequence[str] | None
    passes: Passes
    steps: Steps
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    _prints: dict[str, str] = field(default_factory=dict)  # of the models
    _told: set[str] = field(default_factory=set)  # warnings

    def keep_texts(self, number: int, examples: Sequence[Example]) -> None:
        """The texts themselves, and what people marked in them."""
        marked = [
            dict(zip(HUMAN, (gold_selection(example), gold_alignment(example)), strict=True)) for example in examples
        ]
        texts = [
            {
                "id": example.id,
                "texts": example.texts,
                "marked": [name for name, explanation in own.items() if explanation is not None],
            }
            for example, own in zip(examples, marked, strict=True)
        ]
        said = [(example.label, example.rationale, example.alignment) for example in examples]
        key, path = digest(texts, said), self.store.texts(number)
        if self.store.finished(path, key) is None:
            humans = [explanation for own in marked for explanation in own.values() if explanation is not None]
            self.store.save(path, key, {"texts": texts}, humans)

    def do(self, part: Part) -> None:
        """Everything for one part and one model."""
        self._predict(part)
        for name, explainer in self.methods.items():
            if (part.title, name) in self.failures:
                self.steps.done((part.title, name), len(part.examples), None)
                continue
            self.steps.begin(name if len(self._prints) == 1 else f"{part.title} · {name}")
            began = time.perf_counter()
            try:
                fresh = self._explain_and_measure(part, name, explainer)
            except _CannotExplain as error:  # the other methods can go on
                self.failures[part.title, name] = str(error)
                fresh = False
            seconds = time.perf_counter() - began
            self.steps.done((part.title, name), len(part.examples), seconds if fresh else None)
        self.passes.forget()

    def _predict(self, part: Part) -> None:
        """What the model says of each text, and by part 0 whether it is the model of the run that is gone on with."""
        path, classes = self.store.predictions(part.title, part.number), list(part.model.labels)
        if part.title not in self._prints:
            before = self.store.finished(path, digest(part.digest, classes))
            same = before is not None and _close(before["logits"], part.logits)
            self._prints[part.title] = before["print"] if same and before else digest(part.logits.tolist(), classes)
        key = digest(part.digest, classes if part.number == 0 else self._prints[part.title])
        before = self.store.finished(path, key)
        labels = [true_label(example, self.labels, part.model) for example in part.examples]
        if before is not None and (before["print"], before["labels"]) == (self._prints[part.title], labels):
            return
        index, probabilities = part.logits.argmax(-1), part.model.probabilities(part.logits)
        probability = probabilities.gather(1, index[:, None]).squeeze(1)
        index = index.masked_fill(~probabilities.isfinite().all(-1), -1)  # no answer, and not the first class
        content = {
            "print": self._prints[part.title],
            "logits": part.logits.double().tolist() if part.number == 0 else [],
            "predicted": [part.model.labels[number] if number >= 0 else "" for number in index.tolist()],
            "probability": probability.double().tolist(),
            "cut": sum(source.cut for source in part.batch.sources),
            "labels": labels,
        }
        self.store.save(path, key, content)

    def _explain_and_measure(self, part: Part, name: str, explainer: AnyExplainer) -> bool:
        """Whether there was anything to do."""
        params = asdict(explainer)  # type: ignore[call-overload]
        files = [found] if (found := explainer.fingerprint) else []
        made_from = (__version__, self._prints[part.title], part.digest, self.target, explainer.name, params, *files)
        key = digest(*made_from)
        path = self.store.measured(part.title, name, part.number)
        content = self.store.finished(path, key)
        if content is None:
            explanations, seconds = self._explain(part, explainer)
            content = {
                "seconds": seconds,
                "tokens": sum(len(item.tokens) for item in explanations),
                "checks": {
                    check: [item.checks.get(check) for item in explanations] for check in explanations[0].checks
                },
                "measures": {},
                "curves": None,
            }
            self.store.save(path, key, content, explanations)
        elif self._complete(part, content):
            return False
        else:
            explanations = list(self.store.explanations(path))
        self._measure(part, explanations, content)
        self.store.save(path, key, content)
        return True

    def _explain(self, part: Part, explainer: AnyExplainer) -> tuple[Sequence[Explanation], float]:
        """The explanations, and how long they took."""
        batch = part.batch
        began = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("ignore", QualityWarning)  # the table has a note of it
                found = explainer(part.model, batch, self.target)
        except RationalesError as error:
            raise _CannotExplain(str(error)) from error
        seconds = time.perf_counter() - began
        for each in heard:  # once, and not for each part
            if str(each.message) not in self._told:
                self._told.add(str(each.message))
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        return found, seconds

    def _complete(self, part: Part, content: Mapping[str, Any]) -> bool:
        """Whether every metric was measured as is wanted now."""
        measured = {
            name: {key: value for key, value in own.items() if key != "values"}
            for name, own in content["measures"].items()
        }
        return all(measured.get(choice.metric.name) == plain(_manner(part, choice)) for choice in self.metrics)

    def _measure(self, part: Part, explanations: Sequence[Explanation], content: dict[str, Any]) -> None:
        """Values [N] of each metric, NaN for a kind of explanation that it does not take; and the curves."""
        self.passes.forget()  # what a part gives must not hang on what was asked before it
        self.passes.encoded(part.model, part.batch)
        body = explanations[0].body
        measures = {
            choice.metric.name: partial(choice, part.model, explanations, part.gold[choice.metric.gold])
            for choice in self.metrics
            if isinstance(body, choice.metric.bodies)
        }
        curves = self._curves(part, explanations) if isinstance(body, Scores) else {}
        found = [values.tolist() for values in self.passes.together([*measures.values(), *curves.values()])]
        values = dict(zip([*measures, *curves], found, strict=True))
        for choice in self.metrics:
            own = values.get(choice.metric.name, [np.nan] * len(explanations))
            content["measures"][choice.metric.name] = {**_manner(part, choice), "values": own}
        if curves:
            content["curves"] = {"fractions": FRACTIONS, **{name: values[name] for name in curves}}

    def _curves(self, part: Part, explanations: Sequence[Explanation]) -> dict[str, partial[FloatArray]]:
        """Calls that give the curves, if a metric asks the model anyway; the first that erases tokens says how."""
        asks = [choice for choice in self.metrics if "model" in choice.metric.needs]
        erasure: Erasure = next((choice.options["erasure"] for choice in asks if "erasure" in choice.options), "delete")
        curve = partial(perturbation_curve, part.model, explanations, fractions=FRACTIONS, erasure=erasure)
        return {name: partial(curve, erase=erase) for name, erase in CURVES.items()} if asks else {}


def _manner(part: Part, choice: Choice) -> dict[str, Any]:
    """How a metric is measured: its options and, where it needs that, what people said of the texts."""
    gold = {"gold": part.gold_digests[choice.metric.gold]} if "gold" in choice.metric.needs else {}
    return {"options": choice.options, **gold}


def _close(before: list[list[float]], logits: Tensor) -> bool:
    if any(value is None for row in before for value in row):  # a number that is not finite
        return False
    stored = np.array(before, dtype=np.float64)
    return stored.shape == tuple(logits.shape) and bool(np.allclose(stored, logits.double().numpy(), SAME, SAME))
