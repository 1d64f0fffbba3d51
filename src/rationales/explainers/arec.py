"""AREC: the few links between two texts that suffice for the model's answer, found for each pair by optimisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.alignment import Aligner, cells, kept_checks, widened
from rationales.explainers.base import Links, aligners
from rationales.explainers.hard_concrete import drawn, likelier, zero_probability
from rationales.explainers.noise import text_seeds, uniform
from rationales.explanation.views import word_numbers
from rationales.models import Batch, CoAttentive, Encoded, over, predict
from rationales.registry import option

Level: TypeAlias = Literal["piece", "word"]

BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Adam's."""
_LOOK = 10
"""Steps after which it is looked which pairs are finished; each look makes the processor wait for the device."""


def alignment_loss(answers: Tensor, logits: Tensor, log_alpha: Tensor, there: Tensor, weight: float) -> Tensor:
    """The loss of each pair, [B]: how far masks move the logits, and how many links they keep and how scattered.

    `answers` [B, n, C] are logits under masks that were drawn from log α [B, P, H], `logits` [B, C] those without.
    Reading ease counts by the share of the masks that keep the answer.
    """
    distance: Tensor = (answers - logits.unsqueeze(1)).norm(dim=-1).mean(1)
    same = answers.argmax(-1) == logits.argmax(-1, keepdim=True)
    zero = zero_probability(log_alpha)
    readable = compactness_loss(zero, there) + contiguity_loss(zero, there)
    return distance + weight * same.to(distance).mean(1) * readable


def compactness_loss(zero: Tensor, there: Tensor) -> Tensor:
    """L₁ = Σ P(z ≠ 0) of the cells that are there, [B], from P(z = 0), [B, P, H]."""
    return ((1 - zero) * there).sum((1, 2))


def contiguity_loss(zero: Tensor, there: Tensor) -> Tensor:
    """L₂ = Σ P(just three of a window of 2 × 2 cells are not 0), [B], from P(z = 0), [B, P, H]."""
    gone, inside = _windows(zero), _windows(there)
    one, two, three, four = (1 - gone).unbind(0)
    # products of two at a time: torch's own product over a dimension asks the device for zeros on its way back
    first = (gone[0] * two + gone[1] * one) * (three * four)
    second = (gone[2] * four + gone[3] * three) * (one * two)
    return ((first + second) * inside.all(0)).sum((1, 2))


def _windows(cells: Tensor) -> Tensor:
    """The four cells of each window of 2 × 2, [4, B, P - 1, H - 1]."""
    return torch.stack([cells[:, :-1, :-1], cells[:, :-1, 1:], cells[:, 1:, :-1], cells[:, 1:, 1:]])


@aligners("arec")
@dataclass(frozen=True)
class Arec(Aligner):
    """The few links between two texts that suffice for the model's answer (`steps` × `samples` passes there and back).

    Minimises E‖M(x) - M^z(x)‖₂ + λ (Σ P(z ≠ 0) + Σ P(three of a 2 × 2 window ≠ 0)) over log α of HardConcrete masks z
    on the attention between the texts, where M are the logits and λ is `weight` times the share of the samples that
    keep the answer. Weights are log α; a link is kept where log α > 0. Records the distance of the logits that the kept
    links give (`fidelity`), whether they give the same answer, and the steps that were taken. Jiang et al. (2021).
    """

    steps: int = option(300, "steps of the optimiser, at most")
    samples: int = option(16, "masks that are drawn in each step")
    learning_rate: float = option(0.1, "Adam's learning rate")
    weight: float = option(0.15, "weight of compactness and contiguity")
    start: float = option(0.5, "log α in the beginning; from 1.5 on, everything tends to stay")
    patience: int = option(60, "stop after this many steps in which the kept links stay the same; 0: never")
    level: Level = option("piece", "link the tokens of the model, or whole words")
    seed: int = option(0, "seed of the masks")
    explains_whole_answer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        least = {"steps": 1, "samples": 1, "patience": 0}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise InputError(f"{name} must be at least {bound}, got {getattr(self, name)}")
        if self.learning_rate <= 0 or self.weight < 0:
            raise InputError(
                f"learning_rate must be above 0 and weight not below; got {self.learning_rate} and {self.weight}"
            )

    def align(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Links:  # noqa: ARG002
        shape = cells(batch).shape
        logits = predict(model, batch)
        seeds = text_seeds(batch.fingerprints(), self.seed, batch.ids.device)

        def compute(part: Batch, rows: Tensor) -> Tensor:
            sources = [batch.sources[row] for row in rows.tolist()]
            units = _Units.of(sources, self.level, batch.ids.device)
            log_alpha, taken = self._optimised(_Problem(model, part, logits[rows], seeds[rows], units))
            keep = likelier(log_alpha) & units.there
            both = torch.stack([units.of_pieces(log_alpha), units.of_pieces(keep.to(log_alpha))], 1)
            return torch.cat([taken.unsqueeze(1), widened(both, shape).flatten(1)], 1)

        with torch.no_grad():
            found = over(model, batch, torch.arange(len(batch)), compute, cost=self.samples)
        log_alpha, kept = found[:, 1:].unflatten(1, (2, *shape[1:])).unbind(1)
        keep = kept > 0
        return Links(log_alpha, keep, {**kept_checks(model, batch, keep), "steps": found[:, 0]})

    def _optimised(self, problem: _Problem) -> tuple[Tensor, Tensor]:
        """log α [b, units, units] of each pair when it is finished, and the steps that it took, [b]."""
        there = problem.units.there
        state = _Adam(torch.full(there.shape, float(self.start), device=there.device))
        rows = torch.arange(len(there), device=there.device)  # those that are not finished
        result, taken = state.log_alpha, torch.zeros(len(there), device=there.device)
        kept, since = likelier(state.log_alpha), torch.zeros_like(taken)  # since: steps without a change
        reach = math.ceil(abs(self.start) / self.learning_rate)  # steps before anything can change at all
        for number in range(1, self.steps + 1):
            state.step(self._gradient(problem, state.log_alpha, number), number, self.learning_rate)
            before, kept = kept, likelier(state.log_alpha)
            since = torch.where((kept == before).flatten(1).all(1), since + 1, 0.0)
            if number % _LOOK and number < self.steps:
                continue
            result, taken = result.index_copy(0, rows, state.log_alpha), taken.index_fill(0, rows, number)
            going = since < (self.patience + reach if self.patience else number + 1)
            if not bool(going.any()):
                break
            if not bool(going.all()):
                rows, since, kept = rows[going], since[going], kept[going]
                problem, state = problem.take(going), state.take(going)
        return result, taken

    def _gradient(self, problem: _Problem, log_alpha: Tensor, step: int) -> Tensor:
        """Of the loss with respect to log α, [b, units, units]."""
        there = problem.units.there
        noise = uniform(problem.seeds, step, self.samples, there.shape[1], there.shape[2])
        with torch.enable_grad():
            log_alpha = log_alpha.detach().requires_grad_()
            answers = problem.answers(drawn(log_alpha.unsqueeze(1), noise))
            loss = alignment_loss(answers, problem.logits, log_alpha, there, self.weight)
            (gradient,) = torch.autograd.grad(loss.sum(), log_alpha)
        return gradient * there


@dataclass(frozen=True, eq=False)
class _Units:
    """What is linked: tokens, or the words that they belong to.

    there  [b, P', H']  which cells are links between two units, and not padding
    maps   [b, P, P'] and [b, H, H'], 1 where a token belongs to a word; None where units are tokens
    """

    there: Tensor
    maps: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, sources: Sequence[Encoded], level: Level, device: torch.device) -> _Units:
        def numbers_of(source: Encoded, side: int) -> list[int]:
            if level == "word":
                return word_numbers(source.tokens, source.example.texts, side)
            return list(range(sum(token.segment == side for token in source.tokens)))

        numbers = [[numbers_of(source, side) for source in sources] for side in (0, 1)]
        maps = tuple(_membership(side).to(device) for side in numbers)
        first, second = (each.any(1) for each in maps)
        there = first[:, :, None] & second[:, None, :]
        return cls(there, None if level == "piece" else (maps[0].float(), maps[1].float()))

    def take(self, rows: Tensor) -> _Units:
        return _Units(self.there[rows], None if self.maps is None else (self.maps[0][rows], self.maps[1][rows]))

    def of_pieces(self, values: Tensor) -> Tensor:
        """Of units → of tokens: [b, P', H'] → [b, P, H], or several for each of the b, [b, n, P', H']."""
        if self.maps is None:
            return values
        first, second = self.maps if values.dim() == 3 else (each.unsqueeze(1) for each in self.maps)
        return first @ values @ second.transpose(-1, -2)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Pairs whose links are looked for: encoded, with their logits [b, C] and seeds [b]."""

    model: CoAttentive
    part: Batch
    logits: Tensor
    seeds: Tensor
    units: _Units

    def take(self, rows: Tensor) -> _Problem:
        numbers = torch.nonzero(rows).flatten()
        return _Problem(self.model, self.part.take(numbers), self.logits[rows], self.seeds[rows], self.units.take(rows))

    def answers(self, masks: Tensor) -> Tensor:
        """Logits [b, n, C] under n masks for each pair, [b, n, P', H']."""
        masks = self.units.of_pieces(masks)
        size, samples = masks.shape[:2]
        many = self.part.take(torch.arange(size, device=masks.device).repeat_interleave(samples))
        logits = self.model.logits(many, masks.flatten(0, 1))
        return logits.view(size, samples, -1)


class _Adam:
    """Adam on log α, cell by cell, so that what happens to one pair does not depend on others."""

    def __init__(self, log_alpha: Tensor, mean: Tensor | None = None, square: Tensor | None = None) -> None:
        self.log_alpha = log_alpha
        self.mean = torch.zeros_like(log_alpha) if mean is None else mean
        self.square = torch.zeros_like(log_alpha) if square is None else square

    def step(self, gradient: Tensor, number: int, rate: float) -> None:
        first, second = BETAS
        self.mean = torch.lerp(self.mean, gradient, 1 - first)
        self.square = torch.lerp(self.square, gradient.square(), 1 - second)
        mean, square = self.mean / (1 - first**number), self.square / (1 - second**number)
        self.log_alpha = self.log_alpha - rate * mean / (square.sqrt() + EPSILON)

    def take(self, rows: Tensor) -> _Adam:
        return _Adam(self.log_alpha[rows], self.mean[rows], self.square[rows])


def _membership(numbers: Sequence[Sequence[int]]) -> Tensor:
    """Which token has which number: [b, tokens, numbers]."""
    size, most = max(map(len, numbers)), 1 + max(max(own) for own in numbers)
    out = torch.zeros(len(numbers), size, most, dtype=torch.bool)
    for row, own in enumerate(numbers):
        out[row, torch.arange(len(own)), torch.tensor(own)] = True
    return out
