"""The game that all rationalizers play, and the one place that knows how: a selector chooses, a predictor predicts.

A variant is a subclass of `Game` in a file of its own that changes what the players' losses are; see `rnp.py`, which
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models import Batch
from rationales.models.rationalizer import Draw, Rationalizer, gumbel_draw, perturbed
from rationales.models.rationalizer.encoders import Masking
from rationales.models.rationalizer.selecting import Count
from rationales.registry import Registry, option
from rationales.train.loop import Settings
from rationales.train.rationalizers.regularisers import Ratio, continuity, sparsity

rationalizers: Registry[type[Game]] = Registry("rationalizer")
"""The variants, by name."""


@dataclass(frozen=True)
class Config(Settings):
    """What every variant lets its user choose. Defaults are those of the paper's beer reviews."""

    epochs: int = option(300, "How often to go through the training data.")
    batch_size: int = option(128, "Texts per step.")
    learning_rate: float = option(1e-4, "Learning rate of both players.")
    warmup: float = option(0.0, "Share of the steps in which the learning rate rises.")
    decay: bool = option(False, "Let the learning rate fall to zero; the paper keeps it.")
    weight_decay: float = option(0.0, "Weight decay; biases and normalisation have none.")
    clip: float = option(0.0, "Largest norm of the gradient; 0: any.")
    encoder: str = option("", "Directory or hub name of an encoder of Transformers; empty: a GRU on word vectors.")
    vectors: str = option("", "File of word vectors (GloVe or word2vec text, or Parquet); empty: learned from scratch.")
    vector_size: int = option(100, "Size of word vectors that are learned from scratch.")
    hidden: int = option(200, "States of the GRU, both directions together.")
    dropout: float = option(0.2, "Dropout before the last layer of each player.")
    max_length: int = option(256, "Tokens at which texts are cut.")
    masking: Masking = option("output", "What hides a token from a Transformers encoder: see TransformerEncoder.")
    sparsity: float = option(0.15, "Share of the tokens that should be chosen.")
    sparsity_weight: float = option(11.0, "Weight of the distance from that share.")
    sparsity_ratio: Ratio = option("batch", "Share of the batch as a whole, or of each text.")
    continuity_weight: float = option(12.0, "Weight of changes from one token to the next.")
    continuity_over: Literal["length", "tokens"] = option(
        "length", "Divide changes by max_length, as published weights want it, or by the tokens that there are."
    )
    count_pads: bool = option(False, "Count padding in these two terms, as the authors' program does.")
    label_weight: float = option(0.9, "Weight of the cross-entropy.")
    temperature: float = option(1.0, "Temperature of the random choice.")
    perturb: float = option(0.0, "Share of the chosen tokens to exchange for others while training (VER).")
    perturb_count: Count = option("exact", "Exchange as many in each text, or the batch's mean, as the authors do.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, high in (("sparsity", 0.0, 1.0), ("perturb", 0.0, 1.0), ("dropout", 0.0, 1.0)):
            if not low <= getattr(self, name) <= high:
                raise InputError(f"{name} must lie between {low} and {high}, got {getattr(self, name)}")
        for name, known in (
            ("sparsity_ratio", get_args(Ratio)),
            ("continuity_over", ("length", "tokens")),
            ("perturb_count", get_args(Count)),
            ("masking", get_args(Masking)),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")
        if self.max_length < 2 or self.hidden < 2 or self.hidden % 2:
            raise InputError("max_length must be at least 2, and hidden an even number: it is shared by two directions")
        if self.temperature <= 0:
            raise InputError(f"temperature must be above 0, got {self.temperature}")


class View(NamedTuple):
    """Some texts of the training data: the batch, its embeddings [B, T, d], the classes [B], and their rows [B]."""

    batch: Batch
    embeddings: Tensor
    targets: Tensor
    rows: Tensor


class Table:
    """Encoded texts on the device: taking a batch from them makes nobody wait."""

    def __init__(self, model: Rationalizer, batches: Sequence[Batch], targets: Tensor) -> None:
        width = max(batch.width for batch in batches)

        def joined(name: str, filler: int) -> Tensor:
            parts = [getattr(batch, name) for batch in batches]
            return torch.cat([nn.functional.pad(part, (0, width - part.shape[1]), value=filler) for part in parts])

        self.ids = joined("ids", int(model.tokenizer.pad_token_id or 0)).to(model.device)
        self.keep = joined("keep", 0).to(model.device)
        self.segments = joined("segments", -1).to(model.device)
        self.lengths: list[int] = torch.cat([batch.lengths for batch in batches]).tolist()
        self.targets = targets.to(model.device)

    def batch(self, rows: Sequence[int]) -> tuple[Batch, Tensor]:
        """The rows as a batch, cut to the longest of them, and their numbers on the device."""
        longest = max(self.lengths[row] for row in rows)
        where = torch.tensor(rows, device=self.ids.device)
        ids, keep, segments = (part[where, :longest] for part in (self.ids, self.keep, self.segments))
        return Batch(ids, keep, segments), where


class Game(nn.Module):
    """One step of a game: the loss of some rows of the training data."""

    config: Config

    def __init__(self, model: Rationalizer, table: Table, config: Config) -> None:
        super().__init__()
        self.model, self.table, self.config = model, table, config
        self.networks = model.networks
        self.shown: dict[str, Tensor] = {}

    def forward(self, rows: list[int]) -> Tensor:
        view = self.view(rows)
        draw = self.draw(view)
        self.shown["sparsity"] = draw.hard.sum() / view.batch.content.sum()
        return self.loss(view, draw)

    def view(self, rows: Sequence[int]) -> View:
        batch, where = self.table.batch(rows)
        return View(batch, self.model.embed(batch), self.table.targets[where], where)

    def draw(self, view: View) -> Draw:
        """A random choice of the selector."""
        wanted = self.model.wanted(view.embeddings, view.batch)
        return gumbel_draw(wanted, view.batch.content, temperature=self.config.temperature)

    def vicinity(self, view: View, draw: Draw) -> Draw:
        """What the predictor sees of a choice while it learns: the choice, some of its tokens exchanged."""
        if not self.config.perturb:
            return draw
        config = self.config
        return draw.replaced(perturbed(draw.hard, view.batch.content, config.perturb, count=config.perturb_count))

    def predicted(self, view: View, chosen: Tensor) -> Tensor:
        """Logits of the predictor, [B, C]."""
        return self.model.predict(view.embeddings, view.batch, chosen)

    def regularised(self, view: View, draw: Draw) -> Tensor:
        """How far the choice is from short and whole; always of the choice itself, never of its vicinity."""
        config, chosen = self.config, draw.through
        counted = torch.ones_like(view.batch.keep) if config.count_pads else view.batch.content
        length = config.max_length if config.continuity_over == "length" else None
        shortness = sparsity(chosen, counted, config.sparsity, config.sparsity_ratio)
        return config.sparsity_weight * shortness + config.continuity_weight * continuity(chosen, counted, length)

    def loss(self, view: View, draw: Draw) -> Tensor:
        """0.9 · cross-entropy of the predictor + λ1 · sparsity + λ2 · continuity."""
        logits = self.predicted(view, self.vicinity(view, draw).through)
        return self.config.label_weight * cross_entropy(logits, view.targets) + self.regularised(view, draw)

    def figures(self) -> Mapping[str, float]:
        """What a progress bar shows beside the loss; reading them makes the processor wait."""
        return {name: float(value) for name, value in self.shown.items()}
