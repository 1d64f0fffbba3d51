"""Texts as the ids and tokens of a fast tokenizer of Transformers. Recent ones are remembered.

Methods and metrics ask about the same texts again and again; each is tokenised once.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability
from rationales.explanation.types import SPECIAL, Token
from rationales.models.batch import Batch, Encoded, Side, collate
from rationales.models.shortening import shortened

Texts: TypeAlias = tuple[str, ...]
Numbers: TypeAlias = NDArray[np.int64]
Truncation: TypeAlias = Literal["end", "error"]

MOST = 131_072
"""Tokens of recent texts that are kept, at most; about 25 MB."""


class Row(NamedTuple):
    """One text or pair: its tokens, their ids, segments and types [T], and whether it had to be cut."""

    tokens: tuple[Token, ...]
    ids: Numbers
    segments: Numbers
    types: Numbers | None
    cut: bool


class Tokenising:
    """A tokenizer, with special tokens added and texts cut at the end, the longer one of a pair first.

    Up to `most` tokens of recent texts are remembered.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, types: bool, most: int = MOST) -> None:
        self.tokenizer, self.types, self.most = tokenizer, types, most
        self._recent: OrderedDict[tuple[Texts, int, int], Row] = OrderedDict()
        self._size = 0
        self._lock = Lock()  # a call changes the settings of the tokenizer, and what is remembered

    def __call__(self, texts: Sequence[Texts], max_length: int) -> list[Row]:
        """The texts in order; singles and pairs may be mixed."""
        with self._lock:
            return self._rows(texts, max_length)

    def _rows(self, texts: Sequence[Texts], max_length: int) -> list[Row]:
        words = len(self.tokenizer)  # whoever adds tokens to the tokenizer changes what texts become
        keys = [(sides, max_length, words) for sides in texts]
        found = {key: self._recent[key] for key in keys if key in self._recent}
        new = [key for key in dict.fromkeys(keys) if key not in found]
        for number in (1, 2):  # tokenizers take all singles or all pairs
            alike = [key for key in new if len(key[0]) == number]
            if alike:
                found.update(zip(alike, self._tokenised([sides for sides, _, _ in alike], max_length), strict=True))
        for key in dict.fromkeys(keys):
            self._remember(key, found[key])
        return [found[key] for key in keys]

    def _remember(self, key: tuple[Texts, int, int], row: Row) -> None:
        if key not in self._recent:
            self._size += _size(key[0], row)
            self._recent[key] = row
        self._recent.move_to_end(key)
        while self._size > self.most:
            (sides, _, _), oldest = self._recent.popitem(last=False)
            self._size -= _size(sides, oldest)

    def _tokenised(self, texts: Sequence[Texts], max_length: int) -> Iterator[Row]:
        given: list[Texts] = list(texts)
        paired = len(texts[0]) == 2
        with _cutting_at_the_end(self.tokenizer):
            if paired:
                backend = self.tokenizer.backend_tokenizer
                backend.no_truncation()
                given = [shortened(backend, (first, second), max_length) for first, second in texts]
            encoding = self.tokenizer(
                [sides[0] for sides in given],
                [sides[1] for sides in given] if paired else None,
                add_special_tokens=True,
                truncation="longest_first",
                max_length=max_length,
                padding=False,
                return_token_type_ids=self.types,
                return_attention_mask=False,
            )
        for number, sides in enumerate(texts):
            fast = encoding.encodings[number]
            tokens = _tokens(sides, fast)
            yield Row(
                tokens,
                _array(encoding["input_ids"][number]),
                _array([token.segment for token in tokens]),
                _array(encoding["token_type_ids"][number]) if self.types else None,
                bool(fast.overflowing),
            )


def check_fast(tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer that cannot say where in the text its tokens stand."""
    if not getattr(tokenizer, "is_fast", False):
        raise MissingCapability(
            f"{type(tokenizer).__name__} does not tell which characters a token covers; load its fast version"
        )


def encoded(
    tokenise: Tokenising,
    examples: Sequence[Example],
    max_length: int,
    *,
    name: str,
    pad_id: int,
    side: Side = "right",
    truncation: Truncation = "end",
    warn: bool = True,
) -> Batch:
    """Examples as a batch, on the processor, for `encode` of a model, whose `name` is for messages."""
    if not examples:
        raise InputError("there are no texts to encode")
    choosing = next((example.id for example in examples if example.choices), None)
    if choosing is not None:
        raise InputError(f"example {choosing!r} has choices; a classifier reads single texts and pairs")
    rows = tokenise([example.texts for example in examples], max_length)
    cut = sum(row.cut for row in rows)
    if cut and truncation == "error":
        first = next(example.id for example, row in zip(examples, rows, strict=True) if row.cut)
        raise InputError(f"{cut} text(s) are longer than {max_length} tokens, the first is {first!r}")
    if cut and warn:
        warnings.warn(cut_message(cut, len(rows), max_length), stacklevel=3)
    if any(len(row.ids) > max_length for row in rows):
        raise InputError(f"max_length is {max_length}, which is less than the special tokens of a text take")
    empty = next((example.id for example, row in zip(examples, rows, strict=True) if not len(row.ids)), None)
    if empty is not None:
        raise InputError(
            f"the text {empty!r} has no tokens, and {name} adds none of its own, so there is nothing to read; "
            "leave it out"
        )
    return collate(
        [row.ids for row in rows],
        [row.segments for row in rows],
        [row.types for row in rows if row.types is not None] if tokenise.types else None,
        pad_id=pad_id,
        side=side,
        sources=tuple(Encoded(example, row.tokens, row.cut) for example, row in zip(examples, rows, strict=True)),
    )


def cut_message(cut: int, total: int, length: int) -> str:
    """What to tell a user whose texts were too long."""
    return f"{cut} of {total} texts were longer than {length} tokens and were cut at the end"


def _size(texts: Texts, row: Row) -> int:
    """What remembering a text costs, in tokens: a text that was cut costs more than its tokens do."""
    return 1 + max(len(row.ids), sum(map(len, texts)) // 64)


def _array(numbers: Sequence[int]) -> Numbers:
    return np.array(numbers, dtype=np.int64)


def _tokens(texts: Texts, encoding: Any) -> tuple[Token, ...]:
    tokens = []
    for name, segment, (start, end) in zip(encoding.tokens, encoding.sequence_ids, encoding.offsets, strict=True):
        if segment is None:
            tokens.append(Token(name, SPECIAL, 0, 0))
            continue
        covered = texts[segment][start:end]
        if covered[:1].isspace():  # some tokenizers count the space before a word as part of it
            covered = covered.lstrip()
            start = end - len(covered)
        tokens.append(Token(covered, segment, start, end))
    return tuple(tokens)


@contextmanager
def _cutting_at_the_end(tokenizer: PreTrainedTokenizerBase) -> Iterator[None]:
    """Inside this block texts are cut at the end; the tokenizer's own settings, which a call changes, come back."""
    backend: Any = tokenizer.backend_tokenizer
    side, cut, padding = tokenizer.truncation_side, backend.truncation, backend.padding
    tokenizer.truncation_side = "right"
    try:
        yield
    finally:
        tokenizer.truncation_side = side
        backend.no_truncation() if cut is None else backend.enable_truncation(**cut)
        backend.no_padding() if padding is None else backend.enable_padding(**padding)
