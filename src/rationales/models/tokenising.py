"""Texts as the ids and tokens of a fast tokenizer of Transformers. Recent ones are remembered.

Methods and metrics ask about the same texts again and again; each is tokenised once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from rationales.explanation.types import SPECIAL, Token
from rationales.models.shortening import shortened

Texts: TypeAlias = tuple[str, ...]
Numbers: TypeAlias = NDArray[np.int64]

REMEMBERED = 131_072
"""Tokens of recent texts that are kept, at most; about 25 MB."""


class Row(NamedTuple):
    """One text or pair: its tokens, their ids, segments and types [T], and whether it had to be cut."""

    tokens: tuple[Token, ...]
    ids: Numbers
    segments: Numbers
    types: Numbers | None
    cut: bool


class Tokenising:
    """A tokenizer, with special tokens added and texts cut at the end, the longer one of a pair first."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, types: bool) -> None:
        self.tokenizer, self.types = tokenizer, types
        self._recent: OrderedDict[tuple[Texts, int, int], Row] = OrderedDict()
        self._size = 0

    def __call__(self, texts: Sequence[Texts], max_length: int) -> list[Row]:
        """The texts in order; singles and pairs may be mixed."""
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
            self._size += len(row.ids)
            self._recent[key] = row
        self._recent.move_to_end(key)
        while self._size > REMEMBERED:
            _, oldest = self._recent.popitem(last=False)
            self._size -= len(oldest.ids)

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
