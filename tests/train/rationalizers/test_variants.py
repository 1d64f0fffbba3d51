"""What every variant must be able to do: play, be played many times at once, be perturbed, be saved and explain."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from games import SMALL, gradients, new_game, step, view_of
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from transformers import AutoModel

from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import QualityWarning
from rationales.models.rationalizer import Draw, Rationalizer, TransformerEncoder
from rationales.models.rationalizer.encoders import BiGru
from rationales.registry import options_of, summary
from rationales.train.rationalizers import rationalizers, train
from rationales.train.rationalizers.game import Game, View
from tiny import classifier

every_variant = pytest.mark.parametrize("method", list(rationalizers))
AFTER = [method for method in rationalizers if rationalizers[method].Config().architecture((0.5, 0.5)).get("post_hoc")]
SELECTING = [method for method in rationalizers if method not in AFTER]
"""Those that select before they predict, not after it."""


@pytest.mark.parametrize(
    ("method", "perturb"), [*((each, 0.0) for each in rationalizers), *((each, 0.3) for each in SELECTING)]
)
def test_many_runs_are_played_at_once(method: str, perturb: float) -> None:
    games = [new_game(method, perturb=perturb) for _ in range(2)]
    for module in games[0].modules():
        if isinstance(module, BiGru):
            module.stackable = True
    view = view_of(games[0])
    weights, buffers = stack_module_state(games)  # type: ignore[arg-type]

    def loss(own: dict[str, Tensor], numbers: dict[str, Tensor]) -> Tensor:
        played: Tensor = functional_call(games[0], (own, numbers), (view.batch, view.targets)).loss
        return played

    torch.manual_seed(0)
    found = vmap(grad(loss), randomness="different")(weights, buffers)
    alone = gradients(games[1], step(games[1])).keys()
    assert alone <= found.keys()
    for name in alone:
        assert found[name].isfinite().all(), name
        assert found[name].any(), name
    assert any(not torch.equal(*grads) for grads in found.values())  # like weights, unlike chance


@pytest.mark.parametrize("method", SELECTING)
def test_the_predictor_is_shown_the_vicinity(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = new_game(method, perturb=0.3).eval()
    plain = step(game)

    def opposite(view: View, draw: Draw) -> Draw:
        return draw.replaced(view.batch.content & ~draw.hard)

    monkeypatch.setattr(game, "vicinity", opposite)
    assert not torch.equal(step(game), plain)


@every_variant
def test_all_that_can_learn_does(method: str) -> None:
    game = new_game(method)
    learning = {name for name, parameter in game.named_parameters() if parameter.requires_grad}
    assert learning <= gradients(game, step(game)).keys()


@every_variant
def test_a_trained_one_is_loaded_and_explains_itself(method: str, tmp_path: Path) -> None:
    config = rationalizers[method].Config(out=tmp_path / "model", **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # one epoch is too few to choose anything
        directory = train(method, config, reviews(16, seed=0), reviews(8, seed=1), labels=REVIEW_LABELS)
    model = Rationalizer.from_pretrained(directory, device="cpu")
    assert model.method == method
    (found,) = model.explain(model.encode([reviews(1, seed=2)[0]]))
    assert found.target.label in REVIEW_LABELS
    assert set(model.networks.state_dict()) == set(new_game(method).networks.state_dict())  # the players, nobody else


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("encoder")
    classifier("bert").save_pretrained(directory)
    return str(directory)


@every_variant
def test_it_is_played_with_an_encoder_of_transformers(method: str, encoder: str) -> None:
    game = new_game(method, encoder=encoder, max_length=64)
    found = gradients(game, step(game))
    assert all(grad.isfinite().all() for grad in found.values())
    pretrained = AutoModel.from_pretrained(encoder).state_dict()
    encoders = [module for module in game.modules() if isinstance(module, TransformerEncoder)]
    for each in encoders:
        assert all(torch.equal(value, pretrained[name]) for name, value in each.encoder.state_dict().items())
        assert each.encoder.get_input_embeddings() is encoders[0].encoder.get_input_embeddings()


@every_variant
def test_its_options_are_told(method: str) -> None:
    game: type[Game] = rationalizers[method]
    assert summary(game.Config).endswith(".")
    assert all(option.help.endswith(".") for option in options_of(game.Config))
    numbers: dict[str, Any] = {option.name: option.default for option in options_of(game.Config)}
    assert all(type(numbers[name]) in (float, int) for name in game.numbers)
