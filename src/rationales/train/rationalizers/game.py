"""The game that all rationalizers play, and the one place that knows how: a selector chooses, a predictor predicts.

A variant is a subclass of `Game` in a file of its own that changes what the players' losses are; see `rnp.py`, which
changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.models import Batch
from rationales.models.rationalizer import (
    Draw,
    Predictor,
    Rationalizer,
    Selector,
    TransformerEncoder,
    gumbel_draw,
    perturbed,
)
from rationales.models.rationalizer.encoders import Masking
from rationales.models.rationalizer.rationalizer import Whole
from rationales.models.rationalizer.selecting import Count
from rationales.registry import Registry, option
from rationales.train.loop import Settings
from rationales.train.rationalizers.regularisers import Ratio, continuity, narrowed, sparsity

rationalizers: Registry[type[Game]] = Registry("rationalizer")
"""The variants, by name."""


@dataclass(frozen=True)
class GameConfig(Settings):
    """What every variant lets its user choose. Defaults are those of the paper's beer reviews."""

    shared_encoder: ClassVar[bool] = False  # whether both players of the variant have one encoder

    epochs: int = option(300, "How often to go through the training data.")
    batch_size: int = option(128, "Texts per step.")
    learning_rate: float = option(1e-4, "Learning rate of both players.")
    encoder_learning_rate: float = option(1e-5, "Learning rate inside an encoder of Transformers.")
    predictor_rate: float = option(
        1.0, "Learning rates of the predictor as a share of these: a slower one knows fewer texts by heart."
    )
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
    pooling: Literal["max", "first"] = option(
        "max",
        "What the predictor makes of a Transformers encoder's states: the largest of each dimension, as the authors "
        "do, or that of the first token, as most classifiers do, which takes fewer texts to learn.",
    )
    whole: Whole = option("neither", "Text of a pair that is always seen whole, such as a question: first or second.")
    sparsity: float = option(0.15, "Share of the tokens that should be chosen.")
    sparsity_weight: float = option(11.0, "Weight of the distance from that share.")
    narrowing: int = option(
        0, "Updates in which the wanted share falls from all tokens to sparsity; the predictor learns meanwhile."
    )
    sparsity_ratio: Ratio = option("batch", "Share of the batch as a whole, or of each text.")
    continuity_weight: float = option(12.0, "Weight of changes from one token to the next.")
    continuity_over: Literal["length", "tokens"] = option(
        "length", "Divide changes by max_length, as published weights want it, or by the tokens that there are."
    )
    count_pads: bool = option(
        False, "Let padding and special tokens be chosen too, and count that in these two terms, as the authors do."
    )
    label_weight: float = option(0.9, "Weight of the cross-entropy.")
    temperature: float = option(1.0, "Temperature of the random choice.")
    perturb: float = option(0.0, "Share of the chosen tokens to exchange for others while training (VER).")
    perturb_count: Count = option("exact", "Exchange as many in each text, or the batch's mean, as the authors do.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in vars(self).items():  # those of variants too
            if name.endswith("_weight") and not 0 <= value < float("inf"):
                raise InputError(f"{name} cannot be negative or infinite, got {value}")
        if self.vector_size < 1:
            raise InputError(f"vector_size must be at least 1, got {self.vector_size}")
        for name, low, high in (("sparsity", 0.0, 1.0), ("perturb", 0.0, 1.0), ("dropout", 0.0, 1.0)):
            if not low <= getattr(self, name) <= high:
                raise InputError(f"{name} must lie between {low} and {high}, got {getattr(self, name)}")
        for name, known in (
            ("sparsity_ratio", get_args(Ratio)),
            ("continuity_over", ("length", "tokens")),
            ("perturb_count", get_args(Count)),
            ("masking", get_args(Masking)),
            ("pooling", ("max", "first")),
            ("whole", get_args(Whole)),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")
        if self.pooling == "first" and not self.encoder:
            raise InputError("pooling by the first token needs an encoder of Transformers; words have no such token")
        if self.narrowing < 0:
            raise InputError(f"narrowing must be a number of updates, 0 or more; got {self.narrowing}")
        if self.narrowing and not self.sparsity:
            raise InputError("narrowing needs a sparsity above 0: no factor leads there")
        if self.max_length < 2:
            raise InputError(f"max_length must be at least 2, got {self.max_length}")
        if self.hidden < 2 or self.hidden % 2:
            raise InputError(f"hidden must be an even number, which two directions share; got {self.hidden}")
        for name in ("temperature", "encoder_learning_rate", "predictor_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")

    def check_updates(self, updates: int) -> None:
        """Refuse so few that what is wanted in the end never would be."""
        if self.narrowing >= updates:
            raise InputError(f"narrowing must be less than all updates, which are {updates}; got {self.narrowing}")

    def architecture(self, _shares: Sequence[float], /) -> Mapping[str, Any]:
        """Fields of `Architecture` in which a variant's networks differ from RNP's, given the shares of the classes."""
        return {}


class View(NamedTuple):
    """Some texts as the players see them."""

    batch: Batch
    embeddings: Tensor  # [B, T, d]
    targets: Tensor  # [B]


class Played(NamedTuple):
    """What comes of one step: the loss of all networks together, and the share of the tokens that were chosen."""

    loss: Tensor
    share: Tensor


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

    def part(self, rows: NDArray[np.int64]) -> Table:
        """Some rows as a table of their own."""
        part = copy.copy(self)
        where = torch.from_numpy(rows).to(self.ids.device)
        part.ids, part.keep, part.segments = self.ids[where], self.keep[where], self.segments[where]
        part.lengths, part.targets = [self.lengths[row] for row in rows.tolist()], self.targets[where]
        return part

    def batch(self, rows: Sequence[int]) -> tuple[Batch, Tensor]:
        """The rows as a batch, cut to the longest of them, and their classes."""
        longest = max(self.lengths[row] for row in rows)
        where = torch.tensor(rows, device=self.ids.device)
        ids, keep, segments = (part[where, :longest] for part in (self.ids, self.keep, self.segments))
        return Batch(ids, keep, segments), self.targets[where]


class Game(nn.Module):
    """One step of a game: the loss of some texts.

    The step is a pure function of the networks, of the numbers below and of chance, made of operations that
    `torch.func.vmap` knows, with no value read back and no branch on one: so many runs can be played at once.

    `numbers` are those of the config that may differ between such runs; each becomes a buffer of that name. A variant
    with further networks makes them in `__init__`; they learn like the players and are not saved with them. Networks
    that play against each other all learn at once from one loss: see `held`.
    """

    Config: ClassVar[type[GameConfig]]
    numbers: tuple[str, ...] = (
        "sparsity",
        "narrowing",
        "sparsity_weight",
        "continuity_weight",
        "label_weight",
        "perturb",
    )
    sparsity: Tensor
    narrowing: Tensor
    sparsity_weight: Tensor
    continuity_weight: Tensor
    label_weight: Tensor
    perturb: Tensor
    done: Tensor  # updates, counted by whoever makes them

    def __init__(self, model: Rationalizer, table: Table, config: GameConfig) -> None:
        """`table` is the training data, for variants that need to know something of it as a whole."""
        super().__init__()
        self.model, self.config = model, config
        self.networks = model.networks
        for name in self.numbers:
            value = torch.tensor(float(getattr(config, name)), device=table.ids.device)
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("done", torch.zeros((), device=table.ids.device))

    def forward(self, batch: Batch, targets: Tensor) -> Played:
        view = View(batch, self.model.embed(batch), targets)
        draw = self.draw(view)
        return Played(self.loss(view, draw), (draw.hard & batch.content).sum() / batch.content.sum().clamp(min=1))

    def draw(self, view: View) -> Draw:
        """A random choice of the selector."""
        wanted = self.model.wanted(view.embeddings, view.batch)
        return gumbel_draw(wanted, self.counted(view), temperature=self.config.temperature)

    def counted(self, view: View) -> Tensor:
        """Where the choice counts for the regularisers, [B, T]: tokens of the text, or with `count_pads` everywhere."""
        return torch.ones_like(view.batch.keep) if self.config.count_pads else view.batch.content

    def vicinity(self, view: View, draw: Draw) -> Draw:
        """What the predictor sees of a choice while it learns: the choice, some of its tokens exchanged (VER)."""
        content = view.batch.content
        own = Draw(draw.hard & content, draw.soft * content)
        if not self.config.perturb:
            return own
        return own.replaced(perturbed(own.hard, content, self.perturb, count=self.config.perturb_count))

    def predicted(self, view: View, chosen: Tensor) -> Tensor:
        """Logits of the predictor, [B, C], for `chosen` [B, T]."""
        return self.model.predict(view.embeddings, view.batch, chosen)

    def regularised(self, view: View, draw: Draw) -> Tensor:
        """How far the choice is from short and whole; always of the choice itself, never of its vicinity."""
        config, chosen, counted = self.config, draw.through, self.counted(view)
        length = config.max_length if config.continuity_over == "length" else None
        wanted = narrowed(self.sparsity, self.narrowing, self.done)
        shortness = sparsity(chosen * counted, view.batch.content, wanted, config.sparsity_ratio)
        return self.sparsity_weight * shortness + self.continuity_weight * continuity(chosen, counted, length)

    def loss(self, view: View, draw: Draw) -> Tensor:
        """0.9 · cross-entropy of the predictor + λ1 · sparsity + λ2 · continuity."""
        logits = self.predicted(view, self.vicinity(view, draw).through)
        return self.label_weight * cross_entropy(logits, view.targets) + self.regularised(view, draw)


Player = TypeVar("Player", Selector, Predictor)


def another(model: Rationalizer, player: Player) -> Player:
    """A further player of this kind that reads the same word vectors, for a variant to play with.

    Its other weights are new ones, or where an encoder of Transformers was loaded, those.
    """
    first, second = model.architecture.players()
    new = first if isinstance(player, Selector) else second
    if isinstance(player.encoder, TransformerEncoder):
        new.encoder.load_state_dict(player.encoder.state_dict())
    new.encoder.share_words(player.encoder)
    return new.to(model.device)  # type: ignore[return-value]


def held(module: nn.Module, *given: Any) -> Any:
    """What a network says, itself held fixed: gradients go to what it is given, and none to its weights."""
    fixed = {name: parameter.detach() for name, parameter in placed_parameters(module)}
    return functional_call(module, fixed, given, tie_weights=False)


def is_predictors(parameter: str) -> bool:
    """Whether a parameter of this name inside a game is one of its predictor's."""
    return "networks.predictor." in parameter


def placed_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Every place inside a module where there is a parameter; one that several modules share has several.

    A module that is reached by two ways has one place, unlike for `functional_call` with `tie_weights`, which would
    not find its way back.
    """
    for way, part in module.named_modules():
        for name, parameter in part.named_parameters(recurse=False):
            yield f"{way}.{name}" if way else name, parameter
