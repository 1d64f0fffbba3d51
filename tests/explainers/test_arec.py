from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import rationales
import tiny
from planted_links import OPPOSITES, planted_model, planted_pairs
from rationales.data import Example
from rationales.errors import InputError, MissingCapability
from rationales.explainers import Arec
from rationales.explainers.arec import compactness_loss, contiguity_loss
from rationales.explainers.hard_concrete import drawn, zero_probability
from rationales.explainers.noise import text_seeds, uniform
from rationales.explanation import Alignment
from rationales.models import Batch, CoAttentive
from rationales.models.alignment import attention_factors, between

KINDS = ("da", "esim", "bert")
every = pytest.mark.parametrize("kind", KINDS)


def pairs() -> list[Example]:
    return [
        *tiny.pairs(),
        Example("long", ("we loved the soup , but the waiter was rude !", "the staff was unfriendly")),
    ]


def of(kind: str, **options: Any) -> Any:
    return tiny.coattentive(kind, **options)


class TestModels:
    @every
    def test_a_mask_of_ones_changes_nothing_at_all(self, kind: str) -> None:
        model = of(kind)
        batch = model.encode(pairs())
        ones = torch.ones(len(batch), *between(batch, torch.ones(len(batch), batch.width, batch.width)).shape[1:])
        with torch.no_grad():
            if kind == "bert":  # another attention function gives the same up to rounding
                assert torch.allclose(model.logits(batch, ones), model.logits(batch), atol=1e-6)
            else:
                assert torch.equal(model.logits(batch, ones), model.logits(batch))

    @every
    def test_links_matter(self, kind: str) -> None:
        model = of(kind)
        batch = model.encode(pairs())
        shape = model.coattention(batch).shape
        with torch.no_grad():
            distance = (model.logits(batch, torch.zeros(shape)) - model.logits(batch)).norm(dim=-1)
        assert bool((distance > 1e-3).all())

    @every
    def test_a_larger_mask_than_needed_does_no_harm(self, kind: str) -> None:
        model = of(kind)
        batch = model.encode(pairs())
        shape = model.coattention(batch).shape
        small = torch.rand(shape, generator=torch.Generator().manual_seed(0))
        large = torch.nn.functional.pad(small, (0, 3, 0, 2), value=7.0)
        with torch.no_grad():
            assert torch.allclose(model.logits(batch, small), model.logits(batch, large), atol=1e-5)

    @every
    def test_a_mask_without_room_for_all_tokens_is_refused(self, kind: str) -> None:
        model = of(kind)
        with pytest.raises(InputError, match="an alignment of 2 × 2 for texts of up to"):
            model.logits(model.encode(pairs()), torch.ones(len(pairs()), 2, 2))

    def test_only_the_attention_between_the_texts_is_multiplied(self) -> None:
        model = tiny.classifier()
        batch = model.encode(tiny.pairs()[1:2])  # [CLS] bad [SEP] they hated it , always [SEP]
        mask = torch.rand(1, 1, 5)
        factors = attention_factors(batch, mask)[0]
        wanted = torch.ones(batch.width, batch.width)
        wanted[1, 3:8] = mask[0, 0]
        wanted[3:8, 1] = mask[0, 0]
        assert torch.allclose(factors, wanted)
        assert torch.equal(attention_factors(batch, torch.ones(1, 1, 5))[0], torch.ones_like(wanted))

    def test_what_links_give_is_what_eager_attention_with_the_same_factors_gives(self) -> None:
        model = tiny.classifier()
        batch = model.encode(pairs())
        mask = torch.rand(model.coattention(batch).shape, generator=torch.Generator().manual_seed(0))
        with torch.no_grad(), model.tap(attention_factors(batch, mask).unsqueeze(1)):
            wanted = model.logits(batch)
        with torch.no_grad():
            assert torch.equal(model.logits(batch, mask), wanted)
            with model.tap() as tap:  # also where somebody is watching
                assert torch.equal(model.logits(batch, mask), wanted)
            assert len(tap.probabilities) == 2

    @every
    def test_coattention_is_a_distribution_in_both_directions(self, kind: str) -> None:
        model = of(kind)
        batch = model.encode(pairs()[-1:])
        with torch.no_grad():
            found = model.coattention(batch)[0]
        if kind == "bert":
            assert bool((found.sum(1) < 1).all())
        else:
            assert float(found.sum()) == pytest.approx((found.shape[0] + found.shape[1]) / 2, abs=1e-4)


class TestLosses:
    def test_windows_with_just_three(self) -> None:
        cases = {
            "full": ([[1, 1], [1, 1]], 0.0),
            "alone": ([[1, 0], [0, 0]], 0.0),
            "empty": ([[0, 0], [0, 0]], 0.0),
            "corner": ([[1, 1], [1, 0]], 1.0),
            "two corners": ([[1, 1, 1], [1, 0, 1]], 2.0),
        }
        for name, (mask, wanted) in cases.items():
            zero = 1 - torch.tensor([mask], dtype=torch.float64)
            assert float(contiguity_loss(zero, torch.ones_like(zero).bool())) == wanted, name

    def test_contiguity_is_the_expected_number_of_such_windows(self) -> None:
        zero = torch.rand(1, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        wanted = 0.0
        for mask in itertools.product((0.0, 1.0), repeat=9):
            cells = torch.tensor(mask, dtype=torch.float64).view(1, 3, 3)
            chance = torch.where(cells > 0, 1 - zero, zero).prod()
            windows = [cells[0, i : i + 2, j : j + 2].sum() == 3 for i in range(2) for j in range(2)]
            wanted += float(chance) * sum(map(bool, windows))
        assert float(contiguity_loss(zero, torch.ones_like(zero).bool())) == pytest.approx(wanted, abs=1e-12)

    def test_padding_does_not_count(self) -> None:
        zero = torch.rand(2, 4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        there = torch.zeros(2, 4, 5, dtype=torch.bool)
        there[:, :3, :2] = True
        inner = zero[:, :3, :2], there[:, :3, :2]
        assert torch.allclose(compactness_loss(zero, there), compactness_loss(*inner))
        assert torch.allclose(contiguity_loss(zero, there), contiguity_loss(*inner))

    def test_compactness_is_what_is_expected_to_be_left(self) -> None:
        log_alpha = torch.tensor([[[2.0, -0.5]]], dtype=torch.float64)
        found = compactness_loss(zero_probability(log_alpha), torch.ones(1, 1, 2).bool())
        assert float(found) == pytest.approx(0.9227 + 0.4949, abs=1e-3)


def slow(model: CoAttentive, batch: Batch, explainer: Arec) -> list[Tensor]:
    """Pair by pair and mask by mask, with torch's own Adam, in double precision from the equations."""
    found = []
    seeds = text_seeds(batch.fingerprints(), explainer.seed, torch.device("cpu"))
    for row in range(len(batch)):
        alone = batch.take(torch.tensor([row]), int(batch.lengths[row]))
        first, second = (int((alone.segments == side).sum()) for side in (0, 1))
        answer = model.logits(alone).detach()[0]
        log_alpha = torch.full((first, second), explainer.start, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([log_alpha], lr=explainer.learning_rate)
        for step in range(1, explainer.steps + 1):
            noise = uniform(seeds[row : row + 1], step, explainer.samples, first, second)[0].double()
            logits = [model.logits(alone, drawn(log_alpha, own)[None])[0] for own in noise]
            distance = sum((own - answer).square().sum().sqrt() for own in logits) / len(logits)
            kept = sum(int(own.argmax()) == int(answer.argmax()) for own in logits) / len(logits)
            zero = zero_probability(log_alpha)
            three: Any = 0.0
            for i, j in itertools.product(range(first - 1), range(second - 1)):
                window = [zero[i, j], zero[i, j + 1], zero[i + 1, j], zero[i + 1, j + 1]]
                for k in range(4):
                    rest = [1 - window[other] for other in range(4) if other != k]
                    three = three + window[k] * rest[0] * rest[1] * rest[2]
            loss = distance + explainer.weight * kept * ((1 - zero).sum() + three)
            adam.zero_grad()
            loss.backward()
            adam.step()
        found.append(log_alpha.detach())
    return found


def doubled(model: Any) -> Any:
    (model.model if hasattr(model, "model") else model.network).double()
    return model


class TestAgainstASlowOne:
    @every
    def test_gives_the_same(self, kind: str) -> None:
        model = doubled(of(kind))
        explainer = Arec(steps=6, samples=3, patience=0, weight=0.05)
        batch = model.encode(pairs())
        for explanation, wanted in zip(explainer(model, batch), slow(model, batch, explainer), strict=True):
            assert isinstance(explanation.body, Alignment)
            assert explanation.body.weights == pytest.approx(wanted.numpy(), abs=2e-4)
            assert np.array_equal(explanation.body.keep, explanation.body.weights > 0)  # type: ignore[arg-type]


QUICK = Arec(steps=40, samples=4, patience=10)


class TestExplanations:
    @every
    def test_a_pair_alone_as_among_others(self, kind: str) -> None:
        model = of(kind)
        together = QUICK(model, model.encode(pairs()))
        for number, pair in enumerate(pairs()):
            (alone,) = QUICK(model, model.encode([pair]))
            assert alone.body.weights == pytest.approx(together[number].body.weights, abs=1e-3)
            assert alone.checks["steps"] == together[number].checks["steps"]

    @every
    def test_its_checks_are_what_its_links_give(self, kind: str) -> None:
        model = of(kind)
        for pair in pairs():
            batch = model.encode([pair])
            (explanation,) = QUICK(model, batch)
            with torch.no_grad():
                whole = model.logits(batch)
                kept = model.logits(batch, torch.from_numpy(explanation.body.keep.copy())[None].float())
            assert explanation.checks["fidelity"] == pytest.approx(float((kept - whole).norm()), abs=1e-5)
            assert bool(explanation.checks["same_answer"]) == bool(kept.argmax() == whole.argmax())
            assert explanation.target.index == int(whole.argmax())

    def test_each_pair_stops_when_its_links_stay_the_same(self) -> None:
        model = of("da")
        found = Arec(steps=200, samples=4, patience=20)(model, model.encode(pairs()))
        steps = [explanation.checks["steps"] for explanation in found]
        assert all(step % 10 == 0 and 20 <= step <= 200 for step in steps)
        assert len(set(steps)) > 1
        never = Arec(steps=60, samples=4, patience=0)(model, model.encode(pairs()))
        assert {explanation.checks["steps"] for explanation in never} == {60.0}

    def test_a_slow_start_is_not_taken_for_the_end(self) -> None:
        model, some = planted_model(), planted_pairs(4)
        found = Arec(learning_rate=0.01, samples=4, steps=150)(model, model.encode(some))  # 0 is reached after 50 steps
        assert max(explanation.body.keep.mean() for explanation in found) < 1

    def test_any_seed_will_do(self) -> None:
        model = of("da")
        assert len(Arec(steps=1, seed=2**63 - 1)(model, model.encode(pairs()))) == len(pairs())

    def test_words_are_linked_as_a_whole(self) -> None:
        model = tiny.classifier()  # "unfriendly" is three pieces there
        pair = Example("1", ("unfriendly staff", "not good"))
        (pieces,) = QUICK(model, model.encode([pair]))
        (words,) = Arec(steps=40, samples=4, patience=10, level="word")(model, model.encode([pair]))
        assert words.body.weights.shape == pieces.body.weights.shape == (4, 2)
        assert np.ptp(words.body.weights[:3], axis=0).max() < 1e-6
        assert np.ptp(pieces.body.weights[:3], axis=0).max() > 1e-3

    def test_without_a_price_everything_stays_and_with_a_high_one_nothing(self) -> None:
        model = of("esim")
        batch = model.encode(pairs())
        free, dear = (Arec(steps=80, samples=4, weight=weight)(model, batch) for weight in (0.0, 50.0))
        kept = [[explanation.body.keep.mean() for explanation in some] for some in (free, dear)]
        assert np.mean(kept[0]) > 0.3
        assert max(kept[1]) == 0.0

    def test_a_seed_decides(self) -> None:
        model = of("da")
        batch = model.encode(pairs())
        first, again, other = (Arec(steps=10, seed=seed)(model, batch)[0].body.weights for seed in (0, 0, 1))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


class TestBadInput:
    def test_one_text(self) -> None:
        model = tiny.classifier()
        with pytest.raises(InputError, match="links the words of two texts, and '0' is one"):
            QUICK(model, model.encode(tiny.singles()[:1]))

    def test_a_text_without_words(self) -> None:
        for kind in KINDS:
            model = of(kind)
            with pytest.raises(InputError, match=r"the second text of 'x' has no words"):
                rationales.explain(model, Example("x", ("good soup", " ")), QUICK)

    def test_one_word_each(self) -> None:
        for kind in KINDS:
            model = of(kind)
            (found,) = QUICK(model, model.encode([Example("x", ("good", "bad"))]))
            assert found.body.weights.shape == (1, 1)

    def test_longer_than_the_model_takes(self) -> None:
        model = tiny.classifier(max_length=12)
        with pytest.warns(UserWarning, match="longer than 12 tokens"):
            batch = model.encode([Example("x", ("good soup " * 20, "bad"))])
        (found,) = QUICK(model, batch)
        assert found.body.weights.shape == (8, 1)

    @pytest.mark.parametrize("kind", ["deberta", "bart"])
    def test_models_whose_attention_cannot_be_changed(self, kind: str) -> None:
        model = tiny.classifier(kind)
        with pytest.raises(MissingCapability, match="attention"):
            QUICK(model, model.encode(pairs()))

    def test_a_label_to_explain(self) -> None:
        model = of("da")
        with pytest.raises(InputError, match="leave out the target"):
            QUICK(model, model.encode(pairs()), 1)

    @pytest.mark.parametrize(
        "options",
        [{"steps": 0}, {"samples": 0}, {"patience": -1}, {"learning_rate": 0.0}, {"weight": -1.0}, {"level": "x"}],
    )
    def test_options(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=next(iter(options))):
            Arec(**options)


class TestPlanted:
    def test_finds_the_one_link_that_decides(self) -> None:
        model, some = planted_model(), planted_pairs(20)
        for explanation, pair in zip(Arec(steps=120)(model, model.encode(some)), some, strict=True):
            first, second = (text.split() for text in pair.texts)
            kept = [(first[i], second[j]) for i, j in zip(*np.nonzero(explanation.body.keep), strict=True)]
            assert kept == [(word, word if explanation.target.label == "same" else OPPOSITES[word]) for word, _ in kept]
            assert len(kept) == 1
            assert explanation.checks["same_answer"] == 1
            assert explanation.checks["fidelity"] < 1e-3
