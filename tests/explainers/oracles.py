"""One text at a time, in float64, straight through the network: what the slow oracles of the methods are built on.

Nothing here uses our batches, our packer or our erasure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

import tiny
from rationales.data.example import Example
from rationales.explainers import Explainer
from rationales.explanation import Explanation, Explanations
from rationales.models import TransformersClassifier

SOME = (*tiny.singles()[:4], *tiny.pairs())
"""Singles and pairs; the longest has 14 tokens."""


@cache
def exact(kind: str = "bert", **options: Any) -> TransformersClassifier:
    """A tiny model in float64."""
    model = tiny.classifier(kind, **options)
    model.model.double()
    return model


def explain(
    explainer: Explainer, model: TransformersClassifier, examples: Sequence[Example] = SOME, target: Any = None
) -> Explanations:
    return explainer(model, model.encode(examples), target)


def scores(explanation: Explanation) -> np.ndarray:
    return explanation.body.values


def close(found: np.ndarray, wanted: np.ndarray | Tensor, tolerance: float = 1e-8) -> bool:
    """Whether they agree relative to the largest score."""
    wanted = np.asarray(wanted.detach() if isinstance(wanted, Tensor) else wanted, dtype=np.float64)
    return found.shape == wanted.shape and bool(np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max())


class Text:
    """One text as the network takes it, and the network's output for changed versions of it."""

    def __init__(self, model: TransformersClassifier, example: Example) -> None:
        encoding = model.tokenizer(*example.texts)
        self.network, self.tokenizer = model.model, model.tokenizer
        self.ids: list[int] = encoding["input_ids"]
        self.types: list[int] | None = (
            encoding.get("token_type_ids") if "bert" in type(model.model).__name__.lower() else None
        )
        self.content = [number is not None for number in encoding.encodings[0].sequence_ids]
        self.target = int(self.logits().argmax())

    def inputs(self, keep: Sequence[bool] | None = None) -> dict[str, Tensor]:
        keep = [True] * len(self.ids) if keep is None else keep
        chosen = (
            {"input_ids": self.ids} if self.types is None else {"input_ids": self.ids, "token_type_ids": self.types}
        )
        if not any(keep):  # nothing left to read: one padding token stands for the empty text
            return {name: torch.zeros(1, 1, dtype=torch.long) for name in chosen}
        return {
            name: torch.tensor([[value for value, kept in zip(values, keep, strict=True) if kept]])
            for name, values in chosen.items()
        }

    def logits(self, keep: Sequence[bool] | None = None) -> Tensor:
        with torch.no_grad():
            return self.network(**self.inputs(keep)).logits[0]

    def output(self, keep: Sequence[bool] | None = None) -> float:
        """Probability of the target when only these tokens are there."""
        return float(self.logits(keep).softmax(-1)[self.target])

    def embeddings(self, ids: list[int] | None = None) -> Tensor:
        """[1, T, d]."""
        with torch.no_grad():
            return self.network.get_input_embeddings()(torch.tensor([self.ids if ids is None else ids]))

    def logit_from(self, embeddings: Tensor) -> Tensor:
        """The target's logit for given word embeddings [n, T, d], [n]."""
        rest = {} if self.types is None else {"token_type_ids": torch.tensor([self.types] * len(embeddings))}
        return self.network(inputs_embeds=embeddings, **rest).logits[:, self.target]

    def slope(self, embeddings: Tensor) -> Tensor:
        """∂logit/∂embeddings, [T, d]."""
        point = embeddings.clone().requires_grad_()
        return torch.autograd.grad(self.logit_from(point).sum(), point)[0][0]

    def without(self, *columns: int) -> list[bool]:
        return [column not in columns for column in range(len(self.ids))]

    def columns(self) -> list[int]:
        """The columns of the tokens that belong to a text."""
        return [column for column, content in enumerate(self.content) if content]

    def only(self, present: Sequence[float]) -> list[bool]:
        """Special tokens, and of the text's tokens those that are present."""
        keep, present = [not content for content in self.content], list(present)
        for column, here in zip(self.columns(), present, strict=True):
            keep[column] = bool(here)
        return keep


def each(
    model: TransformersClassifier, found: Sequence[Explanation], examples: Sequence[Example] = SOME
) -> Iterator[tuple[Text, np.ndarray]]:
    """Each text and the scores that were found for it."""
    for example, explanation in zip(examples, found, strict=True):
        text = Text(model, example)
        assert explanation.target.index == text.target
        yield text, scores(explanation)
