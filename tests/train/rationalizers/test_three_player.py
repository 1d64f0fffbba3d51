from __future__ import annotations

import pytest
import torch
from games import gradients, learners, new_game, same_lesson, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import three_player


@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_the_loss_is_that_of_its_equation(margin: float) -> None:
    game = new_game("three_player", complement_weight=2.0, margin=margin).eval()
    view = view_of(game)
    draw = game.draw(view)
    keep = view.batch.keep
    chosen, rest = (view.embeddings * some.unsqueeze(-1) for some in (draw.hard, view.batch.content & ~draw.hard))
    p = cross_entropy(game.networks.predictor(chosen, keep), view.targets)
    left = cross_entropy(game.complement(rest, keep), view.targets)
    wanted = 0.9 * p + 2.0 * max(0.0, float((p - left).detach()) + margin) + left + game.regularised(view, draw)
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_without_its_weight_the_players_learn_what_rnp_teaches() -> None:
    assert same_lesson(new_game("three_player", complement_weight=0.0), new_game("rnp"))
    assert not same_lesson(new_game("three_player", margin=5.0), new_game("rnp"))


def test_only_the_selector_learns_from_what_is_left() -> None:
    lessons = []
    for weight in (0.0, 9.0):
        game = new_game("three_player", complement_weight=weight, margin=5.0).eval()
        torch.manual_seed(1)
        view = view_of(game)
        lessons.append(gradients(game, game.loss(view, game.draw(view))))
    none, much = lessons
    assert none.keys() == much.keys()
    changed = {name for name in none if not torch.allclose(none[name], much[name], atol=1e-7)}
    assert changed
    assert all(name.startswith("networks.selector.") for name in changed)
    assert "complement" in learners(game, game(view.batch, view.targets).loss)


def test_a_selector_that_leaves_nothing_is_not_pushed_further() -> None:
    game = new_game("three_player", margin=0.0).eval()
    view = view_of(game)
    with torch.no_grad():
        for name, value in game.complement.head.named_parameters():
            value.copy_(torch.tensor([-50.0, 50.0]) if "bias" in name else torch.zeros_like(value))  # wrong for class 0
    targets = torch.zeros_like(view.targets)
    torch.manual_seed(1)
    pushed = game(view.batch, targets).loss
    game.complement_weight.zero_()
    torch.manual_seed(1)
    assert torch.equal(pushed, game(view.batch, targets).loss)


def test_options_must_make_sense() -> None:
    with pytest.raises(InputError, match="cannot be negative"):
        three_player.Config(margin=-0.1)
