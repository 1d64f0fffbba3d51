from __future__ import annotations

import math
import warnings

import pytest
import torch
from games import SMALL, learners, new_game, step, view_of
from torch.nn.functional import cross_entropy

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError
from rationales.models.rationalizer import Rationalizer
from rationales.train.rationalizers import attention, train


def test_the_loss_is_that_of_its_equation() -> None:
    game = new_game("attention").eval()
    view = view_of(game)
    loss = game(view.batch, view.targets).loss
    pooled = []
    for row, length in enumerate(view.batch.lengths.tolist()):
        states = game.networks.selector.encoder(
            view.embeddings[None, row, :length], view.batch.keep[None, row, :length]
        )
        logits = game.networks.selector.head(states)[0]
        weights = (logits[:, 1] - logits[:, 0]).exp()
        pooled.append(weights @ states[0] / weights.sum())
    wanted = 0.9 * cross_entropy(game.networks.predictor.head(torch.stack(pooled)), view.targets)
    assert float(loss.detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_all_of_it_learns() -> None:
    game = new_game("attention")
    assert learners(game, step(game)) == {"selector", "predictor", "words"}


@pytest.mark.parametrize("share", [0.15, 0.4, 1.0])
def test_it_selects_the_largest_weights_and_predicts_from_the_whole_text(share: float) -> None:
    model = new_game("attention", sparsity=share).model
    model.networks.eval()
    texts = reviews(6, seed=2)
    batch = model.encode(texts)
    wanted = model.wanted(model.embed(batch), batch)
    scores = wanted[..., 1] - wanted[..., 0]
    everything = model.predict(model.embed(batch), batch, batch.content).softmax(-1)
    for row, explanation in enumerate(model.explain(batch)):
        keep = torch.tensor(explanation.body.keep)
        assert int(keep.sum()) == math.ceil(share * len(keep) - 1e-6)
        own = scores[row, : len(keep)]
        assert share == 1 or own[keep].min() > own[~keep].max()
        assert explanation.target.score == pytest.approx(float(everything[row].max().detach()), abs=1e-6)


def test_a_trained_one_is_loaded_and_selects_its_share(tmp_path) -> None:
    config = attention.Config(out=tmp_path / "model", sparsity=0.3, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a share that is chosen after the fact cannot collapse
        directory = train("attention", config, reviews(16, seed=0), reviews(8, seed=1), labels=REVIEW_LABELS)
    model = Rationalizer.from_pretrained(directory, device="cpu")
    (found,) = model.explain(model.encode(reviews(1, seed=2)))
    assert found.body.keep.sum() == math.ceil(0.3 * len(found.tokens) - 1e-6)


@pytest.mark.parametrize(("options", "message"), [({"perturb": 0.3}, "whole text"), ({"sparsity": 0.0}, "above 0")])
def test_options_must_make_sense(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        attention.Config(**options)
