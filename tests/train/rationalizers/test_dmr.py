from __future__ import annotations

import numpy as np
import pytest
import torch
from games import gradients, learners, new_game, same_lesson, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import dmr
from rationales.train.rationalizers.dmr import moment_discrepancy


def discrepancy(one: np.ndarray, other: np.ndarray, moments: int) -> float:
    total = np.sqrt(((one.mean(0) - other.mean(0)) ** 2).sum())
    for order in range(2, moments + 1):
        first, second = (((some - some.mean(0)) ** order).mean(0) for some in (one, other))
        total += np.sqrt(((first - second) ** 2).sum())
    return float(total)


def test_the_loss_is_that_of_its_equation() -> None:
    options = {"output_weight": 0.7, "feature_weight": 2.0, "guide_temperature": 1.5, "moments": 3}
    game = new_game("dmr", **options).eval()
    view = view_of(game)
    draw = game.draw(view)
    predictor, keep = game.networks.predictor, view.batch.keep
    selected = view.embeddings * draw.hard.unsqueeze(-1)
    p = predictor(selected, keep).softmax(-1)
    guide = game.guide(view.embeddings, keep)
    agreement = -((guide / 1.5).softmax(-1) * p.log()).sum(-1).mean()
    states = (predictor.states(some, keep, None).detach().double().numpy() for some in (selected, view.embeddings))
    wanted = (
        -0.9 * p.log().gather(1, view.targets[:, None]).mean()
        + 0.7 * agreement
        + 2.0 * discrepancy(*states, 3)
        + cross_entropy(guide, view.targets)
        + game.regularised(view, draw)
    )
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_without_matching_it_is_rnp_beside_which_a_guide_learns() -> None:
    free = new_game("dmr", output_weight=0.0, feature_weight=0.0)
    assert same_lesson(free, new_game("rnp"))
    for options in ({"output_weight": 0.0}, {"feature_weight": 0.0}):
        assert not same_lesson(new_game("dmr", **options), new_game("rnp"))


def test_the_guide_does_not_learn_from_the_players() -> None:
    lessons = []
    for weight in (0.0, 9.0):
        game = new_game("dmr", output_weight=weight, feature_weight=weight).eval()
        torch.manual_seed(1)
        view = view_of(game)
        lessons.append(gradients(game, game.loss(view, game.draw(view))))
    guide = [name for name in lessons[0] if name.startswith("guide.")]
    assert guide
    assert all(torch.equal(lessons[0][name], lessons[1][name]) for name in guide)


@pytest.mark.parametrize("weight", ["output_weight", "feature_weight"])
def test_both_players_learn_from_matching(weight: str) -> None:
    off = dict.fromkeys(
        ("label_weight", "sparsity_weight", "continuity_weight", "output_weight", "feature_weight"), 0.0
    )
    game = new_game("dmr", **{**off, weight: 1.0})
    view = view_of(game)
    assert learners(game, game.loss(view, game.draw(view))) == {"selector", "predictor", "guide", "words"}


def test_equal_states_have_no_discrepancy_and_finite_gradients() -> None:
    states = torch.randn(6, 4)
    assert float(moment_discrepancy(states, states, 5)) == 0
    one, other = torch.randn(1, 4, requires_grad=True), torch.randn(1, 4)
    moment_discrepancy(one, other, 5).backward()  # one text has no spread
    assert one.grad is not None
    assert one.grad.isfinite().all()


@pytest.mark.parametrize(
    "options", [{"output_weight": -1.0}, {"feature_weight": -1.0}, {"guide_temperature": 0.0}, {"moments": 0}]
)
def test_options_must_make_sense(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        dmr.Config(**options)
