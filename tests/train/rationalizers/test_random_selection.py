from __future__ import annotations

import pytest
import torch
from games import learners, new_game, step, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import random_selection
from rationales.train.rationalizers.random_selection import drawn_by_chance


@pytest.mark.parametrize(("share", "numbers"), [(0.125, [1, 2, 0]), (0.5, [2, 5, 0]), (1.0, [4, 10, 0])])
def test_so_many_of_each_text_are_drawn_all_alike(share: float, numbers: list[int]) -> None:
    eligible = torch.zeros(3, 12, dtype=torch.bool)
    eligible[0, 2:6] = eligible[1, :10] = True
    torch.manual_seed(0)
    draws = torch.stack([drawn_by_chance(eligible, share) for _ in range(2000)])
    assert (draws.sum(-1) == torch.tensor(numbers)).all()
    assert not (draws & ~eligible).any()
    assert draws.float().mean(0)[1, :10].tolist() == pytest.approx([numbers[1] / 10] * 10, abs=0.05)


def test_the_predictor_learns_from_what_chance_chooses_and_the_selector_does_not() -> None:
    game = new_game("random_selection", sparsity=0.25).eval()
    view = view_of(game)
    torch.manual_seed(3)
    draw = game.draw(view)
    logits = game.model.predict(view.embeddings, view.batch, draw.hard)
    wanted = 0.9 * cross_entropy(logits, view.targets)
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-6)
    assert learners(game, step(game)) == {"predictor", "words"}
    frozen = [name for name, some in game.named_parameters() if not some.requires_grad]
    assert frozen
    assert all(name.startswith("networks.selector.") for name in frozen)
    assert game.networks.predictor.encoder.vectors.weight.requires_grad


def test_options_must_make_sense() -> None:
    with pytest.raises(InputError, match="sparsity must be above 0"):
        random_selection.Config(sparsity=0.0)
    with pytest.raises(InputError, match="leave it at 0"):
        random_selection.Config(perturb=0.3)
