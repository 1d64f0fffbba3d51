"""InvRat: the selection should tell as much about the class in every environment.

    L = L_RNP + λ · max(0, CE(y, p(z)) - CE(y, p_e(z, e))) + CE(y, p_e(z, e))

p is the predictor, and p_e a further one that knows from which environment e the text is. Where it predicts better, the
selection means another thing in each environment, as a spurious one does. The selector alone learns from the second
term, the further predictor alone from the last one. Chang et al. (2020), "Invariant Rationalization".

λ is that of the authors' program for beer reviews. There the players take turns, here all learn at once; there the
environment is appended to each word vector, here a learned vector of it is added.

The authors drew two environments of beer reviews from the ratings of other aspects; their partition is not public,
and most data have no such ratings. Here the environments are two halves of the training texts with different topics:
those on either side of the median of the first principal component of their weighted word counts (tf-idf). They are
found without the labels. Where the data have environments of their own, `environment` is what to override.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rationales.models import Batch
from rationales.models.rationalizer import Draw, Predictor, Rationalizer
from rationales.registry import option
from rationales.train.rationalizers.game import Game, GameConfig, Table, View, another, held, rationalizers

ROUNDS = 30
"""Multiplications by which the principal component is found; halves need no more."""


@dataclass(frozen=True)
class Config(GameConfig):
    """Select tokens and predict from those alone, equally well in every environment (InvRat)."""

    invariance_weight: float = option(1.0, "Weight of how much better one predicts who knows the environment.")


class Aware(nn.Module):
    """A predictor that knows the environment: a vector of it is added to each word."""

    def __init__(self, predictor: Predictor, size: int) -> None:
        super().__init__()
        self.predictor, self.marks = predictor, nn.Embedding(2, size)

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor, environment: Tensor) -> Tensor:
        marked = embeddings + self.marks(environment).unsqueeze(1)
        return self.predictor(marked, keep, shown)  # type: ignore[no-any-return]


@rationalizers("inv_rat")
class InvRat(Game):
    """RNP, and a predictor that knows the environment."""

    Config = Config
    numbers = (*Game.numbers, "invariance_weight")
    invariance_weight: Tensor
    topic: Tensor  # a number for each word; its mean over a text tells the environment
    middle: Tensor

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        super().__init__(model, table, config)
        size = model.networks.predictor.encoder.embed(table.ids[:1, :1]).shape[-1]
        self.aware = Aware(another(model, model.networks.predictor), size).to(table.ids.device)
        content = table.segments >= 0
        topic = principal_words(table.ids.cpu(), content.cpu(), len(model.tokenizer)).to(table.ids.device)
        self.register_buffer("topic", topic, persistent=False)
        self.register_buffer("middle", mean(topic[table.ids], content).median(), persistent=False)

    def environment(self, batch: Batch) -> Tensor:
        """The environment of each text, 0 or 1, [B]."""
        return (mean(self.topic[batch.ids], batch.content) > self.middle).long()

    def loss(self, view: View, draw: Draw) -> Tensor:
        near = self.vicinity(view, draw).through
        plain = self.label_weight * cross_entropy(self.predicted(view, near), view.targets)
        words, keep = view.embeddings.detach(), view.batch.keep
        chosen, environment = self.model.shown(view.batch, near), self.environment(view.batch)
        own = cross_entropy(self.aware(words, keep, chosen.detach(), environment), view.targets)
        agnostic = cross_entropy(held(self.networks.predictor, words, keep, chosen), view.targets)
        aware = cross_entropy(held(self.aware, words, keep, chosen, environment), view.targets)
        unequal = (agnostic - aware).clamp(min=0)
        return plain + self.invariance_weight * unequal + own + self.regularised(view, draw)


def mean(values: Tensor, content: Tensor) -> Tensor:
    """The mean over the tokens of each text, [B], of [B, T]."""
    return (values * content).sum(-1) / content.sum(-1).clamp(min=1)


def principal_words(ids: Tensor, content: Tensor, words: int) -> Tensor:
    """A number for each word, [words], such that the means over texts [N, T] are their first principal component.

    The texts' features are the shares of the words, weighted by log(tokens / occurrences).
    """
    flat = torch.where(content, ids, words).flatten()  # padding counts as one more word
    occurrences = torch.bincount(flat, minlength=words + 1)[:words]
    rarity = (content.sum() / occurrences.clamp(min=1)).log() * (occurrences > 0)
    direction = torch.randn(words, generator=torch.Generator().manual_seed(0))
    for _ in range(ROUNDS):
        score = mean((rarity * direction)[ids], content)
        back = (score - score.mean()).unsqueeze(-1) / content.sum(-1, keepdim=True).clamp(min=1)
        sums = torch.zeros(words + 1).index_add(0, flat, back.expand_as(ids).flatten())[:words]
        direction = nn.functional.normalize(rarity * sums, dim=0)
    return rarity * direction
