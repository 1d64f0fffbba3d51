from __future__ import annotations

import pytest
import torch
from derivatives import check_second_order
from oracles import Text, close, each, exact, explain
from torch import Tensor

from rationales.explainers import ScaledAttention
from rationales.explainers.scaled_attention import scaled_attention


def eager(kind: str, text: Text) -> tuple[list[Tensor], list[Tensor]]:
    """Attention maps [H, T, T] of each layer and the target logit's gradients with respect to them."""
    network = exact(kind, attn_implementation="eager").model
    output = network(**text.inputs(), output_attentions=True)
    for layer in output.attentions:
        layer.retain_grad()
    output.logits[0, text.target].backward()
    network.zero_grad(set_to_none=True)
    return [layer[0].detach() for layer in output.attentions], [layer.grad[0] for layer in output.attentions]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert", "llama", "gpt2"])
@pytest.mark.parametrize("layers", ["last", "all"])
def test_is_attention_times_its_gradient(kind: str, layers: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(ScaledAttention(layers), model)):
        maps, slopes = eager(kind, text)
        row = len(text.ids) - 1 if kind in ("llama", "gpt2") else 0
        chosen = slice(-1, None) if layers == "last" else slice(None)
        weight = torch.stack(maps[chosen])[:, :, row].mean((0, 1))
        slope = torch.stack(slopes[chosen])[:, :, row].mean((0, 1))
        assert close(found, weight * slope, 1e-8 if kind in ("bert", "roberta", "distilbert", "gpt2") else 1e-5)


def test_heads() -> None:
    model = exact("bert")
    for text, found in each(model, explain(ScaledAttention(heads="1"), model)):
        maps, slopes = eager("bert", text)
        assert close(found, maps[-1][1, 0] * slopes[-1][1, 0])


@pytest.mark.parametrize("layers", ["last", "all"])
def test_can_be_differentiated_again(layers: str) -> None:
    check_second_order(lambda *given: scaled_attention(*given, layers=layers, create_graph=True))
