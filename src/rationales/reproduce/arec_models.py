"""What tables about AREC have in common: three models that link two texts, trained on SNLI, and the pairs to look at.

What differs from the paper: a quarter of SNLI to train on; GloVe of 100 dimensions; the pretrained encoder is what is
given (BERT-base there); of each test set some pairs are looked at, the same for all. On an accelerator products of
matrices are rounded as TF32 does, which AREC, a thousand passes for each pair, is twice as fast with.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from rationales.data import Dataset, Example, load
from rationales.errors import InputError
from rationales.models import CoAttentive
from rationales.models import load as load_model
from rationales.models.loading import checked_device
from rationales.reproduce.snli import held_out, training_pairs
from rationales.reproduce.tables import Options
from rationales.train import classifier, da, esim

Kind: TypeAlias = Literal["da", "esim", "transformer"]
KINDS: tuple[Kind, ...] = ("da", "esim", "transformer")
PUBLISHED = {"da": "DA", "esim": "ESIM", "transformer": "BERT"}
"""What the paper calls the models that ours stand beside."""

MEASURED = 1000
WORDS = 120_000
"""All words of the vectors that are given, so that models can read those that SNLI lacks."""


def directory(kind: Kind, options: Options) -> Path:
    """Where the trained model is, or will be."""
    return Path(options.models or Path(options.out) / "models") / f"snli-{kind}-{options.seeds[0]}"


def trained(kind: Kind, options: Options) -> CoAttentive:
    """The model; it is trained unless it was before, with the same settings."""
    if len(options.seeds) > 1:
        raise InputError(f"tables about AREC are of one model of each kind; give one seed, not {len(options.seeds)}")
    device = checked_device(options.device or None)
    model = load_model(_train(kind, options, "bf16" if device.type == "cuda" else "no"), device=device)
    assert isinstance(model, CoAttentive)
    return model


def _train(kind: Kind, options: Options, precision: Any) -> Path:
    pairs, dev = _pairs(options.data_dir or None)
    common: dict[str, Any] = {"out": directory(kind, options), "seed": options.seeds[0]}
    if kind == "transformer":
        fast: dict[str, Any] = {"batch_size": 128, "learning_rate": 1e-4, "epochs": 3, "precision": precision}
        config = classifier.Config(encoder=options.encoder, max_length=128, **fast, **common)
        return classifier.train(config, pairs, dev, labels=dev.labels)
    words: dict[str, Any] = {"vectors": options.vectors, "more_words": WORDS, **common}
    if kind == "da":
        return da.train(da.Config(**words), pairs, dev, labels=dev.labels)
    return esim.train(esim.Config(batch_size=128, learning_rate=6e-4, **words), pairs, dev, labels=dev.labels)


@cache
def _pairs(data_dir: str | None) -> tuple[list[Example], Dataset]:
    """Training and dev pairs, read once for all parts of a table."""
    return training_pairs(data_dir), held_out("dev", data_dir)


def test_set(name: str, options: Options) -> Dataset:
    """The pairs of a data set that no model was trained on."""
    return load(name, split="test", data_dir=options.data_dir or None)


def sample(examples: Iterable[Example], size: int = MEASURED) -> list[Example]:
    """At most so many of them, the same each time."""
    whole = list(examples)
    return [whole[place] for place in np.random.default_rng(0).permutation(len(whole))[:size]]
