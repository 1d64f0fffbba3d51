"""Data sets where one command is given several: what they are called, and which part of each is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rationales.data import Dataset
from rationales.data.tables import SPLITS, stem
from rationales.errors import InputError, NoSuchSplit


def split_or_whole(opened: Callable[..., Dataset], source: str, split: str | None) -> Dataset:
    """The split of that name, or all there is of a source that has no splits at all."""
    try:
        return opened(source, split=split)
    except NoSuchSplit as error:
        if error.others:
            raise
        return opened(source)


def names_of(sources: Sequence[str], option: str) -> list[str]:
    """Each as its file or directory; with the directory around it, where that says too little."""
    places = [Path(source).resolve() if Path(source).exists() else Path(source) for source in sources]
    own = [_word(stem(place) if place.is_file() else place.name) for place in places]
    alike = [name.casefold() for name in own]  # to some file systems
    names = [
        _word(f"{place.absolute().parent.name}-{name}") if alike.count(name.casefold()) > 1 or name in SPLITS else name
        for name, place in zip(own, places, strict=True)
    ]
    alike = [name.casefold() for name in names]
    for name, source, place in zip(names, sources, places, strict=True):
        if not name:
            raise InputError(f"{source!r} has no name that {option} could be called by")
        if alike.count(name.casefold()) > 1:
            twice = places.count(place) > 1
            do = f"{source} was given twice, so leave one out" if twice else "rename a file or its directory"
            raise InputError(f"two of {option} would both be called {name!r}; {do}")
    return names


def _word(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-")
