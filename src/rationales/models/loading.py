"""What it takes to load a model: its place, its tokenizer, the device, how much fits on it, and quiet meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from rationales.errors import InputError, ModelError


@contextmanager
def quiet_transformers(*, bars: bool = False) -> Iterator[None]:
    """Transformers without its report of new layers and, unless `bars`, without its progress bars."""
    level, had_bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    if not bars:
        transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if had_bars:
            transformers_logging.enable_progress_bar()


def check_source(source: str | Path) -> None:
    """A path that leads nowhere is no hub name; say so before the hub is asked."""
    if not Path(source).exists() and (Path(source).is_absolute() or str(source).startswith((".", "~"))):
        raise ModelError(f"there is no directory {source}")


def load_tokenizer(source: str | Path, **options: Any) -> PreTrainedTokenizerBase:
    """The tokenizer of a directory or hub name.

    For a directory without one Transformers would make up a tokenizer that knows no word.
    """
    files = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "tekken.json")
    if Path(source).is_dir() and not any(next(Path(source).glob(name), None) for name in files):
        raise ModelError(f"{source} holds a model but no tokenizer; save its tokenizer there or pass one")
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(source, **options)
    return tokenizer


def checked_device(wanted: str | torch.device | None) -> torch.device:
    """The device that is wanted, if it is there, or the best one."""
    if wanted is None:
        return best_device()
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {str(wanted)!r} cannot be used: {error}".partition("\n")[0]) from error
    return device


def best_device() -> torch.device:
    """CUDA if it is there, else the processor. (Apple's MPS has no float64, which exact sums here need.)"""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def default_budget(model: PreTrainedModel) -> int:
    """Tokens per batch such that a forward and backward pass takes about half of the free memory.

    A token needs about 40 activations of the hidden size per layer. On a processor larger batches buy nothing.
    """
    if model.device.type != "cuda":
        return 2048
    config = model.config.get_text_config()
    free, _ = torch.cuda.mem_get_info(model.device)
    hidden, layers = getattr(config, "hidden_size", 1024), getattr(config, "num_hidden_layers", 24)
    per_token = 40 * hidden * layers * torch.finfo(model.dtype).bits // 8
    return int(max(2048, min(131_072, free // (2 * per_token))))
