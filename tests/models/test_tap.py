from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

import tiny
from rationales.errors import MissingCapability, ModelError
from rationales.models import TransformersClassifier
from rationales.models.tap import NAME, tapped, tapped_attention

KINDS = ("bert", "roberta", "distilbert", "modernbert", "llama", "gpt2")
every = pytest.mark.parametrize("kind", KINDS)


def implementations(network: PreTrainedModel) -> list[str]:
    return [part.config._attn_implementation for part in network.modules() if isinstance(part, PreTrainedModel)]


def pair_of(kind: str, **options: Any) -> tuple[TransformersClassifier, TransformersClassifier]:
    """The same network with its own fused attention, and with eager attention."""
    fused, eager = (tiny.classifier(kind, attn_implementation=name, **options) for name in ("sdpa", "eager"))
    return fused, eager


def eager_maps(model: TransformersClassifier, batch: Any) -> tuple[Tensor, ...]:
    with torch.no_grad():
        return model.model.base_model(**model._inputs(batch), output_attentions=True).attentions


@every
@pytest.mark.parametrize("side", ["right", "left"])
def test_records_what_eager_attention_gives_and_changes_nothing(kind: str, side: str) -> None:
    if side == "left" and kind not in ("llama", "gpt2"):
        return
    fused, eager = pair_of(kind)
    fused.padding = side
    batch = fused.encode([*tiny.singles(), *tiny.pairs()])
    before = implementations(fused.model)
    with torch.no_grad():
        wanted = fused.logits(batch)
        with fused.tap() as tap:
            assert set(implementations(fused.model)) == {NAME}
            assert torch.allclose(fused.logits(batch), wanted, atol=1e-5)
        assert torch.equal(fused.logits(batch), wanted)
    assert implementations(fused.model) == before
    real = batch.keep[:, None, :, None]  # rows of padding queries mean nothing
    for found, layer in zip(tap.probabilities, eager_maps(eager, batch), strict=True):
        assert torch.allclose(found * real, layer * real, atol=1e-6)
        assert not (found * real * ~batch.keep[:, None, None, :]).any(), "padding is never attended to"


@every
def test_logits_are_scaled_products_before_the_mask(kind: str) -> None:
    model = tiny.classifier(kind)
    batch = model.encode(tiny.singles()[:1])  # no padding: the mask is the causal one, or a window
    with torch.no_grad(), model.tap() as tap:
        model.logits(batch)
    for logits, probabilities in zip(tap.logits, tap.probabilities, strict=True):
        seen = probabilities[0, 0] > 0
        again = logits.masked_fill(~seen, -torch.inf).softmax(-1)
        assert torch.allclose(again, probabilities, atol=1e-6)
        assert logits.isfinite().all()
        assert logits.abs().max() < 1e4


def test_logits_are_query_times_key() -> None:
    model = tiny.classifier("bert")
    batch = model.encode(tiny.singles())
    attention = model.model.bert.encoder.layer[0].attention.self
    states = []
    handle = attention.register_forward_pre_hook(lambda _m, args, kwargs: states.append(args[0]), with_kwargs=True)
    with torch.no_grad(), model.tap() as tap:
        model.logits(batch)
        query, key = (
            layer(states[0]).view(5, batch.width, 2, 8).transpose(1, 2) for layer in (attention.query, attention.key)
        )
        handle.remove()
        wanted = torch.einsum("bhqd,bhkd->bhqk", query, key) / 8**0.5
    assert torch.allclose(tap.logits[0], wanted, atol=1e-5)


@every
def test_gradients_reach_the_maps_and_through_them(kind: str) -> None:
    model = tiny.classifier(kind)
    batch = model.encode(tiny.singles())
    with model.tap() as tap:
        output = model.logits(batch)[:, 0].sum()
        slopes = torch.autograd.grad(output, tap.probabilities, create_graph=True)
        parameter = model.model.get_input_embeddings().weight
        (second,) = torch.autograd.grad(sum(slope.square().sum() for slope in slopes), parameter)
    assert all(slope.abs().max() > 0 for slope in slopes)
    assert second.isfinite().all()
    assert second.abs().max() > 0


class TestScale:
    @every
    def test_ones_change_nothing_at_all(self, kind: str) -> None:
        model = tiny.classifier(kind)
        batch = model.encode(tiny.singles())
        with torch.no_grad():
            with model.tap():
                wanted = model.logits(batch)
            with model.tap(torch.ones(1, 1, batch.width, batch.width)):
                assert torch.equal(model.logits(batch), wanted)

    def test_factors_multiply_the_weights_without_renormalising(self) -> None:
        """One layer by hand: context = (A ⊙ scale) V."""
        model = tiny.classifier("bert")
        batch = model.encode(tiny.singles()[:2])
        scale = torch.rand(2, 1, batch.width, batch.width, generator=torch.Generator().manual_seed(0))
        attention = model.model.bert.encoder.layer[0].attention.self
        seen: list[Tensor] = []
        handle = attention.register_forward_hook(lambda _m, args, out: seen.extend([args[0], out[0]]))
        with torch.no_grad(), model.tap(scale) as tap:
            model.logits(batch)
            handle.remove()
            value = attention.value(seen[0]).view(2, batch.width, 2, 8).transpose(1, 2)
            wanted = ((tap.probabilities[0] * scale) @ value).transpose(1, 2).reshape(seen[1].shape)
        assert torch.allclose(seen[1], wanted, atol=1e-6)
        rows = tap.probabilities[0].sum(-1)
        assert torch.allclose(rows, torch.ones_like(rows)), "what is recorded is before the scale"

    def test_zero_cuts_the_connection(self) -> None:
        """No token may look at the second text: then the second text does not matter."""
        model = tiny.classifier("bert")
        examples = [tiny.Example("a", ("good food", "bad soup")), tiny.Example("b", ("good food", "great pasta"))]
        batch = model.encode(examples)
        second = batch.segments == 1
        scale = (~second).float()[:, None, None, :]
        with torch.no_grad():
            free = model.logits(batch)
            with model.tap(scale):
                # Softmax still counts the second text's keys, so make these equal for the test.
                model.model.bert.encoder.layer[0].attention.self.key.weight.zero_()
                model.model.bert.encoder.layer[1].attention.self.key.weight.zero_()
                cut = model.logits(batch)
        assert not torch.allclose(free[0], free[1], atol=1e-3)
        assert torch.allclose(cut[0], cut[1], atol=1e-6)

    def test_its_gradient_is_there(self) -> None:
        model = tiny.classifier("bert")
        batch = model.encode(tiny.singles())
        scale = torch.ones(5, 1, batch.width, batch.width, requires_grad=True)
        with model.tap(scale):
            (slope,) = torch.autograd.grad(model.logits(batch)[:, 0].sum(), scale)
        assert slope.abs().max() > 0


class TestScope:
    def test_clear_forgets(self) -> None:
        model = tiny.classifier()
        batch = model.encode(tiny.singles())
        with torch.no_grad(), model.tap() as tap:
            model.logits(batch)
            assert len(tap.probabilities) == len(tap.logits) == 2
            tap.clear()
            assert tap.probabilities == tap.logits == []

    @pytest.mark.parametrize("before", ["eager", "sdpa"])
    def test_the_old_function_comes_back_after_an_error(self, before: str) -> None:
        model = tiny.classifier("modernbert", attn_implementation=before)
        wanted = implementations(model.model)
        assert set(wanted) == {before}
        with pytest.raises(KeyError), model.tap():
            raise KeyError("inside")
        assert implementations(model.model) == wanted
        with model.tap():  # and another may be opened
            pass

    def test_an_error_inside_attention(self) -> None:
        model = tiny.classifier()
        batch = model.encode(tiny.singles())
        with pytest.raises(RuntimeError), torch.no_grad(), model.tap(torch.ones(7, 1, 3, 3)):
            model.logits(batch)
        assert set(implementations(model.model)) == {"sdpa"}

    def test_one_at_a_time(self) -> None:
        one, two = tiny.classifier(), tiny.classifier("gpt2")
        with one.tap(), pytest.raises(ModelError, match="a tap is open already"), two.tap():
            pass
        assert set(implementations(one.model)) == set(implementations(two.model)) == {"sdpa"}
        with two.tap():
            pass

    def test_another_thread_may_use_the_model_meanwhile(self) -> None:
        model = tiny.classifier("bert")
        batch = model.encode(tiny.singles())
        with torch.no_grad(), model.tap() as tap, ThreadPoolExecutor(1) as others:
            there = others.submit(lambda: model.logits(batch).detach()).result()
            assert tap.probabilities == []
            assert torch.allclose(there, model.logits(batch), atol=1e-6)

    def test_training_dropout_is_kept(self) -> None:
        model = tiny.classifier("bert", attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.0)
        model.model.train()
        batch = model.encode(tiny.singles())
        with torch.no_grad(), model.tap() as tap:
            one, two = model.logits(batch), model.logits(batch)
        assert not torch.allclose(one, two)
        assert torch.allclose(tap.probabilities[0], tap.probabilities[2]), "what is recorded is before dropout"


class TestUntappable:
    def test_models_with_attention_of_their_own(self) -> None:
        model = tiny.classifier("deberta")
        with pytest.raises(MissingCapability, match=r"DebertaV2.* computes attention in its own way"):
            model.tap().__enter__()
        assert set(implementations(model.model)) == {"eager"}

    def test_encoder_decoders(self) -> None:
        with pytest.raises(MissingCapability, match="BartForSequenceClassification reads the text with an encoder"):
            tiny.classifier("bart").tap()

    def test_attention_that_does_more_than_softmax(self) -> None:
        states = torch.rand(1, 1, 2, 4)
        with (
            tapped(tiny.network()),
            pytest.raises(MissingCapability, match="Identity uses softcap in attention; the tap does not"),
        ):
            tapped_attention(torch.nn.Identity(), states, states, states, None, softcap=50.0)


def test_half_precision_softmax_is_computed_in_float32() -> None:
    network = tiny.network().to(torch.bfloat16)
    model = TransformersClassifier(network, tiny.tokenizer())
    batch = model.encode(tiny.singles())
    with torch.no_grad(), model.tap() as tap:
        logits = model.logits(batch)
    assert logits.dtype == torch.float32
    assert tap.probabilities[0].dtype == torch.bfloat16
    wanted = tap.logits[0][0, :, : int(batch.lengths[0]), : int(batch.lengths[0])].float().softmax(-1)
    found = tap.probabilities[0][0, :, : int(batch.lengths[0]), : int(batch.lengths[0])].float()
    assert torch.allclose(found, wanted, atol=4e-3)
