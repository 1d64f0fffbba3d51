"""Texts that are encoded once make the batches that they would make one by one."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
from test_classifier import toy

from rationales.train.encoding import EncodedTexts
from rationales.train.labels import Part
from tiny import classifier


@pytest.mark.parametrize("kind", ["bert", "roberta", "llama"])
@pytest.mark.parametrize("pairs", [False, True])
def test_batches_are_those_of_the_model(kind: str, pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rationales.train.encoding.AT_ONCE", 3)
    examples = [replace(each, texts=(*each.texts, "the food") if pairs else each.texts) for each in toy(8)]
    examples[5] = replace(examples[5], texts=("", "food") if pairs else ("food",))
    model = classifier(kind, labels=2)
    texts = EncodedTexts(model, Part(examples, torch.arange(8)), "training", warn=False)
    rows = [6, 0, 5, 5, 2]
    batch, targets = texts.batch(rows)
    wanted = model.encode([examples[row] for row in rows])
    for name in ("ids", "keep", "segments", "types"):
        one, other = getattr(batch, name), getattr(wanted, name)
        assert (one is None and other is None) or torch.equal(one, other), name
    assert batch.side == wanted.side
    assert targets.tolist() == rows
    assert texts.lengths == model.encode(examples).lengths.tolist()


@pytest.mark.parametrize(("most", "width"), [(512, 16), (13, 13)])
def test_padding_to_a_multiple_changes_no_answer(most: int, width: int) -> None:
    model = classifier("bert", labels=2)
    model.max_length = most
    texts = EncodedTexts(model, Part(toy(8), torch.arange(8)), "training", warn=False)
    batch, _ = texts.batch([0, 3])
    wider, _ = texts.batch([0, 3], multiple=16)
    assert batch.width < wider.width == width
    assert torch.equal(batch.lengths, wider.lengths)
    torch.testing.assert_close(model.logits(wider), model.logits(batch))


def test_it_is_said_how_many_were_cut() -> None:
    model = classifier("bert", labels=2)
    model.max_length = 4
    part = Part(toy(8), torch.arange(8))
    with pytest.warns(UserWarning, match="training data: 8 of 8 texts were longer than 4 tokens"):
        texts = EncodedTexts(model, part, "training", warn=True)
    assert texts.lengths == [4] * 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EncodedTexts(model, part, "training", warn=False)
