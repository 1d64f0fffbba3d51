from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from oracles import Text, each, exact, explain, scores

import tiny
from rationales.explainers import BackSelect
from rationales.models import TransformersClassifier


def brute_force(text: Text, erasure: str) -> list[int]:
    left, rounds = text.columns(), [0] * len(text.ids)
    gone: list[int] = []
    for number in range(1, len(left) + 1):
        outputs = [erased(text, [*gone, column], erasure) for column in left]
        spared = max(column for column, output in zip(left, outputs, strict=True) if output > max(outputs) - 1e-6)
        rounds[spared] = number
        gone.append(spared)
        left.remove(spared)
    return rounds


def erased(text: Text, columns: list[int], erasure: str) -> float:
    if erasure == "delete":
        return text.output(text.without(*columns))
    inputs = text.inputs()
    inputs["input_ids"][0, columns] = text.tokenizer.mask_token_id
    with torch.no_grad():
        return float(text.network(**inputs).logits[0].softmax(-1)[text.target])


@pytest.mark.parametrize("erasure", ["delete", "mask"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_equals_brute_force(kind: str, erasure: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(BackSelect(erasure), model)):
        assert found.tolist() == brute_force(text, erasure)


@pytest.mark.parametrize("make", [exact, tiny.classifier])
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_ties_leave_the_beginning_of_a_text(kind: str, make: Callable[[str], TransformersClassifier]) -> None:
    """Equal words side by side: which one is deleted makes no difference, nor does rounding."""
    model = make(kind)
    for word in ("good", "bad", "!"):
        for number in range(2, 9):
            (found,) = explain(BackSelect(), model, [tiny.Example("a", (" ".join([word] * number),))])
            assert scores(found)[found.content].tolist() == list(range(number, 0, -1))
