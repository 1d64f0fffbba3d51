"""One pair at a time, in float64, one matrix of links at a time: what the slow oracles of links are built on.

Nothing here uses our packer or any method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

import tiny
from rationales.data.example import Example
from rationales.explainers import AnyExplainer
from rationales.explanation import Alignment, Explanation

KINDS = ("da", "esim", "bert")
SOME = (
    *tiny.pairs(),
    Example("repeats", ("so so so good", "so good")),
    Example("one word each", ("soup", "food")),
)
"""The longest has 5 × 4 links, the shortest one."""


@cache
def exact(kind: str, **options: Any) -> Any:
    """A tiny model in float64."""
    model = tiny.coattentive(kind, **options)
    network_of(model).double()
    return model


def network_of(model: Any) -> torch.nn.Module:
    return model.network if hasattr(model, "network") else model.model


def weights(explanation: Explanation) -> np.ndarray:
    assert isinstance(explanation.body, Alignment)
    return explanation.body.weights


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-8, floor: float = 0.0) -> bool:
    """Whether they agree relative to the largest weight, or to within `floor`."""
    allowed = tolerance * np.abs(wanted).max() + floor
    return found.shape == wanted.shape and bool(np.abs(found - wanted).max() <= allowed)


class Pair:
    """One pair, and the model's output for it when its links are so strong."""

    def __init__(self, model: Any, example: Example, target: int | None = None) -> None:
        self.model, self.batch = model, model.encode([example])
        tokens = self.batch.sources[0].tokens
        self.shape = tuple(sum(token.segment == side for token in tokens) for side in (0, 1))
        self.target = int(self.logits(np.ones(self.shape)).argmax()) if target is None else target

    def cells(self) -> Iterator[tuple[int, int]]:
        return iter(np.ndindex(self.shape))

    def logits(self, links: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.model.logits(self.batch, alignment=torch.from_numpy(links).unsqueeze(0))[0].numpy()

    def output(self, links: np.ndarray, output: str = "probability") -> float:
        logits = self.logits(links)
        if output == "logit":
            return float(logits[self.target])
        powers = np.exp(logits - logits.max())
        return float(powers[self.target] / powers.sum())

    def distance(self, links: np.ndarray) -> float:
        return float(np.linalg.norm(self.logits(links) - self.logits(np.ones(self.shape))))


def each(method: AnyExplainer, model: Any, examples: Sequence[Example] = SOME) -> Iterator[tuple[Pair, np.ndarray]]:
    """Each pair, and the weights that the method finds for it among all."""
    for example, explanation in zip(examples, method(model, model.encode(examples)), strict=True):
        yield Pair(model, example), weights(explanation)
