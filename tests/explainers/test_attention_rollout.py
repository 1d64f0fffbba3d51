from __future__ import annotations

import pytest
import torch
from oracles import close, each, exact, explain
from test_attention import KINDS, eager_maps, readout

from rationales.explainers import AttentionRollout


@pytest.mark.parametrize("residual", [0.5, 0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_is_the_product_of_all_layers(kind: str, residual: float) -> None:
    model = exact(kind)
    for text, found in each(model, explain(AttentionRollout(residual), model)):
        product = torch.eye(len(text.ids), dtype=torch.float64)
        for layer in eager_maps(kind, text):
            mixed = residual * torch.eye(len(text.ids), dtype=torch.float64) + (1 - residual) * layer.mean(0)
            product = mixed @ product
        assert close(found, product[readout(kind, text)], 1e-6)
        assert found.sum() == pytest.approx(1.0, abs=1e-6)
        assert (found >= 0).all()
