from __future__ import annotations

import warnings

import pytest
from games import SMALL, learners, new_game, step, view_of
from torch.nn.functional import cross_entropy

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.explainers import Lime
from rationales.explanation.types import Selection
from rationales.explanation.views import top
from rationales.models.rationalizer import Rationalizer
from rationales.train.rationalizers import full_text, train


def test_it_learns_from_the_whole_text() -> None:
    game = new_game("full_text").eval()
    view = view_of(game)
    played = game(view.batch, view.targets)
    wanted = 0.9 * cross_entropy(game.networks.predictor(view.embeddings, view.batch.keep), view.targets)
    assert float(played.loss.detach()) == pytest.approx(float(wanted.detach()), rel=1e-6)
    assert played.share == 1
    assert learners(game, step(game)) == {"predictor", "selector", "words"}  # one encoder, which is the selector's too


def test_lime_explains_a_trained_one(tmp_path) -> None:
    config = full_text.Config(out=tmp_path / "model", **{**SMALL, "epochs": 12})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that everything is chosen is no collapse here
        directory = train("full_text", config, reviews(96, seed=0), reviews(12, seed=1), labels=REVIEW_LABELS)
    model = Rationalizer.from_pretrained(directory, device="cpu")
    batch = model.encode(reviews(2, seed=2))
    assert all(explanation.body.keep.all() for explanation in model.explain(batch))
    for explanation in Lime(samples=64)(model, batch):
        best = top(explanation, fraction=0.15)
        assert isinstance(best.body, Selection)
        assert 0.1 < best.body.keep.mean() < 0.3
