"""Tiny models to explain, and what a run of FRESH is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from explained import LABELS
from test_classifier import toy
from transformers import BertConfig, BertModel

from rationales.train import classifier as plain
from rationales.train.fresh import Config
from tiny import SIZE, STACK, tokenizer


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("encoder")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(**SIZE, **STACK)).save_pretrained(directory)
    tokenizer().save_pretrained(directory)
    return str(directory)


@pytest.fixture(scope="module")
def model(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A classifier of the toy texts."""
    config = plain.Config(
        tmp_path_factory.mktemp("model") / "model", encoder=encoder, epochs=4, batch_size=8, learning_rate=1e-2
    )
    return str(plain.train(config, toy(160), toy(40, seed=1), labels=LABELS))


@pytest.fixture
def config(encoder: str, tmp_path: Path) -> Any:
    def make(**options: Any) -> Config:
        usual = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2, "seeds": (1, 2), "out": tmp_path / "out"}
        return Config(encoder=encoder, **{**usual, **options})

    return make
