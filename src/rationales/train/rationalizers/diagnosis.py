"""Why selection goes wrong, and what VER changes: the experiments of Liu et al. (2025), figures 2 to 6, 9 and 10.

from rationales.train.rationalizers.diagnosis import Plan, diagnose

found = diagnose(Plan(seeds=(1, 2)), task, marked, rnp.Config(vectors="glove.txt"))

All runs of the sweep are trained together; those of RNP and VER are measured as they go, all of them at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch

from rationales.errors import InputError
from rationales.models.rationalizer import Rationalizer
from rationales.models.rationalizer.rationalizer import Sampling
from rationales.registry import option
from rationales.train.labels import Part, Task
from rationales.train.rationalizers import random_selection, rnp, ver
from rationales.train.rationalizers.diagnostics import (
    Texts,
    judged,
    lipschitz,
    marked_texts,
    match,
    non_overlap,
    selected,
    texts_of,
    with_marks,
)
from rationales.train.rationalizers.members import Member
from rationales.train.rationalizers.random_selection import drawn_by_chance
from rationales.train.rationalizers.stack import Stack, stacked

Measures: TypeAlias = dict[str, float]
Tell: TypeAlias = Callable[[str, int], None]
"""Is told what is being done, and how many updates more are done."""


@dataclass(frozen=True)
class Plan:
    """What to find out, and how long to train for it."""

    seeds: tuple[int, ...] = option((1, 2), "Seeds, with commas between; there is a run of each for every rate.")
    updates: int = option(300, "Training steps of each run.")
    every: int = option(20, "Steps from one measurement to the next.")
    rates: tuple[float, ...] = option(
        tuple(number / 10 for number in range(10)), "Shares of the chosen tokens to exchange while training; 0 is RNP."
    )
    ver: float = option(0.3, "The share that stands for VER beside RNP.")
    control: bool = option(True, "Whether to train a selector against a predictor that learned from random tokens.")
    sampling: Sampling = option(
        "gumbel", "What a selector chooses: by chance, as the authors' program does, or argmax."
    )
    balance: bool = option(True, "Train on as many texts of each class.")
    probes: int = option(256, "Most training texts to measure non-overlap, accuracy and steepness on.")

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise InputError(f"seeds must be different whole numbers from 0 up, got {_listed(self.seeds)}")
        if not all(0 <= rate <= 1 for rate in (*self.rates, self.ver)):
            raise InputError(
                f"rates are shares of the chosen tokens, from 0 to 1; got {_listed(self.rates)}, {self.ver}"
            )
        if not self.ver:
            raise InputError("ver must be above 0: without exchanges it would be RNP")
        for name in ("updates", "every", "probes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.sampling not in ("argmax", "gumbel"):
            raise InputError(f"sampling must be argmax or gumbel, got {self.sampling!r}")

    @property
    def all_rates(self) -> list[float]:
        """With those of RNP and VER."""
        return sorted({0.0, self.ver, *self.rates})

    @property
    def work(self) -> int:
        """Updates in all; those of runs that are trained together count once."""
        return self.updates * (2 + len(self.seeds) if self.control else 1)


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(map(str, values)) or "none"


@dataclass
class Trace:
    """One run: what was measured after each so many updates, by the name of the measure."""

    method: str
    rate: float
    seed: int
    updates: list[int] = field(default_factory=list)
    measures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, updates: int, measures: Mapping[str, float]) -> None:
        """What was measured after so many updates in all."""
        self.updates.append(updates)
        for name, value in measures.items():
            self.measures.setdefault(name, []).append(value)

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        run = {"method": self.method, "rate": self.rate, "seed": self.seed}
        return {**run, "updates": self.updates, **self.measures}


@dataclass(frozen=True)
class Diagnosis:
    """All that was found: runs of RNP and VER as they went, all runs at their best, and the control's two halves."""

    curves: list[Trace]
    sweep: list[Trace]
    predictors: list[Trace]
    selectors: list[Trace]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        parts = {"curves": self.curves, "sweep": self.sweep, "predictors": self.predictors, "selectors": self.selectors}
        return {name: [trace.plain() for trace in traces] for name, traces in parts.items()}


def diagnose(
    plan: Plan,
    task: Task,
    marked: Part,
    config: rnp.Config,
    *,
    device: torch.device | str = "cpu",
    tell: Tell = lambda _what, _updates: None,
) -> Diagnosis:
    """Train all runs and measure them.

    Args:
        plan: what to train.
        task: training and dev data.
        marked: texts in which people marked words; others in it are left out.
        config: options of all runs; seed and perturb are the plan's.
        device: where to train.
        tell: is told how far it is.
    """
    if not task.names:
        raise InputError("a rationalizer tells classes apart; these labels are numbers")
    marked = with_marks(marked)
    runs = [(rate, seed) for rate in plan.all_rates for seed in plan.seeds]
    config.check_updates(plan.updates)
    configs = [ver.Config(**{**vars(config), "perturb": rate, "seed": seed}) for rate, seed in runs]
    stack = stacked("ver", [(task, one) for one in configs], balance=plan.balance, device=device)
    rows = range(0, len(task.train.examples), math.ceil(len(task.train.examples) / plan.probes))  # files may be sorted
    probing = Part([task.train.examples[row] for row in rows], task.train.targets[list(rows)])
    texts = texts_of(stack.model, probing), marked_texts(stack.model, marked)  # all runs read the same words
    probes = Probes(*texts, plan.sampling, config.sparsity)
    curves, sweep = _sweep(plan, stack, probes, tell)
    predictors, selectors = _control(plan, task, config, probes, device, tell) if plan.control else ([], [])
    return Diagnosis(curves, sweep, predictors, selectors)


@dataclass(frozen=True, eq=False)
class Probes:
    """The texts that models are measured on: of the training data, and with marks of people."""

    train: Texts
    marked: Texts
    sampling: Sampling = "gumbel"
    share: float = 0.125

    def choices(self, model: Rationalizer, texts: Texts, seed: int) -> torch.Tensor:
        """What a selector chooses, by chance or not, [N, T]."""
        return selected(model, texts, self.chance(seed) if self.sampling == "gumbel" else None)

    def chance(self, seed: int) -> torch.Generator:
        """A generator on the device of the texts."""
        return torch.Generator(self.train.targets.device).manual_seed(seed)

    def measured(self, model: Rationalizer, seed: int) -> Measures:
        """A model as it is now."""
        chosen, own = self.choices(model, self.marked, seed), self.choices(model, self.train, seed)
        mine, theirs = judged(model, self.marked, chosen), judged(model, self.marked, self.marked.marked)
        return {
            **match(self.marked, chosen)._asdict(),
            **mine._asdict(),
            "marked_accuracy": theirs.accuracy,
            "marked_entropy": theirs.entropy,
            "train_accuracy": judged(model, self.train, own).accuracy,
            "lipschitz": lipschitz(model, self.train, own),
        }

    def on_random_tokens(self, model: Rationalizer, seed: int) -> Measures:
        """A predictor that has no selector yet."""
        random = drawn_by_chance(self.train.batch.content, self.share, generator=self.chance(seed))
        return {"train_accuracy": judged(model, self.train, random).accuracy}


class Follower:
    """Measures some runs of a stack after each of its evaluations."""

    def __init__(self, stack: Stack, traces: Mapping[int, Trace], probes: Probes) -> None:
        self.stack, self.traces, self.probes = stack, traces, probes
        self._before = {number: self._choice(stack.present(number), number, 0) for number in traces}

    def __call__(self, done: int) -> None:
        for number, trace in self.traces.items():
            model = self.stack.present(number)
            now = self._choice(model, number, done)
            moved = non_overlap(self._before[number], now)
            self._before[number] = now
            dev = {"dev_accuracy": self.stack.curves[number].accuracy[-1], "loss": self.stack.curves[number].loss[-1]}
            trace.add(done, {"non_overlap": moved, **self.probes.measured(model, trace.seed + done), **dev})

    def _choice(self, model: Rationalizer, number: int, done: int) -> torch.Tensor:
        """A random choice, each time another."""
        return selected(model, self.probes.train, self.probes.chance(self.traces[number].seed + done))


def _sweep(plan: Plan, stack: Stack, probes: Probes, tell: Tell) -> tuple[list[Trace], list[Trace]]:
    """Train runs of all rates together; those of RNP and VER are followed, and all are measured at their best."""
    runs = [(member.config.perturb, member.config.seed) for member in stack.members]

    def trace(rate: float, seed: int) -> Trace:
        return Trace("ver" if rate else "rnp", rate, seed)

    followed = {number: trace(*run) for number, run in enumerate(runs) if run[0] in (0.0, plan.ver)}
    _train(stack, plan, Follower(stack, followed, probes), "RNP and VER", tell)
    sweep = [trace(*run) for run in runs]
    for number, each in enumerate(sweep):
        curve = stack.curves[number]
        dev = {"dev_accuracy": curve.accuracy[curve.best]}
        each.add(curve.updates[curve.best], {**probes.measured(stack.trained(number), each.seed), **dev})
    return list(followed.values()), sweep


def _control(
    plan: Plan, task: Task, config: rnp.Config, probes: Probes, device: torch.device | str, tell: Tell
) -> tuple[list[Trace], list[Trace]]:
    """Predictors that learn from random tokens; then a selector learns against each, which does not change any more."""
    configs = [random_selection.Config(**{**vars(config), "perturb": 0.0, "seed": seed}) for seed in plan.seeds]
    first = stacked("random_selection", [(task, one) for one in configs], balance=plan.balance, device=device)
    predictors = [Trace("random_selection", 0.0, seed) for seed in plan.seeds]
    selectors = [Trace("held_predictor", 0.0, seed) for seed in plan.seeds]

    def report(done: int) -> None:
        for number, trace in enumerate(predictors):
            trace.add(done, probes.on_random_tokens(first.present(number), trace.seed + done))

    _train(first, plan, report, "a predictor on random tokens", tell)
    for number, trace in enumerate(selectors):
        member = first.members[number]
        own = rnp.Config(**{**vars(config), "perturb": 0.0, "seed": trace.seed})
        second = against(first.present(number), replace(member, config=own), first)
        _train(second, plan, Follower(second, {0: trace}, probes), "a selector against it", tell)
    return predictors, selectors


def against(model: Rationalizer, member: Member, texts: Stack) -> Stack:
    """A run of RNP whose predictor is that of a model and stays so, its word vectors included; the selector is new.

    Its training and dev data are those of another stack, whose model read the same words.
    """
    networks = model.networks.requires_grad_(True).train()
    networks.predictor.requires_grad_(False)
    start = Rationalizer(networks, model.tokenizer, replace(model.architecture, post_hoc=0.0), name=model.name)
    return Stack("rnp", start, [replace(member, post_hoc=0.0)], train=texts.table, dev=texts.dev)


def _train(stack: Stack, plan: Plan, report: Callable[[int], None], what: str, tell: Tell) -> None:
    """Train with measurements; whoever is told hears of each, and of the last updates."""
    tell(what, 0)
    told = 0

    def measure(done: int) -> None:
        nonlocal told
        report(done)
        tell(what, done - told)
        told = done

    stack.train(plan.updates, every=plan.every, report=measure)
