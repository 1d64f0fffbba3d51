"""What a model can do. An explainer names the protocol it needs; the error says what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from torch import Tensor

from rationales.data.example import Example
from rationales.errors import MissingCapability
from rationales.explanation.types import Explanation
from rationales.models.batch import Batch, Erasure
from rationales.models.tap import Tap


@runtime_checkable
class Model(Protocol):
    """A text model: texts in, one logit per label out."""

    name: str
    labels: tuple[str, ...]
    regression: bool  # whether the outputs are numbers and not classes
    max_length: int  # tokens at which texts are cut
    budget: int  # tokens per batch

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:
        """Tokenise. This is the only place where it happens."""
        ...

    def logits(self, batch: Batch) -> Tensor:
        """[B, C]."""
        ...

    def probabilities(self, logits: Tensor) -> Tensor:
        """Logits [B, C] as the numbers users know: probabilities, or a regression's output unchanged."""
        ...

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        """The batch without the tokens `drop` [B, T]. This is the only meaning of "removed"."""
        ...

    def borrowed(self) -> AbstractContextManager[None]:
        """Evaluation mode, frozen, and back as it was after the block."""
        ...


@runtime_checkable
class Differentiable(Model, Protocol):
    """A model whose logits can be computed from word embeddings, with gradients."""

    def embed(self, batch: Batch) -> Tensor:
        """Word embeddings, [B, T, d]."""
        ...

    def logits_from(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """Logits [B, C] as if these were the batch's word embeddings."""
        ...


@runtime_checkable
class Attentive(Differentiable, Protocol):
    """A model whose attention can be tapped."""

    def tap(self, scale: Tensor | None = None) -> AbstractContextManager[Tap]:
        """Record attention inside the block; with `scale`, multiply it."""
        ...

    def readout(self, batch: Batch) -> Tensor:
        """The column of the token whose state feeds the classifier: the first, or in decoders the last, [B]."""
        ...


@runtime_checkable
class CoAttentive(Model, Protocol):
    """A model that links the tokens of two texts by attention, which can be seen and changed."""

    def logits(self, batch: Batch, alignment: Tensor | None = None) -> Tensor:
        """[B, C]; `alignment` [B, P, H] multiplies the attention between the texts, in both directions.

        P and H are the tokens of the longest first and second text, or more.
        """
        ...

    def coattention(self, batch: Batch) -> Tensor:
        """Attention between the texts, the mean of both directions, [B, P, H]; 0 where there are no tokens."""
        ...


@runtime_checkable
class SelfExplaining(Model, Protocol):
    """A model that explains itself: rationalizers, label-plus-sentence models."""

    def explain(self, batch: Batch) -> Sequence[Explanation]:
        """Predictions and their reasons, one per row."""
        ...


def demand(model: object, needs: type, purpose: str) -> None:
    """Raise an error that names the missing methods unless `model` has the capability `needs`."""
    if not isinstance(model, needs):
        protocols = [base for base in needs.__mro__ if Model in base.__mro__]
        wanted = {name for base in protocols for name in (*vars(base), *base.__annotations__) if name[0] != "_"}
        missing = sorted(name for name in wanted if not hasattr(model, name))
        raise MissingCapability(
            f"{purpose} needs {'an' if needs.__name__[0] in 'AEIOU' else 'a'} {needs.__name__} model; "
            f"{type(model).__name__} has no {', '.join(missing)}"
        )
