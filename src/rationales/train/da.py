"""Train Decomposable Attention (Parikh et al., 2016) on pairs of texts, such as those of SNLI.

    from rationales.train.da import Config, train

    train(Config(out=Path("model"), vectors="glove.txt"), train_data, dev_data)

It leaves a directory that `rationales.models.load` reads. Its words are compared one by one and their order plays no
part, so it is quick, and its co-attention is all that the two texts know of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rationales.data.example import Example
from rationales.registry import option
from rationales.train.pair_training import PairConfig, train_on_pairs


@dataclass(frozen=True)
class Config(PairConfig):
    """Decomposable Attention: a classifier of two texts that compares their words one by one."""

    epochs: int = option(8, "How often to go through the training data.")
    batch_size: int = option(64, "Pairs per step, over all devices together.")
    learning_rate: float = option(1e-3, "Highest learning rate.")
    dropout: float = option(0.1, "Dropout before layers.")


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    labels: Sequence[str] | None = None,
) -> Path:
    """Train, keep the epoch of the best dev accuracy, and return the directory of the model."""
    return train_on_pairs("da", config, train_data, dev_data, labels)
