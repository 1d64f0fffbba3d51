"""Architectures beyond the tiny models, each with a habit that could go wrong in an adapter.

Our logits must be those of the user's own call, `model(**tokenizer(text))`, for a text alone and among others.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
import torch
import transformers

import tiny
from rationales.errors import MissingCapability
from rationales.explainers import DeepLift, Gradient, LeaveOneOut
from rationales.models import TransformersClassifier

SIZE = {**tiny.SIZE, "pad_token_id": 0, "num_labels": 3, "bos_token_id": 2, "eos_token_id": 3}
STACK = {name: value for name, value in tiny.STACK.items() if name != "pad_token_id"}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 72}
SEQ2SEQ = {"d_model": 16, "decoder_start_token_id": 0}

OTHERS: dict[str, dict[str, Any]] = {
    "Albert": {**STACK, "embedding_size": 8},  # embeddings of another size, shared layers
    "BigBird": {**STACK, "attention_type": "original_full", "sep_token_id": 3},
    "Electra": {**STACK, "embedding_size": 8},
    "Longformer": {**STACK, "attention_window": 8, "sep_token_id": 3},  # pads its inputs itself
    "MPNet": {**STACK, "pad_token_id": 1},  # takes positions from ids, takes no attention function
    "XLMRoberta": STACK,
    "Funnel": {"block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32},
    "CTRL": {**GPT, "dff": 32},  # changes its embeddings in place
    "GPTJ": {**GPT, "rotary_dim": 4},  # takes token types that nobody gives it
    "GPTNeoX": STACK,
    "Mistral": {**STACK, "num_key_value_heads": 1, "sliding_window": 4},
    "Gemma2": {**STACK, "num_key_value_heads": 1, "head_dim": 8},  # caps attention logits
    "OPT": {"hidden_size": 16, "word_embed_proj_dim": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "ffn_dim": 32, "max_position_embeddings": 72},  # positions have an offset of their own
    "Bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 2},  # takes no positions
    "T5": {**SEQ2SEQ, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2},
    "MBart": {**SEQ2SEQ, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
              "max_position_embeddings": 72},
}  # fmt: skip
DECODERS = ("CTRL", "GPTJ", "GPTNeoX", "Mistral", "Gemma2", "OPT", "Bloom")
every = pytest.mark.parametrize("name", OTHERS)


def made(name: str) -> TransformersClassifier:
    options = {**SIZE, **OTHERS[name]}
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some modules use deprecated parts of torch
        torch.manual_seed(0)
        network = getattr(transformers, f"{name}ForSequenceClassification")(
            getattr(transformers, f"{name}Config")(**options)
        )
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.2)
    return TransformersClassifier(network.eval(), tiny.tokenizer(name in DECODERS))


def own_call(model: TransformersClassifier, example: Any) -> torch.Tensor:
    """What a user gets without us."""
    accepted = inspect.signature(model.model.forward).parameters
    given = {k: v for k, v in model.tokenizer(*example.texts, return_tensors="pt").items() if k in accepted}
    with torch.no_grad():
        return model.model(**given).logits[0]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert", "deberta", "llama", "gpt2", "bart"])
def test_tiny_models_give_what_the_users_own_call_gives(kind: str) -> None:
    model = tiny.classifier(kind)
    mixed = [*tiny.singles(), *tiny.pairs()]
    with torch.no_grad():
        found = model.logits(model.encode(mixed))
    for row, example in zip(found, mixed, strict=True):
        assert torch.allclose(row, own_call(model, example), atol=1e-5)


@every
def test_logits_are_those_of_the_users_own_call(name: str) -> None:
    model = made(name)
    mixed = [*tiny.singles(), *tiny.pairs()]
    batch = model.encode(mixed)
    with torch.no_grad():
        found = model.logits(batch)
        embeddings = model.embed(batch)
        before = embeddings.clone()
        through = model.logits_from(embeddings, batch)
    for row, example in zip(found, mixed, strict=True):
        assert torch.allclose(row, own_call(model, example), atol=1e-5)
    assert torch.allclose(through, found, atol=1e-6)
    assert torch.equal(embeddings, before)


@every
def test_methods_run_and_do_not_depend_on_the_batch(name: str) -> None:
    model = made(name)
    few = [tiny.singles()[0], tiny.singles()[3], tiny.pairs()[1]]
    for explainer in (Gradient(), LeaveOneOut()):
        together = explainer(model, model.encode(few))
        for explanation, example in zip(together, few, strict=True):
            (alone,) = explainer(model, model.encode([example]))
            assert explanation.body.values == pytest.approx(alone.body.values, abs=1e-5)


@every
def test_deeplift_adds_up_or_says_by_how_much_it_does_not(name: str) -> None:
    model = made(name)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = DeepLift("mask")(model, model.encode(tiny.singles()))
    worst = max(explanation.checks["completeness_error"] for explanation in found)
    assert (worst > 0.05) == any("do not add up" in str(warning.message) for warning in said)
    if name in ("Longformer", "Bloom"):  # attention in chunks; an activation that hides its functions
        assert worst > 1e-3
    else:
        assert worst < 1e-3


def test_positions_that_do_not_start_at_0_are_left_to_the_model() -> None:
    """Nystromformer counts from 2. (Its landmarks depend on the padding, so only one text at a time is compared.)"""
    network = transformers.NystromformerForSequenceClassification(
        transformers.NystromformerConfig(**{**SIZE, **STACK}, num_landmarks=72, segment_means_seq_len=72)
    )
    model = TransformersClassifier(network.eval(), tiny.tokenizer())
    for example in tiny.singles():
        with torch.no_grad():
            assert torch.allclose(model.logits(model.encode([example]))[0], own_call(model, example), atol=1e-6)


@pytest.mark.parametrize("name", ["GPTNeoX", "Mistral", "OPT", "GPTJ"])
def test_padding_on_either_side(name: str) -> None:
    right = made(name)
    left = TransformersClassifier(right.model, right.tokenizer, padding="left")
    with torch.no_grad():
        one, two = (model.logits(model.encode(tiny.crowd())) for model in (right, left))
    assert torch.allclose(one, two, atol=1e-5)


def test_a_pooler_that_reads_padding_is_refused() -> None:
    network = transformers.XLNetForSequenceClassification(
        transformers.XLNetConfig(vocab_size=60, d_model=16, n_layer=1, n_head=2, d_inner=32)
    )
    with pytest.raises(MissingCapability, match=r"XLNet.* reads out the last column, padding or not"):
        TransformersClassifier(network, tiny.tokenizer(decoder=True))
