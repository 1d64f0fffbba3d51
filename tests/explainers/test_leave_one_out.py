from __future__ import annotations

import pytest
import torch
from oracles import Text, close, each, exact, explain

from rationales.explainers import LeaveOneOut


def changed(text: Text, erasure: str, column: int) -> torch.Tensor:
    """Logits without one token, the slow way."""
    with torch.no_grad():
        if erasure == "delete":
            return text.logits(text.without(column))
        if erasure == "zero":
            embeddings = text.embeddings()
            embeddings[0, column] = 0.0
            rest = {} if text.types is None else {"token_type_ids": torch.tensor([text.types])}
            return text.network(inputs_embeds=embeddings, **rest).logits[0]
        inputs = text.inputs()
        inputs["input_ids"][0, column] = {"mask": text.tokenizer.mask_token_id, "pad": text.tokenizer.pad_token_id}[
            erasure
        ]
        return text.network(**inputs, attention_mask=torch.ones_like(inputs["input_ids"])).logits[0]


@pytest.mark.parametrize("output", ["probability", "logit"])
@pytest.mark.parametrize("erasure", ["delete", "mask", "pad", "zero"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_is_the_fall_of_the_output(kind: str, erasure: str, output: str) -> None:
    model = exact(kind)
    for text, found in each(model, explain(LeaveOneOut(erasure, output), model)):

        def value(logits: torch.Tensor) -> float:
            return float((logits.softmax(-1) if output == "probability" else logits)[text.target])  # noqa: B023

        wanted = [
            value(text.logits()) - value(changed(text, erasure, column)) if content else 0.0
            for column, content in enumerate(text.content)
        ]
        assert close(found, wanted, 1e-9)
