from __future__ import annotations

import numpy as np
import pytest
import torch
from games import gradients, new_game, same_lesson, task, view_of
from torch.nn.functional import cross_entropy

from rationales.errors import InputError
from rationales.train.rationalizers import inv_rat
from rationales.train.rationalizers.inv_rat import principal_words


def unequal(**options: object) -> inv_rat.InvRat:
    """A game whose further predictor is right for sure, so that the selection looks unequal."""
    game = new_game("inv_rat", **options).eval()
    assert isinstance(game, inv_rat.InvRat)
    with torch.no_grad():
        for name, value in game.aware.predictor.head.named_parameters():
            value.copy_(torch.tensor([2.0, -2.0]) if "bias" in name else 0.01 * value)
    return game


def test_the_loss_is_that_of_its_equation() -> None:
    game = unequal(invariance_weight=2.0)
    view = view_of(game)._replace(targets=torch.zeros(10, dtype=torch.long))
    draw = game.draw(view)
    keep, shown = view.batch.keep, draw.hard.unsqueeze(-1)
    marks = torch.stack([game.aware.marks.weight[number] for number in game.environment(view.batch)])
    agnostic = cross_entropy(game.networks.predictor(view.embeddings * shown, keep), view.targets)
    aware = cross_entropy(game.aware.predictor((view.embeddings + marks[:, None]) * shown, keep), view.targets)
    assert agnostic > aware
    wanted = 0.9 * agnostic + 2.0 * (agnostic - aware) + aware + game.regularised(view, draw)
    assert float(game.loss(view, draw).detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_without_its_weight_the_players_learn_what_rnp_teaches() -> None:
    assert same_lesson(new_game("inv_rat", invariance_weight=0.0), new_game("rnp"))


def test_only_the_selector_learns_that_the_selection_is_unequal() -> None:
    lessons = []
    for weight in (0.0, 9.0):
        game = unequal(invariance_weight=weight)
        view = view_of(game)._replace(targets=torch.zeros(10, dtype=torch.long))
        torch.manual_seed(1)
        lessons.append(gradients(game, game.loss(view, game.draw(view))))
    none, much = lessons
    assert any(name.startswith("aware.marks") for name in none)
    changed = {name for name in much if not torch.allclose(none[name], much[name], atol=1e-7)}
    assert changed
    assert all(name.startswith("networks.selector.") for name in changed)


def test_the_environments_are_halves_of_the_training_texts_whatever_their_padding() -> None:
    game = new_game("inv_rat")
    assert isinstance(game, inv_rat.InvRat)
    together = game.environment(game.model.encode(task().train.examples))
    assert int(together.sum()) == len(together) // 2
    alone = [int(game.environment(game.model.encode([example]))) for example in task().train.examples]
    assert together.tolist() == alone


def test_words_of_a_topic_are_told_from_words_of_another() -> None:
    first, second = [1, 2, 3, 7, 0], [4, 5, 6, 7, 7]
    ids = torch.tensor([first, first[::-1], second, second])
    content = ids > 0
    words = principal_words(ids, content, 9)
    assert len({bool(value > 0) for value in words[1:4]}) == 1
    assert len({bool(value > 0) for value in words[[1, 4]]}) == 2
    assert words[8] == 0  # never seen


def test_the_component_is_the_principal_one() -> None:
    torch.manual_seed(0)
    ids = torch.randint(1, 12, (40, 20))
    ids[:20, :6] = ids[:20, :6] % 3 + 1
    content = torch.rand(ids.shape) < 0.9
    words = principal_words(ids, content, 12).numpy()
    counts = np.stack([np.bincount(row[keep], minlength=12) for row, keep in zip(ids, content, strict=True)])
    rarity = np.log(counts.sum() / np.maximum(counts.sum(0), 1)) * (counts.sum(0) > 0)
    features = counts / counts.sum(1, keepdims=True) * rarity
    _, _, directions = np.linalg.svd(features - features.mean(0))
    cosine = words @ (rarity * directions[0]) / np.linalg.norm(words) / np.linalg.norm(rarity * directions[0])
    assert abs(cosine) > 0.99


def test_options_must_make_sense() -> None:
    with pytest.raises(InputError, match="invariance_weight"):
        inv_rat.Config(invariance_weight=-1.0)
