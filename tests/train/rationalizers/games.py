"""Small games to test variants with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.train.labels import Task, read_task
from rationales.train.rationalizers import rationalizers
from rationales.train.rationalizers.game import Game, Table, View
from rationales.train.rationalizers.training import new_model

SMALL = {"hidden": 16, "vector_size": 8, "batch_size": 8, "epochs": 1, "learning_rate": 3e-3}


@cache
def task() -> Task:
    return read_task(reviews(24, seed=0), reviews(12, seed=1), REVIEW_LABELS)


def new_game(method: str, **options: object) -> Game:
    """A game of this variant; its players have the same weights whatever the variant."""
    torch.manual_seed(0)
    config = rationalizers[method].Config(out=Path("never"), **{**SMALL, **options})
    model = new_model(method, config, task())
    table = Table(model, [model.encode(task().train.examples)], task().train.targets)
    return rationalizers[method](model, table, config)


def view_of(game: Game, rows: Iterable[int] = range(10)) -> View:
    batch = game.model.encode([task().train.examples[row] for row in rows])
    return View(batch, game.model.embed(batch), task().train.targets[list(rows)])


def gradients(game: Game, loss: Tensor) -> dict[str, Tensor]:
    """Those of all that learns from this loss, by name; those that are zero are left out."""
    named = {name: parameter for name, parameter in game.named_parameters() if parameter.requires_grad}
    found = torch.autograd.grad(loss, list(named.values()), retain_graph=True, allow_unused=True)
    return {name: grad for name, grad in zip(named, found, strict=True) if grad is not None and grad.any()}


def step(game: Game, seed: int = 5) -> Tensor:
    """The loss of a step with these random numbers."""
    batch, targets = view_of(game).batch, view_of(game).targets
    torch.manual_seed(seed)
    loss: Tensor = game(batch, targets).loss
    return loss


def same_lesson(game: Game, other: Game) -> bool:
    """Whether the players of two games learn the same from a step with the same random numbers."""
    lessons = []
    for played in (game.eval(), other.eval()):
        found = gradients(played, step(played))
        lessons.append({name: grad for name, grad in found.items() if name.startswith("networks.")})
    one, two = lessons
    return one.keys() == two.keys() and all(torch.allclose(one[name], two[name], atol=1e-7) for name in one)


def learners(game: Game, loss: Tensor) -> set[str]:
    """Which networks learn from this loss: selector, predictor, words, or the name of a further one."""
    names = set()
    for name in gradients(game, loss):
        parts = name.removeprefix("networks.").split(".")
        names.add("words" if "vectors" in parts else parts[0])
    return names
