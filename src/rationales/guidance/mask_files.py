"""Guides in files: which words of each pair may be linked, or by how much.

The file is JSON. For a single pair it is one object, for several a list of them, each with the `id` of its pair:

    [{"id": "7", "links": [[0, 1], [2, 2]]}, {"id": "8", "factors": [[1, 0.5], [0, 1]]}]

`links` are the word pairs that may be linked, all others may not; `factors` have a row for each word of the first text
and a column for each of the second, with numbers from 0, no link, to 1, as the model would have it. Words are the runs
of characters between spaces, counted from 0.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rationales.data.example import Example
from rationales.errors import DataError, InputError
from rationales.explanation.types import FloatArray, Token
from rationales.explanation.views import word_spans
from rationales.guidance.guide import on_tokens

KEYS = ("id", "links", "factors")


@dataclass(frozen=True, eq=False)
class Mask:
    """The word pairs of a pair of texts that may be linked, or the factors of all, [words, words]."""

    links: tuple[tuple[int, int], ...] = ()
    factors: FloatArray | None = None

    def on_words(self, example: Example, sizes: tuple[int, int]) -> FloatArray:
        """The factors of all word pairs, for texts of so many words."""
        if self.factors is not None:
            if self.factors.shape != sizes:
                raise InputError(
                    f"the mask of {example.id!r} has factors of shape {list(self.factors.shape)}, and its texts have "
                    f"{sizes[0]} and {sizes[1]} words"
                )
            return self.factors
        factors = np.zeros(sizes)
        for link in self.links:
            for word, size, which in zip(link, sizes, ("first", "second"), strict=True):
                if word >= size:
                    raise InputError(
                        f"the mask of {example.id!r} links word {word} of the {which} text, which has {size} words, "
                        "counted from 0"
                    )
            factors[link] = 1.0
        return factors


class MaskGuide:
    """Masks by the ids of their pairs; the one under None is for pairs that have none of their own.

    A pair without a mask is not guided, and a warning says so of the first one.
    """

    def __init__(self, masks: Mapping[str | None, Mask]) -> None:
        self.masks = masks
        self._warned = False

    def __call__(self, example: Example, tokens: Sequence[Token]) -> FloatArray:
        first, second = (word_spans(text) for text in example.texts)
        sizes = (len(first), len(second))
        mask = self.masks.get(example.id, self.masks.get(None))
        if mask is None and not self._warned:
            warnings.warn(f"pairs that have no mask are not guided; the first is {example.id!r}", stacklevel=2)
            self._warned = True
        factors = np.ones(sizes) if mask is None else mask.on_words(example, sizes)
        return on_tokens(factors, first, second, tokens)

    @classmethod
    def read(cls, path: str | Path) -> MaskGuide:
        """From a JSON file; see the head of this module."""
        try:
            given = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"the masks cannot be read: {error}", file=path) from error
        if isinstance(given, dict):
            return cls({_id(given): _mask(given, path, None)})
        if not isinstance(given, list) or not given:
            raise DataError("masks are an object, or a list of objects with ids", file=path)
        masks: dict[str | None, Mask] = {}
        for row, one in enumerate(given):
            mask = _mask(one, path, row)
            name = _id(one)
            if name is None or name in masks:
                problem = "has no id" if name is None else f"is the second one for {name!r}"
                raise DataError(
                    f"this mask {problem}; of several masks each has the id of its pair", file=path, row=row
                )
            masks[name] = mask
        return cls(masks)


def _id(given: Mapping[str, Any]) -> str | None:
    name = given.get("id")
    return None if name is None else str(name)


def _mask(given: Any, path: str | Path, row: int | None) -> Mask:
    def wrong(reason: str) -> DataError:
        return DataError(reason, file=path, row=row)

    if not isinstance(given, dict):
        raise wrong(f"a mask is an object with links or factors, got {given!r:.80}")
    if unknown := sorted(given.keys() - set(KEYS)):
        raise wrong(f"a mask has no {unknown[0]!r}; it has {', '.join(KEYS)}")
    if ("links" in given) == ("factors" in given):
        raise wrong("a mask has either links or factors")
    if "links" in given:
        links = given["links"]
        if not isinstance(links, list) or not all(_is_link(link) for link in links):
            raise wrong(f"links are pairs of word numbers, counted from 0, such as [[0, 1], [2, 2]]; got {links!r:.80}")
        return Mask(tuple((first, second) for first, second in links))
    try:
        factors = np.array(given["factors"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong(f"factors are rows of numbers, all of one length: {error}") from error
    if factors.ndim != 2 or not ((factors >= 0) & (factors <= 1)).all():
        raise wrong("factors are rows of numbers from 0, no link, to 1, as the model would have it")
    return Mask(factors=factors)


def _is_link(link: Any) -> bool:
    return isinstance(link, list) and len(link) == 2 and all(type(word) is int and word >= 0 for word in link)
