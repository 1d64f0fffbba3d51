from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rationales.models.rationalizer.selecting import Draw, gumbel_draw, likelier, most_wanted, perturbed, rank

LENGTHS = torch.tensor([12, 7, 1, 20])
ELIGIBLE = torch.arange(20) < LENGTHS[:, None]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_choice(share: float = 0.4, seed: int = 0) -> Tensor:
    return (torch.rand(ELIGIBLE.shape, generator=seeded(seed)) < share) & ELIGIBLE


class TestGumbelDraw:
    def test_tokens_are_chosen_by_their_probability(self) -> None:
        logits = torch.tensor([[[0.0, 1.5], [2.0, 0.0], [0.3, 0.3]]]).expand(20_000, 3, 2)
        draw = gumbel_draw(logits, torch.ones(20_000, 3, dtype=torch.bool), generator=seeded())
        wanted = logits[0].softmax(-1)[:, 1]
        assert draw.hard.float().mean(0).tolist() == pytest.approx(wanted.tolist(), abs=0.015)

    def test_only_eligible_tokens_are_chosen(self) -> None:
        logits = torch.tensor([-9.0, 9.0]).expand(4, 20, 2)
        draw = gumbel_draw(logits, ELIGIBLE, generator=seeded())
        assert not (draw.hard & ~ELIGIBLE).any()
        assert not draw.soft[~ELIGIBLE].any()
        assert draw.hard[ELIGIBLE].float().mean() > 0.99

    def test_forward_is_zero_or_one_exactly_and_backward_the_soft_choice(self) -> None:
        logits = torch.randn(4, 20, 2, generator=seeded(3), requires_grad=True)
        draw = gumbel_draw(logits, ELIGIBLE, temperature=0.7, generator=seeded())
        assert set(draw.through.unique().tolist()) <= {0.0, 1.0}
        weights = torch.randn(4, 20, generator=seeded(5))
        (through,) = torch.autograd.grad((weights * draw.through).sum(), logits, retain_graph=True)
        (soft,) = torch.autograd.grad((weights * draw.soft).sum(), logits)
        assert torch.equal(through, soft)
        assert through[ELIGIBLE].abs().sum() > 0

    def test_gradients_do_not_depend_on_what_was_exchanged(self) -> None:
        logits = torch.randn(4, 20, 2, generator=seeded(3), requires_grad=True)
        draw = gumbel_draw(logits, ELIGIBLE, generator=seeded())
        other = draw.replaced(perturbed(draw.hard, ELIGIBLE, 0.5, generator=seeded(1)))
        assert not torch.equal(draw.hard, other.hard)
        weights = torch.randn(4, 20, generator=seeded(5))
        slopes = [
            torch.autograd.grad((weights * one.through).sum(), logits, retain_graph=True)[0] for one in (draw, other)
        ]
        assert torch.equal(*slopes)

    def test_without_chance_the_likelier_is_chosen(self) -> None:
        logits = torch.randn(4, 20, 2, generator=seeded(3))
        assert torch.equal(likelier(logits, ELIGIBLE), (logits.argmax(-1) == 1) & ELIGIBLE)


class TestPerturbed:
    @pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
    def test_every_text_keeps_its_number_and_padding_is_never_chosen(self, p: float, share: float) -> None:
        hard = some_choice(share)
        for seed in range(20):
            found = perturbed(hard, ELIGIBLE, p, generator=seeded(seed))
            assert torch.equal(found.sum(-1), hard.sum(-1))
            assert not (found & ~ELIGIBLE).any()

    def test_nothing_changes_at_zero(self) -> None:
        hard = some_choice()
        assert torch.equal(perturbed(hard, ELIGIBLE, 0.0, generator=seeded()), hard)

    def test_nothing_survives_at_one_if_there_are_enough_others(self) -> None:
        hard = some_choice(0.3)
        found = perturbed(hard, ELIGIBLE, 1.0, generator=seeded())
        enough = hard.sum(-1) <= (ELIGIBLE & ~hard).sum(-1)
        assert enough.any()
        assert not (found & hard)[enough].any()

    def test_a_share_p_is_exchanged_on_average_and_all_others_equally_often(self) -> None:
        eligible = torch.ones(4000, 20, dtype=torch.bool)
        hard = torch.zeros_like(eligible)
        hard[:, :5] = True
        found = perturbed(hard, eligible, 0.3, generator=seeded())
        assert found[:, :5].float().mean(0).tolist() == pytest.approx([0.7] * 5, abs=0.03)
        assert found[:, 5:].float().mean(0).tolist() == pytest.approx([0.3 * 5 / 15] * 15, abs=0.03)

    def test_as_the_authors_do_the_number_is_the_mean_of_the_batch(self) -> None:
        hard = torch.zeros(2, 20, dtype=torch.bool)
        hard[0, :8] = True
        eligible = torch.ones_like(hard)
        found = perturbed(hard, eligible, 1.0, count="batch_mean", generator=seeded())
        assert found.sum(-1).tolist() == [4, 4]  # eight switched off in one text of two
        none_left = torch.ones_like(hard)
        assert not perturbed(none_left, eligible, 1.0, count="batch_mean", generator=seeded()).any()
        least = perturbed(torch.zeros_like(hard), eligible, 0.5, count="batch_mean", generator=seeded())
        assert least.sum(-1).tolist() == [1, 1]


def test_a_draw_can_be_shown_and_replaced() -> None:
    draw = Draw(torch.tensor([[True, False]]), torch.tensor([[0.6, 0.2]]))
    assert draw.through.tolist() == [[1.0, 0.0]]
    assert draw.replaced(~draw.hard).through.tolist() == [[0.0, 1.0]]


class TestMostWanted:
    @pytest.mark.parametrize(("share", "numbers"), [(0.15, [2, 2, 1, 3]), (1.0, [12, 7, 1, 20]), (0.0, [0, 0, 0, 0])])
    def test_as_many_as_the_share_says_rounded_up(self, share: float, numbers: list[int]) -> None:
        logits = torch.randn(4, 20, 2, generator=seeded())
        for given in (share, torch.tensor(share)):
            chosen = most_wanted(logits, ELIGIBLE, given)
            assert chosen.sum(-1).tolist() == numbers
            assert not chosen[~ELIGIBLE].any()

    def test_they_are_the_best_and_the_first_of_equals(self) -> None:
        logits = torch.zeros(1, 6, 2)
        logits[0, 4, 0] = -1.0  # wanted, since leaving it out is not
        logits[0, 1, 1] = -1.0
        chosen = most_wanted(logits, torch.tensor([[True] * 5 + [False]]), 0.6)
        assert chosen.tolist() == [[True, False, True, False, True, False]]


def test_places_are_counted_among_the_marked_tokens() -> None:
    values = torch.tensor([[5.0, 3.0, 9.0, 3.0]])
    among = torch.tensor([[True, True, False, True]])
    assert rank(values, among)[among].tolist() == [2, 0, 1]
