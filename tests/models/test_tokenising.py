from __future__ import annotations

import copy
from collections.abc import Iterator
from unittest.mock import patch

import pytest

import tiny
from rationales.models.tokenising import Row, Tokenising

TEXTS = [("good food",), ("rude staff", "they hated it"), ("good food",), ("awful",)]


@pytest.fixture
def tokenise() -> Tokenising:
    return Tokenising(copy.deepcopy(tiny.classifier("bert").tokenizer), types=True)


@pytest.fixture
def tokenised(tokenise: Tokenising) -> Iterator[list[tuple[str, ...]]]:
    """Every text that went through the tokenizer."""
    seen: list[tuple[str, ...]] = []
    plain = tokenise._tokenised

    def watched(texts: list[tuple[str, ...]], max_length: int) -> Iterator[Row]:
        seen.extend(texts)
        return plain(texts, max_length)

    with patch.object(tokenise, "_tokenised", watched):
        yield seen


def as_lists(rows: list[Row]) -> list[tuple[object, ...]]:
    return [(row.tokens, row.ids.tolist(), row.segments.tolist(), row.types.tolist(), row.cut) for row in rows]


def test_mixed_texts_come_in_order_and_each_is_tokenised_once(
    tokenise: Tokenising, tokenised: list[tuple[str, ...]]
) -> None:
    first = tokenise(TEXTS, 64)
    assert sorted(tokenised) == sorted(set(TEXTS))
    assert as_lists(tokenise(TEXTS[::-1], 64)) == as_lists(first)[::-1]
    assert len(tokenised) == 3
    for text, row in zip(TEXTS, first, strict=True):
        (alone,) = Tokenising(tokenise.tokenizer, types=True)([text], 64)
        assert as_lists([alone]) == as_lists([row])


def test_another_length_or_vocabulary_is_another_question(
    tokenise: Tokenising, tokenised: list[tuple[str, ...]]
) -> None:
    (whole,) = tokenise([("so good food",)], 64)
    (cut,) = tokenise([("so good food",)], 4)
    assert len(cut.ids) == 4 < len(whole.ids)
    assert cut.cut
    assert not whole.cut
    tokenise.tokenizer.add_tokens(["good food"])
    (joined,) = tokenise([("so good food",)], 64)
    assert len(joined.ids) == len(whole.ids) - 1


def test_the_oldest_are_forgotten(tokenise: Tokenising, tokenised: list[tuple[str, ...]]) -> None:
    tokenise.most = 14
    tokenise([("good food",), ("rude staff",), ("awful food",)], 64)  # four tokens each, and one for the entry
    tokenised.clear()
    tokenise([("awful food",)], 64)
    assert not tokenised
    tokenise([("good food",)], 64)
    assert tokenised == [("good food",)]
    tokenise([("so " * 30,)], 64)  # larger than all that is kept
    assert tokenise._size == 0
