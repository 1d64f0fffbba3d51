from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tiny
from rationales.errors import InputError
from rationales.models import chosen, pick, predict, resolve_targets


def test_pick_takes_one_logit_of_each_row() -> None:
    logits = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert pick(logits, torch.tensor([1, 0, 1])).tolist() == [2.0, 3.0, 6.0]


def test_predict_is_the_model_on_every_row() -> None:
    model = tiny.classifier(budget=30)
    with torch.no_grad():
        found = predict(model, model.encode(tiny.singles()))
        alone = torch.cat([model.logits(model.encode([example])) for example in tiny.singles()])
    assert torch.allclose(found, alone, atol=1e-5)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (2, [2] * 5),
        ("LABEL_1", [1] * 5),
        ([0, 1, 2, 1, 0], [0, 1, 2, 1, 0]),
        ((1, 1, 1, 1, 0), [1, 1, 1, 1, 0]),
        (torch.tensor([2, 2, 2, 0, 0]), [2, 2, 2, 0, 0]),
        (np.array([1, 0, 1, 0, 1]), [1, 0, 1, 0, 1]),
        (np.int64(1), [1] * 5),
    ],
)
def test_what_a_target_may_be(target: Any, wanted: list[int]) -> None:
    model = tiny.classifier()
    assert resolve_targets(model, model.encode(tiny.singles()), target).tolist() == wanted


def test_none_is_the_predicted_class() -> None:
    model = tiny.classifier()
    batch = model.encode(tiny.crowd())
    found = resolve_targets(model, batch, None)
    assert not found.requires_grad
    assert found.tolist() == predict(model, batch).argmax(-1).tolist()
    assert len(set(found.tolist())) > 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("good", "no label 'good'; it has LABEL_0, LABEL_1, LABEL_2"),
        (3, r"targets must lie in 0 … 2 \(LABEL_0, LABEL_1, LABEL_2\), got 3"),
        (-1, "targets must lie in 0 … 2"),
        ([0, 1], r"\(2,\) targets for 5 texts"),
        ([[0, 1, 2, 1, 0]], r"\(1, 5\) targets for 5 texts"),
        (["LABEL_0"] * 5, "targets are numbers"),
        (0.7, "targets are whole numbers, got 0.7"),
        (True, "targets are whole numbers, got True"),
    ],
)
def test_what_it_may_not_be(target: Any, message: str) -> None:
    model = tiny.classifier()
    with pytest.raises(InputError, match=message):
        resolve_targets(model, model.encode(tiny.singles()), target)


def test_the_output_that_is_watched() -> None:
    model = tiny.classifier()
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    assert chosen(model, logits, torch.tensor([1]), "logit").item() == 1.0
    probability = chosen(model, logits, torch.tensor([1]), "probability").item()
    assert probability == pytest.approx(np.e / (1 + np.e + np.e**2))
