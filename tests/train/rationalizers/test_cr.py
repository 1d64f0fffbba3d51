from __future__ import annotations

import math

import pytest
import torch
from games import gradients, new_game, same_lesson, step, view_of

from rationales.errors import InputError
from rationales.models.rationalizer import Draw
from rationales.train.rationalizers import cr


def test_the_loss_is_that_of_its_equation_where_every_chosen_token_is_taken_out() -> None:
    game = new_game("cr", necessity_weight=2.0, removals=60).eval()
    view = view_of(game)
    torch.manual_seed(3)
    hard = view.batch.content & (torch.rand(view.batch.ids.shape) < 0.3)
    hard[0] = False  # nothing to take out
    draw = Draw(hard, hard.float())

    def likely(row: int, chosen: torch.Tensor) -> float:
        batch = view.batch
        logits = game.model.predict(view.embeddings[row : row + 1], batch.take(torch.tensor([row])), chosen[None])
        return float(logits.softmax(-1)[0, view.targets[row]].detach())

    lost = []
    for row in range(len(hard)):
        each = []
        for place in hard[row].nonzero().flatten().tolist():
            without = hard[row].clone()
            without[place] = False
            each.append(math.log(1 + max(0.0, likely(row, hard[row]) - likely(row, without))))
        lost.append(sum(each) / len(each) if each else 0.0)
    assert lost[0] == 0
    assert max(lost) > 0
    entropy = -sum(math.log(likely(row, hard[row])) for row in range(len(hard))) / len(hard)
    wanted = 0.9 * entropy + float(game.regularised(view, draw)) - 2.0 * sum(lost) / len(lost)
    assert float(game.loss(view, draw).detach()) == pytest.approx(wanted, rel=1e-4)


def test_without_its_weight_it_is_rnp() -> None:
    free, plain = new_game("cr", necessity_weight=0.0).eval(), new_game("rnp").eval()
    assert torch.equal(step(free), step(plain))
    assert same_lesson(free, plain)
    assert not same_lesson(new_game("cr", necessity_weight=5.0), plain)


def test_both_players_learn_from_it_and_what_is_taken_out_does_not() -> None:
    game = new_game("cr", removals=1).eval()
    view = view_of(game, range(1))
    soft = view.batch.content.float().requires_grad_()
    hard = torch.zeros_like(view.batch.content)
    hard[0, 2] = True
    near = Draw(hard, soft)
    term = game.necessity(view, near, torch.ones(1))  # as if the class were certain with all of them
    (reached,) = torch.autograd.grad(term, soft, retain_graph=True)
    assert reached[0, 2] == 0
    assert reached[0, 3] != 0
    assert any(name.startswith("networks.predictor.") for name in gradients(game, term))


def test_options_must_make_sense() -> None:
    with pytest.raises(InputError, match="necessity_weight"):
        cr.Config(necessity_weight=-1.0)
    with pytest.raises(InputError, match="removals"):
        cr.Config(removals=0)
