"""A tokenizer of whole words, for networks on word vectors: saved and loaded like any other of Transformers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

PADDING, UNKNOWN = "[PAD]", "[UNK]"
_MARKS = Regex(r"(?:'s|'re|'ve|'ll|'d|'m|n't)\b|\.\.\.|[^\w\s']")
SPECIAL = (PADDING, UNKNOWN)
"""They have the first ids; their vectors are zero."""


def word_tokenizer(words: Sequence[str], *, lower: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer that knows these words: they are what stands between spaces, and punctuation marks."""
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    if lower:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = splitter()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PADDING, unk_token=UNKNOWN)


def splitter() -> pre_tokenizers.PreTokenizer:
    """Spaces end words, and so do punctuation marks, which are words themselves. "n't" and "'s" stay whole."""
    return pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(pattern=_MARKS, behavior="isolated")]
    )


def counted(texts: Iterable[str], *, lower: bool = True) -> Counter[str]:
    """How often each word occurs."""
    split, counts, small = splitter(), Counter[str](), normalizers.Lowercase()
    for text in texts:
        counts.update(word for word, _ in split.pre_tokenize_str(small.normalize_str(text) if lower else text))
    return counts
