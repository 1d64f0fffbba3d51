from __future__ import annotations

import math

import pytest
import torch
from games import learners, new_game, same_lesson, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import a2r
from rationales.train.rationalizers.a2r import jensen_shannon


def test_the_loss_is_that_of_its_equation() -> None:
    game = new_game("a2r", soft_weight=0.7, gap_weight=3.0).eval()
    view = view_of(game)
    draw = game.draw(view)
    hard = game.model.predict(view.embeddings, view.batch, draw.hard)
    weighed = view.embeddings * draw.soft.unsqueeze(-1)
    soft = game.second(weighed, view.batch.keep)
    gap = 0.0
    for p, q in zip(hard.softmax(-1).tolist(), soft.softmax(-1).tolist(), strict=True):
        for a, b in zip(p, q, strict=True):
            gap += (a * math.log(2 * a / (a + b)) + b * math.log(2 * b / (a + b))) / 2
    wanted = (
        0.9 * cross_entropy(hard, view.targets)
        + 0.7 * cross_entropy(soft, view.targets)
        + 3 * gap / len(view.targets)
        + game.regularised(view, draw)
    )
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_without_the_second_predictor_it_is_rnp() -> None:
    assert same_lesson(new_game("a2r", soft_weight=0.0, gap_weight=0.0), new_game("rnp"))
    assert not same_lesson(new_game("a2r", soft_weight=0.0), new_game("rnp"))


def test_everybody_learns_from_the_gap_and_the_predictor_not_from_the_second_one() -> None:
    game = new_game("a2r", label_weight=0.0, sparsity_weight=0.0, continuity_weight=0.0, gap_weight=0.0)
    view = view_of(game)
    assert learners(game, game.loss(view, game.draw(view))) == {"selector", "second", "words"}
    game.gap_weight.fill_(1.0)
    assert learners(game, game.loss(view, game.draw(view))) == {"selector", "predictor", "second", "words"}


def test_the_divergence_is_symmetric_and_bounded() -> None:
    one, other = torch.randn(5, 3), torch.randn(5, 3)
    assert float(jensen_shannon(one, one)) == pytest.approx(0, abs=1e-7)
    assert float(jensen_shannon(one, other)) == pytest.approx(float(jensen_shannon(other, one)))
    sure = torch.tensor([[200.0, -200.0]])
    assert float(jensen_shannon(sure, -sure)) == pytest.approx(math.log(2))


@pytest.mark.parametrize("options", [{"soft_weight": -1.0}, {"gap_weight": -0.1}])
def test_weights_are_not_negative(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="cannot be negative"):
        a2r.Config(**options)
