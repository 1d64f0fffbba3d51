"""The words that a network on word vectors knows, and where their vectors come from: a file, or training."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from itertools import compress
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from rationales.data.vectors import read_vectors
from rationales.models.rationalizer.words import SPECIAL, counted, word_tokenizer

log = logging.getLogger(__name__)


class Words(NamedTuple):
    """A tokenizer that knows them, and the vectors of all but its special tokens, [N, d]; None: to be learned."""

    tokenizer: PreTrainedTokenizerBase
    vectors: Tensor | None

    def put_into(self, weight: Tensor) -> None:
        """Give a table of vectors [words, d] those of the file, where there is one; special tokens get zeros."""
        with torch.no_grad():
            weight[: len(SPECIAL)] = 0.0
            if self.vectors is not None:
                weight[len(SPECIAL) :] = self.vectors


def known_words(texts: Iterable[str], vectors: str, *, more: int = 0) -> Words:
    """The words of these texts, or where there is a file of `vectors`, those of them that have one there.

    Of the first `more` words of the file all are known that texts can be split into: no capitals, no "u.s.".
    """
    words = [word for word, _ in counted(texts).most_common()]
    if not vectors:
        return Words(word_tokenizer(words), None)
    found, own = read_vectors(vectors, words, beginning=more), set(words)
    readable = [word in own or counted([word])[word] == 1 for word in found.words]
    share = sum(word in own for word in found.words) / max(len(words), 1)
    log.info("word vectors for %.1f %% of %d words, and for %d in all", 100 * share, len(words), sum(readable))
    if share < 0.2:
        warnings.warn(f"only {share:.0%} of the words of these texts have a vector in {vectors}", stacklevel=5)
    return Words(word_tokenizer(list(compress(found.words, readable))), torch.from_numpy(found.values[readable]))
