"""Train a network that compares two texts by co-attention: words, network, the best epoch by dev accuracy.

What `da.py` and `esim.py` share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence

from rationales.data.example import Example
from rationales.errors import InputError, ModelError
from rationales.models import PairClassifier
from rationales.models.pairs import Architecture, Kind
from rationales.models.pairs.networks import Side
from rationales.models.pairs.pair_classifier import Network
from rationales.registry import option
from rationales.train.encoding import encoded_parts
from rationales.train.labels import SCORES, Part, Task, read_task
from rationales.train.loop import Settings, fit, gathered, session
from rationales.train.words import known_words


@dataclass(frozen=True)
class PairConfig(Settings):
    """What both networks let their user choose."""

    warmup: float = option(0.0, "Share of the steps in which the learning rate rises.")
    weight_decay: float = option(0.0, "Weight decay; biases have none.")
    vectors: str = option("", "File of word vectors (GloVe or word2vec text, or Parquet); empty: learned from scratch.")
    freeze_vectors: bool = option(True, "Leave the vectors of the file as they are; else they learn too.")
    more_words: int = option(
        50_000, "Words from the beginning of the file that the model knows besides those of the training texts."
    )
    vector_size: int = option(100, "Size of word vectors that are learned from scratch.")
    hidden: int = option(200, "Size of the hidden layers.")
    dropout: float = option(0.2, "Dropout before layers.")
    max_length: int = option(256, "Tokens of a pair, both texts together, at which it is cut.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("more_words", 0), ("vector_size", 1), ("hidden", 1), ("max_length", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie between 0 and below 1, got {self.dropout}")


def train_on_pairs(
    kind: Kind,
    config: PairConfig,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    labels: Sequence[str] | None,
) -> Path:
    """Train, keep the epoch of the best dev accuracy, and return the directory of the model."""
    task = read_task(train_data, dev_data, labels)
    _check(kind, task)
    run = config.run(kind, {"metric": "accuracy", **task.facts()})
    with session(config) as accelerator:
        if run.finished():
            return run.out
        model = new_model(kind, config, task)
        device, warn = accelerator.device, accelerator.is_main_process
        pairs = Pairs(model, task.train, "training", device, warn=warn)
        dev = Pairs(model, task.dev, "dev", device, warn=warn)
        network = model.network.to(device)

        def evaluate() -> float:
            logits = gathered(
                accelerator, lambda rows: answers(network, dev, rows)[0], dev.lengths, 4 * config.batch_size
            )
            if not bool(logits.isfinite().all()):
                raise ModelError("the model answers NaN or infinity to dev texts; use a lower learning_rate")
            return SCORES["accuracy"](logits, task.dev.targets)

        fit(
            config,
            run,
            accelerator,
            Objective(network, pairs),
            pairs.lengths,
            evaluate=evaluate,
            save=model.save_pretrained,
            score="accuracy",
        )
    return run.out


def _check(kind: Kind, task: Task) -> None:
    if not task.names:
        raise InputError(f"{kind} tells classes apart; these labels are numbers")
    for part, what in ((task.train, "training"), (task.dev, "dev")):
        single = next((example.id for example in part.examples if len(example.texts) != 2), None)
        if single is not None:
            raise InputError(
                f"{kind} compares two texts, and {what} example {single!r} is one; say which column holds the second "
                "(--pair-column)"
            )


def new_model(kind: Kind, config: PairConfig, task: Task) -> PairClassifier:
    """The model before training."""
    words = known_words(
        (text for example in task.train.examples for text in example.texts), config.vectors, more=config.more_words
    )
    architecture = Architecture(
        kind,
        task.names,
        words=len(words.tokenizer),
        vector_size=config.vector_size if words.vectors is None else words.vectors.shape[1],
        hidden=config.hidden,
        dropout=config.dropout,
        max_length=config.max_length,
    )
    network = architecture.network()
    words.put_into(network.vectors.weight)
    network.vectors.weight.requires_grad_(words.vectors is None or not config.freeze_vectors)
    params = {name: value for name, value in asdict(config).items() if name not in ("out", "overwrite")}
    return PairClassifier(network, words.tokenizer, architecture, name=str(config.out), params=params)


class Pairs:
    """Encoded pairs on the device, each text by itself: taking some of them makes nobody wait."""

    def __init__(self, model: PairClassifier, part: Part, what: str, device: torch.device, *, warn: bool) -> None:
        texts: tuple[list[Tensor], list[Tensor]] = ([], [])
        for batch in encoded_parts(model, part, what, warn=warn):
            for side, found in enumerate(texts):
                found += [ids[own] for ids, own in zip(batch.ids, batch.segments == side, strict=True)]
        self.sizes = [[len(ids) for ids in found] for found in texts]
        self.lengths = [first + second for first, second in zip(*self.sizes, strict=True)]
        padded = [pad(pad_sequence(found, batch_first=True), (0, 1)) for found in texts]  # where all are empty too
        self.ids = [ids.to(device) for ids in padded]
        self.ends = [torch.tensor(sizes, device=device).unsqueeze(-1) for sizes in self.sizes]
        self.targets = part.targets.to(device)

    def take(self, rows: Sequence[int]) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
        """Of both texts, the ids and which of them are words, [B, N] each, cut to the longest; and the classes, [B]."""
        device, numbers = self.targets.device, torch.tensor(rows)
        where = numbers.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else numbers
        sides = []
        for ids, ends, sizes in zip(self.ids, self.ends, self.sizes, strict=True):
            longest = max(1, *(sizes[row] for row in rows))
            sides.append((ids[where, :longest], torch.arange(longest, device=device) < ends[where]))
        return sides, self.targets[where]


class Objective(nn.Module):
    """Cross-entropy, averaged over rows of the training data."""

    def __init__(self, network: Network, pairs: Pairs) -> None:
        super().__init__()
        self.network, self.pairs = network, pairs

    def forward(self, rows: list[int]) -> Tensor:
        return cross_entropy(*answers(self.network, self.pairs, rows))


def answers(network: Network, pairs: Pairs, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Logits [B, C] and the true classes [B]."""
    sides, targets = pairs.take(rows)
    first, second = (Side(network.vectors(ids), there) for ids, there in sides)
    return network.reader(first, second), targets
