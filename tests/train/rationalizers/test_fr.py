from __future__ import annotations

from pathlib import Path

import torch
from games import gradients, new_game, step, task, view_of

from rationales.models.rationalizer import Rationalizer


def test_both_players_have_one_encoder_that_learns_from_both() -> None:
    folded, plain = new_game("fr"), new_game("rnp")
    networks = folded.networks
    assert networks.selector.encoder is networks.predictor.encoder
    assert plain.networks.selector.encoder is not plain.networks.predictor.encoder
    folded.eval()
    encoder = {name for name, _ in folded.named_parameters() if ".encoder.rnn." in name}
    view = view_of(folded)
    chosen = folded.model.predict(view.embeddings, view.batch, view.batch.content).sum()
    wanted = folded.model.wanted(view.embeddings, view.batch).sum()
    for part in (chosen, wanted, step(folded)):
        assert encoder <= gradients(folded, part).keys()


def test_the_encoder_is_one_again_when_it_is_loaded(tmp_path: Path) -> None:
    model = new_game("fr").model
    model.save_pretrained(tmp_path)
    again = Rationalizer.from_pretrained(tmp_path, device="cpu")
    assert again.networks.selector.encoder is again.networks.predictor.encoder
    model.networks.eval()
    batch = model.encode(task().dev.examples)
    assert torch.equal(model.logits(batch), again.logits(batch))
