from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from games import new_game, same_lesson, task, view_of

from rationales.errors import InputError
from rationales.train.rationalizers import nir
from rationales.train.rationalizers.nir import document_frequency


def test_a_word_that_says_little_is_the_likeliest_to_be_replaced() -> None:
    game = new_game("nir", noise=0.2)
    texts = [set(game.model.encode([example]).ids[0].tolist()) for example in task().train.examples]
    view = view_of(game)
    hard = torch.rand(view.batch.ids.shape) < 0.4
    hard &= view.batch.content
    risk = game.risk(view.batch.ids, hard)
    for ids, chosen, found in zip(view.batch.ids.tolist(), hard.tolist(), risk.tolist(), strict=True):
        idf = [
            math.log(len(texts) / sum(word in text for text in texts)) if on else 0.0
            for word, on in zip(ids, chosen, strict=True)
        ]
        most = max(value for value, on in zip(idf, chosen, strict=True) if on)
        mean = sum(most - value for value, on in zip(idf, chosen, strict=True) if on) / sum(chosen)
        wanted = [min(1.0, 0.2 * (most - value) / mean) if on else 0.0 for value, on in zip(idf, chosen, strict=True)]
        assert found == pytest.approx(wanted, abs=1e-5)


def test_words_that_say_as_much_are_as_likely_to_be_replaced() -> None:
    game = new_game("nir", noise=0.2)
    ids = view_of(game).batch.ids[:1]
    hard = ids == ids[0, 0]
    assert torch.equal(game.risk(ids, hard), 0.2 * hard)
    assert not game.risk(ids, torch.zeros_like(hard)).any()


def test_the_predictor_reads_other_words_in_place_of_some_that_were_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    game = new_game("nir")
    view = view_of(game, range(24))
    draw = game.draw(view)
    read = []
    predict = game.model.predict
    monkeypatch.setattr(game.model, "predict", lambda *given: read.append(given) or predict(*given))
    for _ in range(20):
        game.predicted(view, draw.through)
    words = game.model.embed(replace(view.batch, ids=game.words.unsqueeze(0)))[0]
    replaced = torch.zeros(())
    for embeddings, _, chosen in read:
        new = (embeddings != view.embeddings).any(-1)
        assert not (new & ~draw.hard).any()
        assert torch.equal(chosen, draw.through)
        assert (embeddings[new].unsqueeze(1) == words).all(-1).any(-1).all()
        replaced = replaced + new.sum()
    assert 0.07 < float(replaced / (20 * draw.hard.sum())) < 0.13


def test_without_noise_it_is_rnp() -> None:
    assert same_lesson(new_game("nir", noise=0.0), new_game("rnp"))
    assert not same_lesson(new_game("nir", noise=1.0), new_game("rnp"))


def test_texts_with_a_word_are_counted_once_and_padding_never() -> None:
    ids = torch.tensor([[3, 1, 3, 0], [1, 2, 0, 0]])
    counted = torch.tensor([[True, True, True, False], [True, True, False, False]])
    assert document_frequency(ids, counted, 5).tolist() == [0, 2, 1, 1, 0]


@pytest.mark.parametrize("noise", [-0.1, 1.1])
def test_noise_is_a_share(noise: float) -> None:
    with pytest.raises(InputError, match="noise must lie between 0 and 1"):
        nir.Config(noise=noise)
