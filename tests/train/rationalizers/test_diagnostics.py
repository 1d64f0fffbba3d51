"""The measures, on hand-made cases."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from games import new_game, task
from torch import Tensor, nn

from rationales.data.example import Example
from rationales.errors import DataError
from rationales.models.rationalizer import Rationalizer
from rationales.train.labels import Part
from rationales.train.rationalizers.diagnostics import (
    judged,
    lipschitz,
    marked_texts,
    match,
    non_overlap,
    selected,
    texts_of,
)

CHOSEN = [[1, 1, 0, 0], [0, 1, 0, 0]]


def masks(*rows: list[int]) -> Tensor:
    return torch.tensor(rows).bool()


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        (CHOSEN, 0.0),
        ([[0, 0, 1, 1], [1, 0, 0, 0]], 1.0),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], (1 / 3 + 0) / 2),
        ([[0, 0, 0, 0], [0, 1, 1, 1]], (1 + 2 / 4) / 2),
    ],
)
def test_non_overlap(other: list[list[int]], wanted: float) -> None:
    assert non_overlap(masks(*CHOSEN), masks(*other)) == pytest.approx(wanted)
    assert non_overlap(masks(*other), masks(*CHOSEN)) == pytest.approx(wanted)


def test_two_empty_choices_are_the_same() -> None:
    nothing = masks([0, 0], [0, 0])
    assert non_overlap(nothing, nothing) == 0


# Models by hand


@pytest.fixture
def model() -> Rationalizer:
    return new_game("rnp").model


def example(text: str, *words: str, asked: bool = True) -> Example:
    spans = tuple((text.index(word), text.index(word) + len(word)) for word in words)
    return Example(text, (text,), 0, rationale=(spans,) if asked else None)


def part(*examples: Example, targets: list[int] | None = None) -> Part:
    return Part(list(examples), torch.tensor(targets or [0] * len(examples)))


class Seeing(nn.Module):
    """A predictor that counts what it is shown: the logit of class 1 is the number of tokens minus `needed`."""

    def __init__(self, needed: float) -> None:
        super().__init__()
        self.needed = needed

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor) -> Tensor:
        number = (shown * keep).sum(-1)
        return torch.stack([torch.zeros_like(number), number - self.needed], -1)


class Wanting(nn.Module):
    """A selector whose logits are the same for all tokens."""

    def __init__(self, logit: float) -> None:
        super().__init__()
        self.logit = logit

    def forward(self, embeddings: Tensor, keep: Tensor) -> Tensor:
        wanted = torch.full(keep.shape, self.logit)
        return torch.stack([torch.zeros_like(wanted), wanted], -1)


def test_marks_are_found_in_tokens(model: Rationalizer) -> None:
    texts = texts_of(
        model, part(example("the soup was bland", "soup", "bland"), example("fine", asked=False), example("a b", "a b"))
    )
    assert texts.marked.int().tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]]


def test_only_texts_with_marks_are_measured(model: Rationalizer) -> None:
    given = part(example("fine", asked=False), example("soup"), example("the soup", "soup"), targets=[0, 0, 1])
    texts = marked_texts(model, given)
    assert len(texts) == 1
    assert texts.targets.tolist() == [1]
    assert texts.marked.tolist() == [[False, True]]
    with pytest.raises(DataError, match=r"in none of the 2 texts .* mark words; give data with rationales"):
        marked_texts(model, part(example("fine", asked=False), example("soup")))


def test_marks_that_the_model_does_not_read(model: Rationalizer) -> None:
    short = copy.copy(model)
    short.max_length = 2
    texts = marked_texts(short, part(example("the soup was bland", "bland"), example("the soup was", "soup")))
    assert texts.marked.tolist() == [[False, True]]
    with pytest.raises(DataError, match="behind the first 2 tokens; raise max_length"):
        marked_texts(short, part(example("the soup was bland", "bland")))


def test_a_choice_is_matched_with_the_marks_of_all_texts(model: Rationalizer) -> None:
    texts = texts_of(model, part(example("a b c d", "a", "b"), example("a b c", "c")))
    found = match(texts, masks([1, 0, 1, 0], [0, 1, 1, 0]))
    assert found == pytest.approx((4 / 7, 2 / 4, 2 / 3, 4 / 7))
    assert match(texts, torch.zeros_like(texts.marked)) == (0, 0, 0, 0)
    assert match(texts, texts.marked)[1:] == (1, 1, 1)


def test_a_predictor_is_judged_by_what_it_is_shown(model: Rationalizer) -> None:
    model.networks.predictor = Seeing(1.5)  # type: ignore[assignment]
    texts = texts_of(
        model,
        part(example("a b c d", "a", "b"), example("a b c", "c"), example("a b", "a", "b"), targets=[1, 0, 0]),
    )
    found = judged(model, texts, texts.marked)
    assert found.accuracy == pytest.approx(2 / 3)
    entropies = [math.log(1 + math.exp(-0.5)), math.log(1 + math.exp(-0.5)), math.log(1 + math.exp(0.5))]
    assert found.entropy == pytest.approx(sorted(entropies)[1])
    nothing = judged(model, texts, torch.zeros_like(texts.marked))
    assert nothing.accuracy == pytest.approx(2 / 3)
    assert nothing.entropy == pytest.approx(math.log(1 + math.exp(-1.5)))
    assert judged(model, texts, texts.batch.content).accuracy == pytest.approx(1 / 3)


def test_the_median_of_an_even_number_lies_between(model: Rationalizer) -> None:
    model.networks.predictor = Seeing(0.0)  # type: ignore[assignment]
    texts = texts_of(model, part(example("a", "a"), example("a b c", "a b c"), targets=[1, 1]))
    one, three = (math.log(1 + math.exp(-number)) for number in (1, 3))
    assert judged(model, texts, texts.marked).entropy == pytest.approx((one + three) / 2)


@pytest.mark.parametrize(("logit", "wanted"), [(-0.1, 0.0), (0.1, 1.0)])
def test_the_likelier_choice_is_certain(model: Rationalizer, logit: float, wanted: float) -> None:
    model.networks.selector.forward = Wanting(logit).forward  # type: ignore[method-assign]
    texts = texts_of(model, part(example("a b c d"), example("a")))
    chosen = selected(model, texts)
    assert chosen.sum() == wanted * texts.batch.content.sum()


def test_a_random_choice_follows_the_probabilities_and_its_generator(model: Rationalizer) -> None:
    model.networks.selector.forward = Wanting(math.log(1 / 3)).forward  # type: ignore[method-assign]
    texts = texts_of(model, Part(task().train.examples, task().train.targets))
    one, again, other = (selected(model, texts, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not (one & ~texts.batch.content).any()
    assert float(one.sum() / texts.batch.content.sum()) == pytest.approx(0.25, abs=0.05)
    assert non_overlap(one, other) == pytest.approx(0.75, abs=0.05)


# Steepness


def slopes(model: Rationalizer, text: str, chosen: list[int], target: int) -> Tensor:
    """∂p(target) / ∂x for each token, [T, d], one text at a time and by hand."""
    networks = copy.deepcopy(model.networks).eval()
    batch = model.encode([example(text)])
    seen = networks.selector.encoder.embed(batch.ids).detach() * torch.tensor(chosen)[None, :, None]
    seen.requires_grad_()
    networks.predictor(seen, batch.keep, None).softmax(-1)[0, target].backward()
    assert seen.grad is not None
    return seen.grad[0]


def test_the_steepness_of_one_token_is_its_gradient(model: Rationalizer) -> None:
    texts = texts_of(model, part(example("soup")))
    wanted = slopes(model, "soup", [1], 0)
    assert lipschitz(model, texts, masks([1])) == pytest.approx(float(wanted.norm()), rel=1e-5)


def test_it_is_that_of_the_steepest_text_averaged_over_its_chosen_tokens(model: Rationalizer) -> None:
    texts = texts_of(
        model, part(example("the soup was bland"), example("great food"), example("fine"), targets=[0, 1, 0])
    )
    chosen = masks([0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0])
    first = slopes(model, "the soup was bland", [0, 1, 0, 1], 0)[[1, 3]].mean(0).norm()
    second = slopes(model, "great food", [1, 1], 1).mean(0).norm()
    assert lipschitz(model, texts, chosen) == pytest.approx(float(max(first, second)), rel=1e-5)
    flat = torch.zeros_like(chosen)
    assert lipschitz(model, texts, flat) == 0


def test_the_classes_of_a_pair_are_equally_steep(model: Rationalizer) -> None:
    one, other = (texts_of(model, part(example("great food"), targets=[target])) for target in (0, 1))
    chosen = masks([1, 1])
    assert lipschitz(model, one, chosen) == pytest.approx(lipschitz(model, other, chosen), rel=1e-5)


@pytest.mark.parametrize("measure", [judged, lipschitz])
def test_measuring_leaves_a_model_as_it_was(model: Rationalizer, measure: Callable[..., object]) -> None:
    texts = texts_of(model, part(example("the soup was bland", "bland")))
    before = {name: (some.clone(), some.requires_grad) for name, some in model.networks.named_parameters()}
    measure(model, texts, texts.marked)
    assert model.networks.training
    for name, some in model.networks.named_parameters():
        assert torch.equal(some, before[name][0])
        assert some.requires_grad == before[name][1]
        assert some.grad is None
