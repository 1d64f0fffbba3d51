"""Decomposable Attention and ESIM: what they compute, what masking does to it, and that they are models like others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import tiny
from rationales.data.example import Example
from rationales.errors import InputError, ModelError
from rationales.explainers import Explainer, explainers
from rationales.models import (
    Attentive,
    Batch,
    CoAttentive,
    Differentiable,
    PairClassifier,
    Rationalizer,
    TransformersClassifier,
    load,
)
from rationales.models.pairs import Architecture
from rationales.models.pairs.networks import CoAttention, Side
from rationales.models.rationalizer.words import word_tokenizer

KINDS = ("da", "esim")
LABELS = ("no", "maybe", "yes")
PAIRS = (
    *tiny.pairs(),
    Example("long", ("we came back again and again and the soup was so very good !", "they loved the food , always .")),
    Example("one word each", ("soup", "food")),
)

both = pytest.mark.parametrize("kind", KINDS)


def pair_classifier(kind: str, **options: Any) -> PairClassifier:
    tokenizer = word_tokenizer([piece for piece in tiny.PIECES if not piece.startswith("##")])
    architecture = Architecture(kind, LABELS, words=len(tokenizer), vector_size=6, hidden=8, max_length=64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = architecture.network().double().eval()
        with torch.no_grad():
            network.vectors.weight[:2] = 0.0
    return PairClassifier(network, tokenizer, architecture, params={"seed": 3}, **options)


def any_model(kind: str) -> PairClassifier | TransformersClassifier:
    return tiny.classifier("bert") if kind == "bert" else pair_classifier(kind)


def pair(first: str, second: str) -> list[Example]:
    return [Example("pair", (first, second))]


def random_links(model: CoAttentive, batch: Batch, seed: int = 0) -> Tensor:
    shape = model.coattention(batch).shape
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sides(model: PairClassifier, batch: Batch) -> list[Side]:
    """Both texts of the first pair of a batch, read by the model."""
    embedded = model.embed(batch)[0]
    texts = [embedded[batch.segments[0] == side].unsqueeze(0) for side in (0, 1)]
    raw = [Side(words, torch.ones(words.shape[:2], dtype=torch.bool)) for words in texts]
    return [Side(model.network.reader.read(side), side.there) for side in raw]


class TestEquations:
    """Against the papers' equations, written a second time for one pair, word by word."""

    def layers(self, block: nn.Sequential) -> list[nn.Linear]:
        return [layer for layer in block if isinstance(layer, nn.Linear)]

    def two_layers(self, block: nn.Sequential, values: Tensor) -> Tensor:
        first, second = self.layers(block)
        return second(first(values).clamp(min=0)).clamp(min=0)

    def linked(self, first: list[Tensor], second: list[Tensor], scores: list[list[Tensor]], links: Tensor) -> Any:
        """What each word is linked with in the other text."""
        columns = list(zip(*scores, strict=True))
        of_first = [
            sum(torch.stack(row).softmax(0)[j] * links[i, j] * second[j] for j in range(len(second)))
            for i, row in enumerate(scores)
        ]
        of_second = [
            sum(torch.stack(column).softmax(0)[i] * links[i, j] * first[i] for i in range(len(first)))
            for j, column in enumerate(columns)
        ]
        return of_first, of_second

    def words(self, model: PairClassifier, batch: Batch) -> list[list[Tensor]]:
        return [list(model.embed(batch)[0][batch.segments[0] == side]) for side in (0, 1)]

    @pytest.mark.parametrize("number", range(len(PAIRS)))
    def test_decomposable_attention(self, number: int) -> None:
        model = pair_classifier("da")
        batch = model.encode([PAIRS[number]])
        links, reader = random_links(model, batch), model.network.reader
        with torch.no_grad():
            first, second = ([reader.project.weight @ word for word in text] for text in self.words(model, batch))
            scores = [
                [self.two_layers(reader.attend, p) @ self.two_layers(reader.attend, h) for h in second] for p in first
            ]
            others = self.linked(first, second, scores, links[0])
            sums = [
                sum(self.two_layers(reader.compare, torch.cat([own, other])) for own, other in zip(*text, strict=True))
                for text in zip((first, second), others, strict=True)
            ]
            wanted = reader.classify(self.two_layers(reader.aggregate, torch.cat(sums)))
            found = model.logits(batch, alignment=links)[0]
        assert torch.allclose(found, wanted, atol=1e-12)

    def bilstm(self, layer: Any, words: list[Tensor]) -> list[Tensor]:
        """PyTorch's own LSTM in both directions, with the weights of ours."""
        inputs = torch.stack(words)
        whole = nn.LSTM(inputs.shape[1], layer.onward.hidden_size, bidirectional=True).double()
        for own, suffix in ((layer.onward, ""), (layer.back, "_reverse")):
            for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
                getattr(whole, name + suffix).data = getattr(own, name).data
        return list(whole(inputs)[0])

    @pytest.mark.parametrize("number", range(len(PAIRS)))
    def test_esim(self, number: int) -> None:
        model = pair_classifier("esim")
        batch = model.encode([PAIRS[number]])
        links, reader = random_links(model, batch), model.network.reader
        with torch.no_grad():
            first, second = (self.bilstm(reader.reader, text) for text in self.words(model, batch))
            others = self.linked(first, second, [[a @ b for b in second] for a in first], links[0])
            pooled = []
            for text, other in zip((first, second), others, strict=True):
                mixed = [torch.cat([a, b, a - b, a * b]) for a, b in zip(text, other, strict=True)]
                states = self.bilstm(reader.composer, [self.layers(reader.combine)[0](m).clamp(min=0) for m in mixed])
                pooled += [torch.stack(states).mean(0), torch.stack(states).max(0).values]
            hidden, last = self.layers(reader.classify)
            wanted = last(hidden(torch.cat(pooled)).tanh())
            found = model.logits(batch, alignment=links)[0]
        assert torch.allclose(found, wanted, atol=1e-12)


class TestAlignment:
    @both
    def test_all_links_are_no_change_at_all(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        with torch.no_grad():
            assert torch.equal(model.logits(batch), model.logits(batch, alignment=torch.ones(5, 14, 7).double()))

    @both
    def test_room_for_more_words_changes_nothing(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        links = random_links(model, batch)
        with torch.no_grad():
            wanted = model.logits(batch, alignment=links)
            wide = nn.functional.pad(links, (0, 5, 0, 3), value=0.3)
            assert torch.allclose(model.logits(batch, alignment=wide), wanted, atol=1e-12)

    @both
    def test_rows_add_up_to_one_and_to_no_more_once_masked(self, kind: str) -> None:
        model = pair_classifier(kind)
        for example in PAIRS:
            batch = model.encode([example])
            links = model.network.reader.links(*sides(model, batch))
            assert torch.allclose(links.of_first.sum(2), torch.ones(()).double())
            assert torch.allclose(links.of_second.sum(1), torch.ones(()).double())
            masked = links.scaled(random_links(model, batch))
            assert bool((masked.of_first.sum(2) < 1).all())
            assert bool((masked.of_second.sum(1) < 1).all())
            assert isinstance(masked, CoAttention)

    @both
    def test_coattention_is_the_mean_of_both_directions_and_zero_beyond_the_words(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        found = model.coattention(batch).detach()
        for row, example in enumerate(PAIRS):
            links = model.network.reader.links(*sides(model, model.encode([example])))
            wanted = (links.of_first + links.of_second)[0].detach() / 2
            rest = found[row].clone()
            rest[: wanted.shape[0], : wanted.shape[1]] -= wanted
            assert float(rest.abs().max()) < 1e-12

    def test_the_order_of_words_is_nothing_to_decomposable_attention(self) -> None:
        model = pair_classifier("da")
        words = "the soup was so very good".split()  # noqa: SIM905
        order = [4, 2, 0, 5, 3, 1]
        batch = model.encode(pair(" ".join(words), "they loved the food"))
        other = model.encode(pair(" ".join(words[place] for place in order), "they loved the food"))
        links = random_links(model, batch)
        with torch.no_grad():
            wanted = model.logits(batch, alignment=links)
            assert torch.allclose(model.logits(other, alignment=links[:, order]), wanted, atol=1e-12)
            assert not torch.allclose(model.logits(other, alignment=links), wanted, atol=1e-6)
            reader = pair_classifier("esim")
            in_order, mixed = (reader.logits(each) for each in (batch, other))
        assert not torch.allclose(in_order, mixed, atol=1e-6)

    @both
    def test_gradients_reach_the_links_of_words_and_no_others(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        links = torch.ones(5, 14, 7, dtype=torch.float64, requires_grad=True)
        with model.borrowed():
            model.logits(batch, alignment=links)[:, 1].sum().backward()
        assert links.grad is not None
        for row in range(len(PAIRS)):
            first, second = (int((batch.segments[row] == side).sum()) for side in (0, 1))
            inside = links.grad[row, :first, :second]
            assert bool((inside != 0).any())
            assert float(links.grad[row].abs().sum() - inside.abs().sum()) == pytest.approx(0, abs=1e-15)
        assert all(parameter.grad is None for parameter in model.network.parameters())


@pytest.mark.parametrize("kind", [*KINDS, "bert"])
class TestErasure:
    """Deleting words takes their rows and columns of the alignment along."""

    @pytest.mark.parametrize(
        ("drop", "left"),
        [
            ([(0, 1)], ("the was tasty .", "the food was good")),
            ([(1, 0), (1, 3)], ("the soup was tasty .", "food was")),
            ([(0, 0), (0, 4), (1, 1)], ("soup was tasty", "the was good")),
        ],
    )
    def test_rows_and_columns_go_with_their_words(
        self, kind: str, drop: list[tuple[int, int]], left: tuple[str, str]
    ) -> None:
        model = any_model(kind)
        batch = model.encode(
            [*pair("bad", "they hated it , always"), *pair("the soup was tasty .", "the food was good")]
        )
        links = random_links(model, batch).to(model.coattention(batch).dtype)
        flags = torch.zeros_like(batch.keep)
        stays: list[list[int]] = [list(range(5)), list(range(4))]
        for side, place in drop:
            flags[1, torch.nonzero(batch.segments[1] == side).flatten()[place]] = True
            stays[side].remove(place)
        shorter = model.encode(pair(*left))
        with torch.no_grad():
            found = model.logits(model.erase(batch.aligned(links), flags, "delete"))
            wanted = model.logits(shorter, alignment=links[1:, stays[0]][:, :, stays[1]])
            alone = model.logits(batch.take(torch.tensor([0])), alignment=links[:1])
        assert torch.allclose(found[1], wanted[0], atol=1e-6)
        assert torch.allclose(found[0], alone[0], atol=1e-6)

    def test_other_ways_to_erase_leave_the_links(self, kind: str) -> None:
        model = any_model(kind)
        batch = model.encode(PAIRS[:2])
        guided = batch.aligned(random_links(model, batch).to(model.coattention(batch).dtype))
        for how in ("pad", "zero"):
            erased = model.erase(guided, torch.zeros_like(batch.keep), how)
            with torch.no_grad():
                assert torch.equal(model.logits(erased), model.logits(guided))

    def test_links_of_links_multiply(self, kind: str) -> None:
        model = any_model(kind)
        batch = model.encode(PAIRS[:2])
        one, other = (random_links(model, batch, seed).to(model.coattention(batch).dtype) for seed in (1, 2))
        with torch.no_grad():
            found = model.logits(batch.aligned(one), alignment=other)
            assert torch.allclose(found, model.logits(batch, alignment=one * other), atol=1e-6)
            assert not torch.allclose(found, model.logits(batch, alignment=one), atol=1e-6)

    def test_rows_that_are_taken_keep_their_links(self, kind: str) -> None:
        model = any_model(kind)
        batch = model.encode(PAIRS[:3])
        links = random_links(model, batch).to(model.coattention(batch).dtype)
        with torch.no_grad():
            whole = model.logits(batch, alignment=links)
            part = model.logits(batch.aligned(links).take(torch.tensor([2, 0])))
        assert torch.allclose(part, whole[[2, 0]], atol=1e-6)


@both
class TestModel:
    def test_capabilities(self, kind: str) -> None:
        model = pair_classifier(kind)
        assert isinstance(model, Differentiable)
        assert isinstance(model, CoAttentive)
        assert not isinstance(model, Attentive)

    def test_a_pair_alone_or_among_longer_ones(self, kind: str) -> None:
        model = pair_classifier(kind)
        with torch.no_grad():
            together = model.logits(model.encode(PAIRS))
            for example, found in zip(PAIRS, together, strict=True):
                assert torch.allclose(model.logits(model.encode([example]))[0], found, atol=1e-12)

    def test_logits_from_embeddings(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        with torch.no_grad():
            assert torch.equal(model.logits_from(model.embed(batch), batch), model.logits(batch))
            zeroed = model.erase(batch, batch.segments == 1, "zero")
            by_hand = model.embed(batch) * (batch.segments != 1).unsqueeze(-1)
            assert torch.equal(model.logits(zeroed), model.logits_from(by_hand, batch))
            assert not torch.allclose(model.logits(zeroed), model.logits(batch), atol=1e-4)

    @pytest.mark.parametrize("texts", [("", "the food was good"), ("the soup", ""), ("the soup", "  ")])
    def test_a_side_without_words(self, kind: str, texts: tuple[str, str]) -> None:
        model = pair_classifier(kind)
        with torch.no_grad():
            alone = model.logits(model.encode([Example("half", texts)]))
            among = model.logits(model.encode([*PAIRS, Example("half", texts)]))[-1:]
        assert bool(alone.isfinite().all())
        assert torch.allclose(alone, among, atol=1e-12)

    def test_two_empty_texts_are_refused(self, kind: str) -> None:
        with pytest.raises(InputError, match="has no tokens"):
            pair_classifier(kind).encode(pair("", " "))

    def test_deleted_words_are_as_if_never_written(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode([*pair("the soup was good", "the food was bad"), *PAIRS])
        with torch.no_grad():
            second = model.logits(model.erase(batch, batch.segments == 1, "delete"))[0]
            assert torch.allclose(second, model.logits(model.encode(pair("the soup was good", "")))[0], atol=1e-12)
            nothing = model.logits(model.erase(batch, batch.content, "delete"))
        assert bool(nothing.isfinite().all())
        assert torch.allclose(nothing, nothing[:1], atol=1e-12), "no text is told from another"

    def test_there_is_no_mask_token(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        with pytest.raises(InputError, match="no mask token"):
            model.erase(batch, batch.content, "mask")

    def test_unknown_words_are_read_as_nothing_known(self, kind: str) -> None:
        model = pair_classifier(kind)
        batch = model.encode(pair("the zyzzyva was good", "The FOOD, was!"))
        assert [token.text for token in batch.sources[0].tokens] == "the zyzzyva was good The FOOD , was !".split()  # noqa: SIM905
        assert not model.embed(batch)[0, 1].any()
        assert bool(model.embed(batch)[0, 5].any()), "capitals do not matter"

    def test_long_pairs_are_cut_the_longer_text_first(self, kind: str) -> None:
        model = pair_classifier(kind, max_length=8)
        with pytest.warns(UserWarning, match="longer than 8 tokens"):
            batch = model.encode(pair("so " * 30, "the food was good"))
        assert [int((batch.segments == side).sum()) for side in (0, 1)] == [4, 4]

    def test_single_texts_are_refused(self, kind: str) -> None:
        with pytest.raises(InputError, match=r"compares two texts, and '1' is one; give it pairs"):
            pair_classifier(kind).encode([PAIRS[0], tiny.singles()[1]])

    def test_length_of_nothing(self, kind: str) -> None:
        with pytest.raises(InputError, match="max_length must be at least 2"):
            pair_classifier(kind, max_length=1)

    @pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
    def test_half_precision(self, kind: str, precision: torch.dtype) -> None:
        model = pair_classifier(kind)
        batch = model.encode(PAIRS)
        with torch.no_grad():
            wanted = model.logits(batch)
            model.network.to(precision)
            assert torch.allclose(model.logits(batch).double(), wanted, atol=0.03)

    def test_borrowed_and_given_back(self, kind: str) -> None:
        model = pair_classifier(kind)
        model.network.train()
        model.network.vectors.weight.requires_grad_(False)
        wanted = [parameter.requires_grad for parameter in model.network.parameters()]
        with model.borrowed():
            assert not model.network.reader.training
            assert not any(parameter.requires_grad for parameter in model.network.parameters())
        assert all(part.training for part in model.network.modules())
        assert [parameter.requires_grad for parameter in model.network.parameters()] == wanted


QUICK: dict[str, dict[str, Any]] = {
    "integrated_gradients": {"steps": 6, "tolerance": 100.0, "baseline": "pad"},
    "deeplift": {"baseline": "pad"},
    "kernel_shap": {"samples": 30},
    "lime": {"samples": 30},
    "smoothgrad": {"samples": 4},
}
ABLE = [name for name, cls in explainers.items() if Attentive not in cls.needs.__mro__]


@both
@pytest.mark.parametrize("name", ABLE)
@pytest.mark.filterwarnings("ignore:deeplift.*do not add up")  # it has no rule for LSTMs
def test_methods_that_score_tokens_work_and_do_not_depend_on_the_batch(kind: str, name: str) -> None:
    model = pair_classifier(kind)
    explainer: Explainer = explainers[name](**QUICK.get(name, {}))
    together = explainer(model, model.encode(PAIRS))
    for example, found in zip(PAIRS, together, strict=True):
        (alone,) = explainer(model, model.encode([example]))
        assert found.body.values == pytest.approx(alone.body.values, abs=1e-5)
        assert np.abs(found.body.values).max() > 0


@both
class TestFiles:
    def test_saved_and_loaded(self, kind: str, tmp_path: Path) -> None:
        model = pair_classifier(kind)
        model.network.float()
        model.save_pretrained(tmp_path)
        again = load(tmp_path, device="cpu")
        assert isinstance(again, PairClassifier)
        assert (again.architecture, again.params, again.labels) == (model.architecture, {"seed": 3}, LABELS)
        assert (again.name, again.max_length) == (str(tmp_path), 64)
        assert load(tmp_path, device="cpu", max_length=9).max_length == 9
        assert not again.network.training
        with torch.no_grad():
            assert torch.equal(again.logits(again.encode(PAIRS)), model.logits(model.encode(PAIRS)))

    def change(self, directory: Path, **changes: Any) -> None:
        file = directory / "config.json"
        config = json.loads(file.read_text())
        for name, value in changes.items():
            if value is None:
                del config["architecture"][name]
            else:
                config["architecture"][name] = value
        file.write_text(json.dumps(config))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"labels": None}, "its config.json is damaged: KeyError"),
            ({"kind": None}, "its config.json is damaged: TypeError"),
            ({"unheard_of": 1}, "its config.json is damaged: TypeError"),
            ({"kind": "bimpm"}, "kind must be one of da, esim; got 'bimpm'"),
            ({"hidden": 9}, "size mismatch"),
            ({"hidden": "many"}, "no pair_classifier could be loaded"),
        ],
    )
    def test_a_damaged_config(self, kind: str, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
        pair_classifier(kind).save_pretrained(tmp_path)
        self.change(tmp_path, **changes)
        with pytest.raises((ModelError, InputError), match=message):
            PairClassifier.from_pretrained(tmp_path)

    def test_a_config_that_is_no_json(self, kind: str, tmp_path: Path) -> None:
        pair_classifier(kind).save_pretrained(tmp_path)
        (tmp_path / "config.json").write_text("{")
        with pytest.raises(ModelError, match="no pair_classifier could be loaded"):
            PairClassifier.from_pretrained(tmp_path)

    def test_damaged_weights(self, kind: str, tmp_path: Path) -> None:
        pair_classifier(kind).save_pretrained(tmp_path)
        weights = tmp_path / "model.safetensors"
        state = load_file(weights)
        save_file({name: tensor for name, tensor in state.items() if "classify" not in name}, weights)
        with pytest.raises(ModelError, match="its weights are not those of its config"):
            PairClassifier.from_pretrained(tmp_path)
        weights.write_bytes(weights.read_bytes()[:200])
        with pytest.raises(ModelError, match="its weights are damaged"):
            PairClassifier.from_pretrained(tmp_path)
        weights.unlink()
        with pytest.raises(ModelError, match="no pair_classifier could be loaded"):
            PairClassifier.from_pretrained(tmp_path)

    def test_the_other_kind_is_no_match_for_the_weights(self, kind: str, tmp_path: Path) -> None:
        pair_classifier(kind).save_pretrained(tmp_path)
        self.change(tmp_path, kind="esim" if kind == "da" else "da")
        with pytest.raises(ModelError, match="no pair_classifier could be loaded"):
            PairClassifier.from_pretrained(tmp_path)

    def test_other_directories(self, kind: str, tmp_path: Path) -> None:
        tiny.classifier("bert").save_pretrained(tmp_path / "bert")
        with pytest.raises(ModelError, match="holds a bert and not a pair_classifier"):
            PairClassifier.from_pretrained(tmp_path / "bert")
        pair_classifier(kind).save_pretrained(tmp_path / "pairs")
        for other in (Rationalizer, TransformersClassifier):
            with pytest.raises(ModelError, match=r"holds a pair_classifier, not a .*; rationales.load_model reads it"):
                other.from_pretrained(tmp_path / "pairs")
        with pytest.raises(ModelError, match="there is no directory"):
            PairClassifier.from_pretrained(tmp_path / "nowhere")
        with pytest.raises(InputError, match="keeps its own tokenizer"):
            load(tmp_path / "pairs", tiny.tokenizer())


def test_kinds_are_known_by_name() -> None:
    architecture = pair_classifier("da").architecture
    with pytest.raises(InputError, match="kind must be one of da, esim"):
        replace(architecture, kind="bimpm")
