"""SNLI as the tables about pairs of texts use it: all training pairs that are there, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rationales.data import Dataset, Example, load


def training_pairs(data_dir: str | Path | None = None) -> list[Example]:
    """The pairs of the train splits of `snli` and `esnli`, each once whatever its capitals; its first label counts.

    Labels are indices into `held_out("dev").labels`, which both sets have.
    """
    distinct: dict[tuple[str, ...], Example] = {}
    for name in ("snli", "esnli"):
        for example in load(name, split="train", data_dir=data_dir):
            distinct.setdefault(tuple(text.lower() for text in example.texts), example)
    return list(distinct.values())


def held_out(split: Literal["dev", "test"], data_dir: str | Path | None = None) -> Dataset:
    """The whole dev set, by which settings and epochs are chosen, or the whole test set."""
    return load("snli", split=split, data_dir=data_dir)
