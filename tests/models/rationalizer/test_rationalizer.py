from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tiny
from rationales.errors import InputError, ModelError
from rationales.explainers import explainers
from rationales.explanation.types import Selection
from rationales.models import Differentiable, SelfExplaining
from rationales.models.rationalizer import Architecture, Networks, Rationalizer
from rationales.models.rationalizer.words import word_tokenizer

KINDS = ("gru", "transformer", "transformer by its first token")
TEXTS = tiny.singles()


def rationalizer(kind: str, **options: object) -> Rationalizer:
    torch.manual_seed(0)
    if kind == "gru":
        words = sorted({word for example in (*TEXTS, *tiny.pairs()) for text in example.texts for word in text.split()})
        tokenizer = word_tokenizer(words)
        architecture = Architecture(("no", "yes"), words=len(tokenizer), vector_size=8, hidden=12, max_length=64)
    else:
        whole = tiny.classifier("bert")
        tokenizer = whole.tokenizer
        pooling = "max" if kind == "transformer" else "first"
        architecture = Architecture(("no", "yes"), encoder=whole.model.config.to_dict(), max_length=32, pooling=pooling)
    networks = Networks(*architecture.players()).eval()
    with torch.no_grad():
        networks.selector.head[-1].weight.mul_(20)  # so that some tokens are chosen, and some are not
    return Rationalizer(networks, tokenizer, architecture, method="ver", params={"perturb": 0.3}, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_is_a_model_that_explains_itself(kind: str) -> None:
    model = rationalizer(kind)
    assert isinstance(model, SelfExplaining)
    assert isinstance(model, Differentiable)
    batch = model.encode(TEXTS)
    for example, explanation in zip(TEXTS, model.explain(batch), strict=True):
        assert explanation.texts == example.texts
        assert explanation.provenance.method == "ver"
        assert isinstance(explanation.body, Selection)
        assert not explanation.body.keep[~explanation.content].any()
        assert explanation.target.label in ("no", "yes")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_chosen_cannot_change_the_prediction(kind: str) -> None:
    model = rationalizer(kind)
    batch = model.encode(TEXTS)
    chosen = model.chosen(batch)
    other = torch.where(batch.content & ~chosen, batch.ids.roll(1, 0).clamp(min=5), batch.ids)
    changed = replace(batch, ids=torch.where(batch.keep, other, batch.ids))
    assert (changed.ids != batch.ids).any()
    with torch.no_grad():
        before, after = (model.predict(model.embed(one), one, chosen) for one in (batch, changed))
    assert torch.equal(before, after)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_chosen_can(kind: str) -> None:
    model = rationalizer(kind)
    batch = model.encode(TEXTS)
    chosen = model.chosen(batch)
    assert chosen.any()
    assert (~chosen & batch.content).any()
    with torch.no_grad():
        seen = model.predict(model.embed(batch), batch, chosen)
        nothing = model.predict(model.embed(batch), batch, torch.zeros_like(chosen))
    assert (seen != nothing).any(-1)[chosen.any(-1)].all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", ["argmax", "gumbel"])
def test_neighbours_and_padding_do_not_matter(kind: str, sampling: str) -> None:
    model = rationalizer(kind, sampling=sampling)
    together = model.explain(model.encode(TEXTS))
    for example, found in zip(TEXTS, together, strict=True):
        (alone,) = model.explain(model.encode([example]))
        assert np.array_equal(alone.body.keep, found.body.keep)
        assert alone.target.score == pytest.approx(found.target.score, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    model = rationalizer(kind)
    model.save_pretrained(tmp_path)
    again = Rationalizer.from_pretrained(tmp_path, device="cpu")
    assert (again.method, again.params, again.labels) == ("ver", {"perturb": 0.3}, ("no", "yes"))
    batch = model.encode(TEXTS)
    with torch.no_grad():
        assert torch.equal(model.logits(batch), again.logits(again.encode(TEXTS)))
    vectors = sum("vectors" in name for name in model.networks.state_dict())
    assert vectors in (0, 2)  # both players have them, and they are saved once
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no rationalizer could be loaded"):
        Rationalizer.from_pretrained(tmp_path)


def test_another_model_is_no_rationalizer(tmp_path: Path) -> None:
    tiny.classifier("bert").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="holds a bert and not a rationalizer"):
        Rationalizer.from_pretrained(tmp_path)


def test_a_batch_without_its_texts_cannot_be_explained() -> None:
    model = rationalizer("gru")
    batch = model.encode(TEXTS)
    with pytest.raises(InputError, match="does not know its texts"):
        model.explain(batch.take(torch.tensor([0])))


def test_a_gru_reads_each_text_from_its_own_end() -> None:
    """Against PyTorch's own bidirectional GRU on packed sequences, which is given the same weights."""
    model = rationalizer("gru")
    batch = model.encode(TEXTS)
    rnn = model.networks.selector.encoder.rnn
    whole = torch.nn.GRU(8, 6, batch_first=True, bidirectional=True)
    for ours, suffix in ((rnn.onward, ""), (rnn.backward_, "_reverse")):
        for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
            getattr(whole, name + suffix).data = getattr(ours, name).data
    inputs = torch.randn(*batch.ids.shape, 8, generator=torch.Generator().manual_seed(1))
    packed = torch.nn.utils.rnn.pack_padded_sequence(inputs, batch.lengths, batch_first=True, enforce_sorted=False)
    with torch.no_grad():
        wanted, _ = torch.nn.utils.rnn.pad_packed_sequence(whole(packed)[0], batch_first=True)
        found = rnn(inputs, batch.keep)
    assert torch.allclose(found[batch.keep], wanted[batch.keep], atol=1e-6)


def test_a_text_comes_to_its_largest_states_or_to_its_first() -> None:
    by_largest, by_first = (rationalizer(kind) for kind in KINDS[1:])
    batch = by_first.encode(TEXTS)
    with torch.no_grad():
        for model in (by_largest, by_first):
            predictor, embeddings = model.networks.predictor, model.embed(batch)
            states = predictor.encoder(embeddings, batch.keep)
            largest = torch.stack([text[keep].amax(0) for text, keep in zip(states, batch.keep, strict=True)])
            wanted = largest if model is by_largest else states[:, 0]
            assert torch.equal(predictor.states(embeddings, batch.keep, None), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_erased_tokens_are_not_seen(kind: str) -> None:
    model = rationalizer(kind)
    batch = model.encode(TEXTS)
    with torch.no_grad():
        everything = torch.ones_like(batch.content)
        empty = model.erase(batch, batch.content, "zero")
        seen = model.predict(model.embed(batch), batch, everything)
        erased = model.predict(model.embed(empty), empty, everything)
    assert (seen != erased).any(-1).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["gradient", "input_x_gradient", "leave_one_out", "lime"])
def test_other_methods_can_be_asked_too(kind: str, method: str) -> None:
    model = rationalizer(kind)
    found = explainers[method]()(model, model.encode(TEXTS))
    assert all(np.isfinite(explanation.body.values).all() for explanation in found)
    assert any(np.abs(explanation.body.values).max() > 0 for explanation in found)


def test_an_answer_that_is_no_number_is_no_prediction() -> None:
    model = rationalizer("gru")
    with torch.no_grad():
        model.networks.predictor.head[-1].bias.fill_(float("nan"))
    for explanation in model.explain(model.encode(TEXTS)):
        assert explanation.target.index == -1
        assert explanation.target.label == ""


OTHERS = {
    "attention": {"shared": True, "pooling": "attention", "post_hoc": 0.3},
    "full text": {"shared": True, "post_hoc": 1.0},
    "adjusted": {"priors": (0.3, 0.7)},
}


@pytest.mark.parametrize("other", list(OTHERS))
@pytest.mark.parametrize("kind", KINDS)
def test_other_architectures_are_saved_and_say_the_same_in_any_batch(kind: str, other: str, tmp_path: Path) -> None:
    plain = rationalizer(kind)
    architecture = replace(plain.architecture, **OTHERS[other])
    model = Rationalizer(Networks(*architecture.players()).eval(), plain.tokenizer, architecture)
    model.save_pretrained(tmp_path)
    loaded = Rationalizer.from_pretrained(tmp_path, device="cpu")
    assert replace(loaded.architecture, encoder={}) == replace(architecture, encoder={})
    alone = [loaded.explain(loaded.encode([example]))[0] for example in TEXTS]
    for one, another in zip(model.explain(model.encode(TEXTS)), alone, strict=True):
        assert np.array_equal(one.body.keep, another.body.keep)
        assert one.target.score == pytest.approx(another.target.score, abs=1e-5)
        if architecture.post_hoc:
            assert one.body.keep.sum() == np.ceil(round(architecture.post_hoc * one.content.sum(), 6))
            assert not one.body.keep[~one.content].any()
