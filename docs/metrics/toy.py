"""Models small enough to check by hand, which the pages of methods and metrics use.

In `Odds`, every word multiplies the odds of "positive":

>>> model = Odds(wonderful=9, cold=1 / 3)
>>> round(model.odds("a wonderful soup"), 6)
9.0

An unknown word multiplies by 1, and so does a padding token. The probability of "positive" is odds / (1 + odds).
It is also the shortest example of a model that is not one of Transformers: what `rationales.models.Model` asks for.

In `Meetings`, which reads two texts, every link between two words adds to the logit of "yes" what is said of them:

>>> model = Meetings({("poodle", "dog"): 3, ("boy", "child"): 1})
>>> model.logits(model.encode([Example("", ("boy strokes poodle", "child strokes dog"))])).tolist()
[[0.0, 4.0]]

It is the shortest example of a model whose links can be changed: what `rationales.models.CoAttentive` asks for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from rationales.data import Example
from rationales.explanation.views import word_tokens
from rationales.models import Batch, Encoded, Erasure
from rationales.models.alignment import between
from rationales.models.batch import collate, erase

PAD, UNKNOWN = 0, 1


class Odds:
    """p("positive") = odds / (1 + odds), where the odds are the product of those of the words."""

    name, labels, regression, max_length, budget = "odds", ("negative", "positive"), False, 512, 2048

    def __init__(self, **odds: float) -> None:
        self.ids = {word: number for number, word in enumerate(odds, start=2)}
        self.weights = torch.tensor([0.0, 0.0, *(math.log(value) for value in odds.values())], dtype=torch.float64)

    def odds(self, text: str) -> float:
        """The product of the odds of the words."""
        negative, positive = self.logits(self.encode([Example("", (text,))]))[0].tolist()
        return math.exp(positive - negative)

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:  # noqa: ARG002
        """One token per word, no special tokens."""
        sources = tuple(Encoded(example, word_tokens(example.texts)) for example in examples)
        ids = [[self.ids.get(token.text.strip(".,!"), UNKNOWN) for token in source.tokens] for source in sources]
        segments = [[token.segment for token in source.tokens] for source in sources]
        return collate(ids, segments, None, pad_id=PAD, side="right", sources=sources)

    def logits(self, batch: Batch) -> Tensor:
        """0 for "negative", the sum of log odds for "positive", [B, 2]."""
        shown = batch.keep if batch.zeroed is None else batch.keep & ~batch.zeroed
        total = (self.weights[batch.ids] * shown).sum(-1)
        return torch.stack([torch.zeros_like(total), total], -1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """[B, 2], each row adds up to 1."""
        return logits.softmax(-1)

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        """Without the tokens in `drop` [B, T]; the mask token is unknown like any other."""
        return erase(batch, drop, how, mask_id=UNKNOWN, pad_id=PAD)

    def borrowed(self) -> AbstractContextManager[None]:
        """There is nothing to freeze."""
        return nullcontext()


class Meetings(Odds):
    """The logit of "yes" is the sum over all links of what the meeting of their two words is worth, that of "no" is 0.

    A link that is there by half counts half. Every word attends to all words of the other text alike.
    """

    name, labels = "meetings", ("no", "yes")

    def __init__(self, worth: Mapping[tuple[str, str], float]) -> None:
        super().__init__(**{word: 1.0 for pair in worth for word in pair})
        self.worth = torch.zeros(len(self.weights), len(self.weights), dtype=torch.float64)
        for (first, second), value in worth.items():
            self.worth[self.ids[first], self.ids[second]] = value

    def logits(self, batch: Batch, alignment: Tensor | None = None) -> Tensor:
        """[B, 2]; `alignment` [B, P, H] multiplies the links between the texts."""
        if alignment is not None:
            batch = batch.aligned(alignment)
        ids = batch.ids if batch.zeroed is None else batch.ids.masked_fill(batch.zeroed, UNKNOWN)
        links = between(batch, self.worth[ids[:, :, None], ids[:, None, :]])
        if batch.alignment is not None:
            links = links * batch.alignment[:, : links.shape[1], : links.shape[2]]
        total = links.sum((1, 2))
        return torch.stack([torch.zeros_like(total), total], -1)

    def coattention(self, batch: Batch) -> Tensor:
        """The mean of 1 / P and 1 / H for texts of P and H words, [B, P, H]; 0 in padding."""
        first, second = (batch.members(side).any(-1).double() for side in (0, 1))
        shares = [side / side.sum(1, keepdim=True).clamp(min=1) for side in (first, second)]
        return (shares[0][:, :, None] * second[:, None, :] + first[:, :, None] * shares[1][:, None, :]) / 2
