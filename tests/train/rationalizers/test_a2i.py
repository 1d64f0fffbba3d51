from __future__ import annotations

import math

import pytest
import torch
from games import learners, new_game, same_lesson, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import a2i
from rationales.train.rationalizers.a2i import surprise


@pytest.mark.parametrize("instruction", ["hinge", "uniform"])
def test_the_loss_is_that_of_its_equations(instruction: str) -> None:
    game = new_game("a2i", attack_weight=0.7, instruction=instruction).eval()
    view = view_of(game)
    draw = game.draw(view)
    plain = 0.9 * cross_entropy(game.predicted(view, draw.hard), view.targets) + game.regularised(view, draw)
    torch.manual_seed(3)
    attack = game.attack(view)
    logits = game.model.predict(view.embeddings, view.batch, attack.hard)
    for_other = cross_entropy(logits.detach(), 1 - view.targets, reduction="none").tolist()
    if instruction == "hinge":
        lesson = -sum(min(value, math.log(2)) for value in for_other) / len(for_other)
    else:
        lesson = float(cross_entropy(logits.detach(), torch.full_like(logits, 0.5)))
    attacker = 0.9 * sum(for_other) / len(for_other) + game.regularised(view, attack)
    wanted = plain + attacker + 0.7 * 0.9 * lesson
    torch.manual_seed(3)
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_without_instruction_it_is_rnp_beside_which_an_attacker_learns() -> None:
    assert same_lesson(new_game("a2i", attack_weight=0.0), new_game("rnp"))
    assert not same_lesson(new_game("a2i", instruction="uniform"), new_game("rnp"))


def test_only_the_attacker_learns_to_attack_and_only_the_predictor_to_resist() -> None:
    game = new_game("a2i")
    view = view_of(game)
    attack = game.attack(view)
    assert learners(game, game.attacking(view, attack)) == {"attacker"}
    assert learners(game, game.instructing(view, attack)) == {"predictor", "words"}


def test_who_is_not_misled_learns_nothing() -> None:
    game = new_game("a2i").eval()
    view = view_of(game)
    attack = game.attack(view)
    right = game.predicted(view, attack.hard).argmax(-1)
    assert learners(game, game.instructing(view._replace(targets=right), attack)) == set()


def test_the_surprise_is_that_of_all_wrong_classes_together() -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    p = logits.softmax(-1)
    assert surprise(logits, torch.tensor([2, 0])).tolist() == pytest.approx(
        [-math.log(float(p[0, 0] + p[0, 1])), -math.log(2 / 3)]
    )
    assert surprise(torch.tensor([[90.0, 0.0]]), torch.tensor([0])).tolist() == pytest.approx([90.0])


def test_options_must_make_sense() -> None:
    with pytest.raises(InputError, match="attack_weight cannot be negative"):
        a2i.Config(attack_weight=-1.0)
    with pytest.raises(InputError, match="instruction must be hinge or uniform"):
        a2i.Config(instruction="none")
