"""Train ESIM (Chen et al., 2017) on pairs of texts, such as those of SNLI.

    from rationales.train.esim import Config, train

    train(Config(out=Path("model"), vectors="glove.txt"), train_data, dev_data)

It leaves a directory that `rationales.models.load` reads. LSTMs read both texts before and after their words are linked
by co-attention: more accurate than Decomposable Attention, and slower.
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
    """ESIM: a classifier of two texts that reads them in order before and after it links their words."""

    epochs: int = option(8, "How often to go through the training data.")
    learning_rate: float = option(4e-4, "Highest learning rate.")
    batch_size: int = option(64, "Pairs per step, over all devices together.")
    hidden: int = option(300, "States of each LSTM in each direction, and size of the hidden layers.")
    dropout: float = option(0.2, "Dropout before layers.")


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    labels: Sequence[str] | None = None,
) -> Path:
    """Train, keep the epoch of the best dev accuracy, and return the directory of the model."""
    return train_on_pairs("esim", config, train_data, dev_data, labels)
