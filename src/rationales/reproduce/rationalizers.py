"""What tables about rationalizers have in common: many runs trained at once, measured against people's marks."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers.lime import Lime
from rationales.models import Batch
from rationales.models.packer import over_rows
from rationales.models.rationalizer import Rationalizer
from rationales.models.rationalizer.selecting import most_wanted
from rationales.results import Row
from rationales.train.labels import Part, Task
from rationales.train.rationalizers import train
from rationales.train.rationalizers.diagnostics import Texts, match, texts_of
from rationales.train.rationalizers.game import GameConfig
from rationales.train.rationalizers.stack import stacked


class Scored(NamedTuple):
    """All texts taken together: what is selected, how well it is predicted from, and how it agrees with people."""

    sparsity: float
    accuracy: float
    precision: float
    recall: float
    f1: float


def texts_to_test(model: Rationalizer, examples: Sequence[Example]) -> Texts:
    """Texts in which people marked tokens, encoded once for all models that have the same tokenizer.

    Tokens beyond the length at which the model cuts texts count neither as selected nor as marked.
    """
    labels = [example.label for example in examples]
    if not all(isinstance(label, int) for label in labels):
        raise InputError("texts to measure on need class numbers as labels")
    return texts_of(model, Part(list(examples), torch.tensor(labels)))


def marked_share(texts: Texts) -> float:
    """The share of the tokens that people marked."""
    return float(texts.marked.sum() / texts.batch.content.sum())


Choice: TypeAlias = Callable[[Rationalizer, Texts], Tensor]
"""A model and texts → the tokens that are selected of each, [N, T]."""


def own_choice(model: Rationalizer, texts: Texts) -> Tensor:
    """What the model itself selects."""
    return over_rows(model, texts.batch, lambda part, _rows: model.chosen(part), tokens=True)


@dataclass(frozen=True)
class BestByLime:
    """The share of each text's tokens that LIME scores highest for what the model says of it."""

    share: float

    def __call__(self, model: Rationalizer, texts: Texts) -> Tensor:
        def compute(part: Batch, _rows: Tensor) -> Tensor:
            scores = Lime().attribute(model, part, model.logits(part).argmax(-1)).values
            return most_wanted(torch.stack([-scores, scores], -1), part.content, self.share)

        return over_rows(model, texts.batch, compute, tokens=True)


@torch.no_grad()
def scored(model: Rationalizer, texts: Texts, choice: Choice = own_choice) -> Scored:
    """Select, predict, and compare with the tokens that people marked."""
    with model.borrowed():
        chosen = choice(model, texts)
        said = over_rows(model, texts.batch, lambda part, _rows: model.logits(part)).argmax(-1)
    found = match(texts, chosen)
    accuracy = float((said == texts.targets).float().mean())
    return Scored(found.sparsity, accuracy, found.precision, found.recall, found.f1)


@dataclass(frozen=True)
class Run:
    """One row of many: a config on a data set, and what it is called in the table."""

    name: str
    data: str
    config: GameConfig
    choice: Choice = own_choice


def trained_and_scored(
    method: str,
    runs: Sequence[Run],
    tasks: dict[str, Task],
    tests: dict[str, Sequence[Example]],
    *,
    updates: int,
    every: int,
    balance: bool,
    device: str,
    report: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Train all runs together; of each, what the best dev accuracy selects on its test texts, as plain JSON."""
    for run in runs:
        run.config.check_updates(updates)
    gc.freeze()  # millions of small objects stay; looking through them again and again would take longer than all else
    try:
        stack = stacked(method, [(tasks[run.data], run.config) for run in runs], balance=balance, device=device)
    finally:
        gc.unfreeze()
    report(f"{method}: {len(runs)} runs are ready")

    def progress(done: int) -> None:
        curves = stack.curves
        accuracy, chosen = (float(np.mean([getattr(c, name)[-1] for c in curves])) for name in ("accuracy", "chosen"))
        report(f"{method}: {done} of {updates} updates, dev accuracy {accuracy:.3f}, chosen {chosen:.3f} on average")

    stack.train(updates, every=every, report=progress)
    first = stack.trained(0)
    marked = {name: texts_to_test(first, tests[name]) for name in {run.data for run in runs}}
    rows = []
    for number, run in enumerate(runs):
        model, curve = stack.trained(number), stack.curves[number]
        test = marked[run.data]
        found = scored(model, test, run.choice)
        report(f"{run.name} on {run.data}, seed {run.config.seed}: F1 {found.f1:.3f}")
        chance = {}
        if run.choice is own_choice:
            model.sampling, model.seed = "gumbel", run.config.seed
            chance["by_chance"] = scored(model, test)._asdict()
        rows.append(
            {
                "name": run.name,
                "data": run.data,
                "seed": run.config.seed,
                "perturb": run.config.perturb,
                "marked": marked_share(test),
                "best_at": curve.updates[curve.best],
                "dev_accuracy": curve.accuracy[curve.best],
                **found._asdict(),
                **chance,
                "curve": vars(curve),
            }
        )
    return rows


def trained_alone(
    method: str,
    config: GameConfig,
    training: Iterable[Example],
    dev: Iterable[Example],
    test: Sequence[Example],
    device: str,
    labels: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Train one run, such as with an encoder of Transformers; what it selects on test texts, as plain JSON."""
    path = train(method, config, training, dev, labels=labels)
    model = Rationalizer.from_pretrained(path, device=device)
    texts = texts_to_test(model, test)
    entry = {"seed": config.seed, "marked": marked_share(texts), **scored(model, texts)._asdict()}
    model.sampling, model.seed = "gumbel", config.seed
    return {**entry, "by_chance": scored(model, texts)._asdict(), "dev_accuracy": best_score(path)}


def best_score(path: Path) -> float:
    """On dev data, of a finished training."""
    return float(json.loads((path / "rationales.json").read_text(encoding="utf-8"))["best_score"])


METRICS = {"S": "sparsity", "accuracy": "accuracy", "precision": "precision", "recall": "recall", "F1": "f1"}


def rows_beside(found: Sequence[dict[str, Any]], published: str) -> list[Row]:
    """Means and standard deviations over seeds, in percent, one row for each data set, method and metric.

    `published` has a line for each data set and method, with the figures of `METRICS` in percent.
    """
    known = {tuple(line.split()[:2]): [float(number) for number in line.split()[2:]] for line in published.split("\n")}
    table = []
    for data, name in dict.fromkeys((run["data"], run["name"]) for run in found):
        own = [run for run in found if (run["data"], run["name"]) == (data, name)]
        figures_then = zip(METRICS, known.get((data, name), ()), strict=False)
        paper = {metric: value for metric, value in figures_then if not math.isnan(value)}
        figures = {metric: [run[field] for run in own] for metric, field in METRICS.items() if field in own[0]}
        if "by_chance" in own[0]:
            figures["S, drawn by chance"] = [run["by_chance"]["sparsity"] for run in own]
            figures["F1, drawn by chance"] = [run["by_chance"]["f1"] for run in own]
        if "dev_accuracy" in own[0]:
            figures["dev accuracy"] = [run["dev_accuracy"] for run in own]
        for metric, values in figures.items():
            percent = 100 * np.array(values)
            table.append(
                Row(
                    metric,
                    float(percent.mean()),
                    method=name,
                    data=data,
                    std=float(percent.std(ddof=1)) if len(values) > 1 else None,
                    n=len(values),
                    paper=paper.get(metric),
                    note=f"marked: {100 * own[0]['marked']:.1f} %" if metric == "S" else None,
                )
            )
    return table
