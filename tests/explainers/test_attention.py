from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles import SOME, Text, close, each, exact, explain
from torch import Tensor

import tiny
from rationales.errors import InputError
from rationales.explainers import Attention
from rationales.explainers.attention import attention, chosen_index

KINDS = ["bert", "roberta", "distilbert", "modernbert", "llama", "gpt2"]


def eager_maps(kind: str, text: Text) -> list[Tensor]:
    """[H, T, T] per layer, from the same network with eager attention, one text at a time."""
    network = exact(kind, attn_implementation="eager").model
    with torch.no_grad():
        return [layer[0] for layer in network(**text.inputs(), output_attentions=True).attentions]


def readout(kind: str, text: Text) -> int:
    return len(text.ids) - 1 if kind in ("llama", "gpt2") else 0


@pytest.mark.parametrize("kind", KINDS)
def test_is_the_readout_row_of_the_last_layer(kind: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(Attention(), model)):
        last = eager_maps(kind, text)[-1]
        wanted = [np.mean([float(head[readout(kind, text), i]) for head in last]) for i in range(len(text.ids))]
        assert close(found, wanted, 1e-6)
        assert found.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize(
    ("layers", "heads", "pick"),
    [
        ("all", "all", lambda maps: torch.stack(maps).mean((0, 1))),
        ("0", "all", lambda maps: maps[0].mean(0)),
        ("last", "1", lambda maps: maps[1][1]),
        ("-2", "-1", lambda maps: maps[0][1]),
    ],
)
def test_layers_and_heads(kind: str, layers: str, heads: str, pick: Callable[[list[Tensor]], Tensor]) -> None:
    model = exact(kind)
    for text, found in each(model, explain(Attention(layers, heads), model)):
        assert close(found, pick(eager_maps(kind, text))[readout(kind, text)], 1e-8)


def test_the_tensor_function_keeps_its_graph() -> None:
    model = tiny.classifier()
    weights = attention(model, model.encode(SOME))
    assert weights.requires_grad
    (slope,) = torch.autograd.grad(weights[:, 0].sum(), model.model.bert.encoder.layer[1].attention.self.query.weight)
    assert slope.abs().max() > 0


def test_wrong_layers_and_heads_are_named() -> None:
    model = tiny.classifier()
    with pytest.raises(InputError, match="the model has layers 0 … 1, got 2"):
        explain(Attention("2"), model)
    with pytest.raises(InputError, match="the model has heads 0 … 1, got -3"):
        explain(Attention(heads="-3"), model)
    with pytest.raises(InputError, match="layers must be all, a number, or for layers last; got 'first'"):
        explain(Attention("first"), model)
    assert chosen_index("-1", 4, "heads") == [3]
