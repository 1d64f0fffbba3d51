"""Data sets where one command is given several: what they are called, and which part of each is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rationales.data import Dataset
from rationales.errors import InputError, NoSuchSplit


def split_or_whole(opened: Callable[..., Dataset], source: str, split: str | None) -> Dataset:
    """The split of that name, or all there is of a source that has no splits."""
    try:
        return opened(source, split=split)
    except NoSuchSplit:
        return opened(source)


def names_of(sources: Sequence[str], option: str) -> list[str]:
    """Each as its file or directory; with the directory around it, where that says too little."""
    own = [
        _word(Path(source).name.partition(".")[0] if Path(source).is_file() else Path(source).name)
        for source in sources
    ]
    unclear = {name for name in own if own.count(name) > 1 or name in ("train", "dev", "test")}
    names = [
        _word(f"{Path(source).absolute().parent.name}-{name}") if name in unclear else name
        for name, source in zip(own, sources, strict=True)
    ]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two of {option} would both be called {name!r}; rename a file or its directory")
    return names


def _word(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-")
