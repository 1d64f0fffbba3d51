from __future__ import annotations

import numpy as np
import pytest
import torch
from games import SMALL, gradients, new_game, step

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError
from rationales.models.rationalizer import Rationalizer
from rationales.models.rationalizer.networks import Adjusted
from rationales.train.rationalizers import inter_rat, train


@pytest.mark.parametrize("mapped", [True, False])
def test_a_layer_is_adjusted_as_its_equation_says(mapped: bool) -> None:
    torch.manual_seed(0)
    priors = (0.2, 0.5, 0.3)
    layer = Adjusted(torch.nn.Parameter(torch.empty(3, 6)), priors, 2, mapped=mapped).double()
    states = torch.randn(4, 5, 6, dtype=torch.float64)
    prototypes = layer.prototypes.detach().numpy()
    keys = layer.mapping(layer.prototypes).detach().numpy() if mapped else prototypes
    weight, bias = (value.detach().numpy() for value in (layer.layer.weight, layer.layer.bias))
    found = layer(states).detach().numpy()
    for place in np.ndindex(4, 5):
        state = states[place].numpy()
        likely = np.exp(keys @ state) / np.exp(keys @ state).sum()
        seen = sum(prior * a * c for prior, a, c in zip(np.float32(priors), likely, prototypes, strict=True))
        assert found[place] == pytest.approx(weight @ np.concatenate([state, seen]) + bias)


def test_the_players_share_the_prototypes_and_both_learn_them() -> None:
    game = new_game("inter_rat")
    selector, predictor = game.networks.selector.head[-1], game.networks.predictor.head[-1]
    assert selector.prototypes is predictor.prototypes
    assert not torch.equal(selector.prototypes, torch.zeros_like(selector.prototypes))
    learned = gradients(game, step(game))
    assert "networks.selector.head.2.prototypes" in learned
    assert "networks.selector.head.2.mapping.weight" in learned


def test_the_loss_is_that_of_rnp_where_prototypes_say_nothing() -> None:
    adjusted, plain = new_game("inter_rat").eval(), new_game("rnp").eval()
    with torch.no_grad():
        adjusted.networks.selector.head[-1].prototypes.zero_()
        for name, player in (("selector", adjusted.networks.selector), ("predictor", adjusted.networks.predictor)):
            other = getattr(plain.networks, name)
            other.encoder.load_state_dict(player.encoder.state_dict())
            layer = player.head[-1].layer
            other.head[-1].weight.copy_(layer.weight[:, : other.encoder.hidden])
            other.head[-1].bias.copy_(layer.bias)
    assert float(step(adjusted).detach()) == pytest.approx(float(step(plain).detach()), rel=1e-5)


def test_priors_are_those_of_the_data_or_as_given() -> None:
    assert new_game("inter_rat").model.architecture.priors == (0.5, 0.5)
    assert new_game("inter_rat", priors="0.05, 0.95").model.architecture.priors == (0.05, 0.95)


def test_a_saved_one_says_the_same(tmp_path) -> None:
    model = new_game("inter_rat", priors="0.05,0.95").model
    model.networks.eval()
    model.save_pretrained(tmp_path)
    loaded = Rationalizer.from_pretrained(tmp_path, device="cpu")
    assert loaded.architecture == model.architecture
    batch = model.encode(reviews(4, seed=2))
    assert torch.equal(loaded.logits(batch), model.logits(batch))


@pytest.mark.parametrize("priors", ["0.5,0.6", "-1,2", "half,half"])
def test_priors_must_be_shares(priors: str) -> None:
    with pytest.raises(InputError, match="priors must be"):
        inter_rat.Config(priors=priors)


def test_there_is_a_prior_for_each_class(tmp_path) -> None:
    config = inter_rat.Config(out=tmp_path / "m", priors="0.2,0.3,0.5", **SMALL)
    with pytest.raises(InputError, match="there are 2 classes, but priors has 3 numbers"):
        train("inter_rat", config, reviews(8, seed=0), reviews(4, seed=1), labels=REVIEW_LABELS)
