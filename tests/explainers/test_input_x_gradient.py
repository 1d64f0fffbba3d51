from __future__ import annotations

import numpy as np
import pytest
from captum.attr import InputXGradient as CaptumInputXGradient
from derivatives import check_second_order
from oracles import close, each, exact, explain

from rationales.explainers import InputXGradient
from rationales.explainers.input_x_gradient import input_x_gradient


@pytest.mark.parametrize("aggregate", ["sum", "l2"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_is_the_product_summed_over_dimensions(kind: str, aggregate: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(InputXGradient(aggregate), model)):
        embeddings = text.embeddings()
        pairs = zip(embeddings[0].numpy(), text.slope(embeddings).numpy(), strict=True)
        products = [embedding * slope for embedding, slope in pairs]
        wanted = [np.sum(row) if aggregate == "sum" else np.sqrt(np.sum(row**2)) for row in products]
        assert close(found, wanted)


@pytest.mark.parametrize("kind", ["bert", "llama", "gpt2"])
def test_equals_captum(kind: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(InputXGradient(), model)):
        wanted = CaptumInputXGradient(text.logit_from).attribute(text.embeddings().requires_grad_())
        assert close(found, wanted[0].sum(-1), 1e-5 if kind == "llama" else 1e-8)


@pytest.mark.parametrize("aggregate", ["sum", "l2"])
def test_can_be_differentiated_again(aggregate: str) -> None:
    check_second_order(lambda *given: input_x_gradient(*given, aggregate=aggregate, create_graph=True))
