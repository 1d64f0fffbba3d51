"""What tables about AREC have in common: three models that link two texts, trained on SNLI, and the pairs to look at.

What differs from the paper: a quarter of SNLI to train on; GloVe of 100 dimensions; the pretrained encoder is what is
given (BERT-base there); of each test set some pairs are looked at, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from rationales.data import Dataset, Example, load
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


def trained(kind: Kind, options: Options, report: Callable[[str], None]) -> CoAttentive:
    """The model; it is trained unless it was before."""
    out, device = directory(kind, options), checked_device(options.device or None)
    if not (out / "config.json").exists():
        report(f"{kind}: training on SNLI")
        _train(kind, out, options, "bf16" if device.type == "cuda" else "no")
    model = load_model(out, device=device)
    assert isinstance(model, CoAttentive)
    return model


def _train(kind: Kind, out: Path, options: Options, precision: Any) -> None:
    pairs, dev = training_pairs(options.data_dir or None), held_out("dev", options.data_dir or None)
    common: dict[str, Any] = {"out": out, "seed": options.seeds[0], "overwrite": options.overwrite}
    if kind == "transformer":
        config = classifier.Config(encoder=options.encoder, epochs=3, precision=precision, max_length=128, **common)
        classifier.train(config, pairs, dev, labels=dev.labels)
        return
    words: dict[str, Any] = {"vectors": options.vectors, "more_words": WORDS, **common}
    if kind == "da":
        da.train(da.Config(**words), pairs, dev, labels=dev.labels)
    else:
        esim.train(esim.Config(**words), pairs, dev, labels=dev.labels)


def test_set(name: str, options: Options) -> Dataset:
    """The pairs of a data set that no model was trained on."""
    return load(name, split="test", data_dir=options.data_dir or None)


def sample(examples: Iterable[Example], size: int = MEASURED) -> list[Example]:
    """At most so many of them, the same each time."""
    whole = list(examples)
    return [whole[place] for place in np.random.default_rng(0).permutation(len(whole))[:size]]
