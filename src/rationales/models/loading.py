"""What it takes to load a model: its place, its tokenizer, the device, how much fits on it, and quiet meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from rationales.errors import InputError, ModelError, RationalesError

RATIONALIZER = "rationalizer"
PAIR_CLASSIFIER = "pair_classifier"
GATES = "diffmask"
OWN_KINDS = (RATIONALIZER, PAIR_CLASSIFIER)
"""What `model_type` is in the configs of models that are not those of Transformers; gates are no model."""


def kind_of(source: str | Path) -> str | None:
    """The `model_type` that a directory's config names; None where there is no config to read."""
    try:
        config = json.loads((Path(source) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # whoever loads it says what is wrong
        return None
    return config.get("model_type") if isinstance(config, dict) else None


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


@contextmanager
def loading(source: str | Path, what: str = "classifier") -> Iterator[None]:
    """Quiet inside; whatever goes wrong there means that the model cannot be loaded, and is said in one sentence."""
    try:
        _check_directory(str(source), what)
        kind = kind_of(source)
        if kind in OWN_KINDS and kind != what:
            raise ModelError(f"{source} holds a {kind}, not a {what}; rationales.load_model reads it")
        with quiet_transformers(bars=not Path(source).is_dir()):  # a download may be worth watching
            yield
    except RationalesError:
        raise
    except Exception as error:  # absent, damaged, of another shape: there is no end of kinds
        if "trust_remote_code" in str(error):
            raise untrusted(source) from error
        reason = str(error) if " " in str(error) else repr(error)
        begin = "its weights are damaged: " if isinstance(error, SafetensorError) else ""
        if not Path(source).exists():
            begin = "there is no such directory, and as a name on the hub: "
        raise ModelError(f"no {what} could be loaded from {source}: {begin}{reason}") from error


def _check_directory(source: str, what: str) -> None:
    """Say what a path is that holds no model, before Transformers or the hub are asked."""
    path = Path(source)
    if not path.exists():
        if path.is_absolute() or source.startswith((".", "~")):  # no hub name
            raise ModelError(f"no {what} could be loaded from {source}: there is no directory {source}")
        return
    if not path.is_dir():
        raise ValueError("it is a file; give the directory of the model")
    if (path / "checkpoint").is_dir() and not (path / "config.json").exists():
        raise ValueError("its training is not finished; give the same rationales train command again, it goes on there")
    if not any((path / name).exists() for name in ("config.json", "adapter_config.json")):
        raise ValueError("it holds no config.json; give a directory that save_pretrained or rationales train wrote")
    pickles = sorted(file.name for ending in ("*.bin", "*.pt", "*.pth") for file in path.glob(ending))
    if pickles and not any(path.glob("*.safetensors")):
        raise ValueError(
            f"its weights are in {pickles[0]}, a pickle, which could run code. Save them as safetensors: load the "
            "model with Transformers and call its save_pretrained"
        )


def check_shapes(report: Mapping[str, Any], inside: str = "") -> None:
    """Refuse weights whose shapes are not those of the config, for names that begin with `inside`.

    `report` is Transformers' `loading_info`. Random numbers would take their place.
    """
    for name, found, wanted in sorted(report["mismatched_keys"]):
        if name.startswith(inside):
            raise ValueError(
                f"its config and its weights do not go together; {name} should be {list(wanted)} and is {list(found)}"
            )


def check_complete(report: Mapping[str, Any]) -> None:
    """Refuse a model that lacks weights, for which random numbers would stand."""
    if missing := sorted(report["missing_keys"]):
        raise ValueError(
            f"it lacks {len(missing)} of its weights, such as {missing[0]}; a model that was never trained to classify "
            "is an --encoder for rationales train classifier"
        )


def share_files(directory: Path) -> None:
    """Let others read what was saved, as far as the user's mask lets them; safetensors writes for its owner alone."""
    kept = os.umask(0)
    os.umask(kept)
    for file in directory.iterdir():
        if file.is_file():
            file.chmod(0o666 & ~kept)


def untrusted(source: str | Path) -> ModelError:
    """What to tell a user whose model would have to run its own code."""
    return ModelError(
        f"{source} brings code of its own, which is not run unless you trust it. If you do, load it in Python with "
        f"TransformersClassifier.from_pretrained({str(source)!r}, trust_remote_code=True)"
    )


def load_tokenizer(source: str | Path, *, trust_remote_code: bool = False, **options: Any) -> PreTrainedTokenizerBase:
    """The tokenizer of a directory or hub name.

    For a directory without one Transformers would make up a tokenizer that knows no word.
    """
    files = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "tekken.json")
    if Path(source).is_dir() and not any(next(Path(source).glob(name), None) for name in files):
        raise ModelError(f"{source} holds a model but no tokenizer; save its tokenizer there or pass one")
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source, trust_remote_code=trust_remote_code, **options
        )
    except Exception as error:  # a damaged file gives whatever comes up
        if "trust_remote_code" in str(error):
            raise
        raise ModelError(f"the tokenizer of {source} cannot be read: {type(error).__name__}: {error}") from error
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
