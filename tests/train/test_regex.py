"""`rationales train regex`, with a tiny encoder."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from recorded import Again
from test_classifier import toy
from transformers import AutoConfig, AutoModelForSequenceClassification

from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability, QualityWarning
from rationales.models import Batch, Erasure, TransformersClassifier
from rationales.train import classifier as plain
from rationales.train.encoding import EncodedTexts
from rationales.train.labels import read_task
from rationales.train.regex import NUMBERS, RECORDED, STEP, Config, Objective, _has_dropout, train
from rationales.train.regex_terms import divergence
from tiny import classifier, network, tokenizer

NOTHING = {"gradient_weight": 0.0, "adversarial_weight": 0.0, "guidance_weight": 0.0}
ROWS = [0, 1, 2, 3, 4]


def made(kind: str = "bert", pairs: bool = False, **options: object) -> Objective:
    examples = toy(8)
    if pairs:
        examples = [replace(example, texts=(example.texts[0], "the food")) for example in examples]
    return objective_of(classifier(kind, labels=2), examples, **options)


def objective_of(model: TransformersClassifier, examples: list[Example], **options: object) -> Objective:
    task = read_task(examples, examples, ("bad", "good"))
    return Objective(EncodedTexts(model, task.train, "training", warn=False), Config(Path("model"), **options))


def gradients(objective: plain.Objective, seed: int = 0) -> list[torch.Tensor]:
    objective.zero_grad()
    torch.manual_seed(seed)
    objective(ROWS).backward()
    return [parameter.grad.clone() for parameter in objective.parameters() if parameter.grad is not None]


def test_without_its_terms_a_step_is_that_of_the_classifier() -> None:
    regex = made(**NOTHING).train()
    usual = plain.Objective(regex.texts).train()
    for one, other in zip(gradients(regex), gradients(usual), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert", "llama"])
@pytest.mark.parametrize("pairs", [False, True])
def test_every_term_on_any_classifier(kind: str, pairs: bool) -> None:
    objective = made(kind, pairs, ascent_rate=1000.0).train()
    found = gradients(objective)
    assert all(gradient.isfinite().all() for gradient in found)
    assert set(objective.figures()) == {"classification", "gradient", "parameters", "adversarial", "guidance"}
    assert all(value >= 0 for value in objective.figures().values())


@pytest.mark.parametrize("kind", ["deberta", "bart"])
def test_classifiers_whose_attention_cannot_be_read_have_the_other_terms(kind: str) -> None:
    objective = made(kind, guidance_weight=0.0).train()
    found = gradients(objective)
    assert all(gradient.isfinite().all() for gradient in found)
    assert set(objective.figures()) == {"classification", "gradient", "parameters", "adversarial"}
    with pytest.raises(MissingCapability, match=r"attention cannot be guided: .*--guidance-weight 0"):
        made(kind)


@pytest.mark.parametrize(("mask", "how"), [("[MASK]", "mask"), (None, "zero")])
def test_words_are_made_zero_where_there_is_no_mask_token(
    mask: str | None, how: Erasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = deepcopy(tokenizer())
    words.mask_token = mask
    model = TransformersClassifier(network("bert", labels=2), words)
    erase, seen = model.erase, []

    def noted(batch: Batch, drop: torch.Tensor, how: Erasure) -> Batch:
        seen.append(how)
        return erase(batch, drop, how)

    monkeypatch.setattr(model, "erase", noted)
    objective = objective_of(model, toy(8))
    objective(ROWS)
    assert seen == [how]
    assert objective.figures()["guidance"] > 0


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    weights = {"classification": 1.5, "gradient": 0.2, "adversarial": 0.3, "guidance": 0.4}
    objective = made(**{f"{name}_weight": weight for name, weight in weights.items()}, guide_steps=2)
    loss = float(objective(ROWS).detach())
    terms = objective.figures()
    wanted = sum(weight * terms[name] for name, weight in weights.items()) + 0.2 * terms["parameters"]
    assert loss == pytest.approx(wanted, rel=1e-5)
    alone = made(**NOTHING, classification_weight=1.5)
    assert float(alone(ROWS).detach()) == pytest.approx(1.5 * terms["classification"], rel=1e-5)


@pytest.mark.parametrize("site", ["word", "output"])
def test_one_pass_or_two_make_no_difference(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = made(site=site, guide_steps=2)  # in evaluation mode
    apart = gradients(objective)
    monkeypatch.setattr("rationales.train.regex._together", lambda _batch: True)
    for one, other in zip(apart, gradients(objective), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
@pytest.mark.parametrize("guide_every", [1, 2])
def test_recorded_steps_are_those_that_would_have_been_taken(
    kind: str,
    guide_every: int,
    graphs: list[Again],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With padding to a multiple, and weights that change between steps."""
    monkeypatch.setattr("rationales.train.regex.recordable", lambda _device: True)
    found: dict[bool, list[list[torch.Tensor]]] = {}
    for recorded in (True, False):
        options = {"guide_steps": 2, "guide_every": guide_every, "replay": recorded}
        objective = made(kind, adversarial_weight=0.0, **options).train()  # whose start would be drawn for the padding
        for part in objective.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        found[recorded] = []
        for _ in range(5):
            found[recorded].append(gradients(objective))
            with torch.no_grad():
                for parameter in objective.parameters():
                    if parameter.grad is not None:
                        parameter -= 0.1 * parameter.grad
    assert [graph.times for graph in graphs] == ([4] if guide_every == 1 else [2, 1])
    for one, other in zip(found[True], found[False], strict=True):
        for ours, theirs in zip(one, other, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)


def second_step_is_recorded(graphs: list[Again], limit: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr("rationales.train.regex.recordable", lambda _device: True)
    monkeypatch.setattr("rationales.train.regex.RECORDED", limit)
    objective = made(guidance_weight=0.0, adversarial_weight=0.0).train()
    for _ in range(2):
        objective(ROWS)
    return bool(graphs)


def test_batches_are_recorded_up_to_a_number_of_tokens(graphs: list[Again], monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = made().texts.batch(ROWS, multiple=STEP)[0].ids.numel()
    assert not second_step_is_recorded(graphs, tokens - 1, monkeypatch)
    assert second_step_is_recorded(graphs, tokens, monkeypatch)


def test_mixed_precision_is_not_recorded(graphs: list[Again], monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_autocast_enabled("cuda", True)
    try:
        assert not second_step_is_recorded(graphs, RECORDED, monkeypatch)
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert second_step_is_recorded(graphs, RECORDED, monkeypatch)


def test_a_stopped_run_goes_on_in_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guidance in every second batch, of which an epoch has three."""
    data, dev = toy(12), toy(6, seed=1)
    network("bert").base_model.save_pretrained(tmp_path / "encoder")
    tokenizer().save_pretrained(tmp_path / "encoder")
    common = {"encoder": str(tmp_path / "encoder"), "epochs": 2, "batch_size": 4, "guide_every": 2, "guide_steps": 1}
    whole = train(Config(tmp_path / "whole", **common), data, dev)
    resumed = Config(tmp_path / "resumed", **common)
    gathered, calls = plain.gathered, []

    def stopped_in_second_epoch(*arguments: object) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return gathered(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(plain, "gathered", stopped_in_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            train(resumed, data, dev)
    train(resumed, data, dev)
    losses = [json.loads((path / "rationales.json").read_text())["epochs"] for path in (whole, resumed.out)]
    assert [epoch["loss"] for epoch in losses[0]] == [epoch["loss"] for epoch in losses[1]]


@pytest.mark.parametrize("together", [False, True])
def test_each_version_of_a_text_has_its_own_ids(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some models look at ids beside the embeddings."""
    monkeypatch.setattr("rationales.train.regex._together", lambda _batch: together)
    objective = made(guide_steps=2)
    seen: list[torch.Tensor] = []
    plain_logits = objective.model.logits_from

    def logits_from(embeddings: torch.Tensor, batch: Batch) -> torch.Tensor:
        seen.append(batch.ids)
        return plain_logits(embeddings, batch)

    monkeypatch.setattr(objective.model, "logits_from", logits_from)
    objective(ROWS)
    ids = objective.texts.batch(ROWS)[0].ids
    whole, masked, perturbed = torch.cat(seen[-1:] if together else seen[-2:]).split(len(ROWS))
    assert torch.equal(whole, ids)
    assert torch.equal(perturbed, ids)
    changed = masked != ids
    assert changed.any(1).all()
    assert set(masked[changed].tolist()) == {objective.model.tokenizer.mask_token_id}


@pytest.mark.parametrize("site", ["output", "word"])
def test_a_larger_perturbation_moves_the_prediction_further(site: str) -> None:
    moved = []
    for size in (0.0, 0.01, 1.0):
        objective = made(site=site, size=size, gradient_weight=0.0, guidance_weight=0.0)
        torch.manual_seed(0)
        objective(ROWS)
        moved.append(objective.figures()["adversarial"])
    assert moved[0] == pytest.approx(0.0, abs=1e-7)
    assert moved[0] < moved[1] < moved[2]


@pytest.mark.parametrize("site", ["output", "word"])
def test_without_dropout_only_long_steps_turn_the_perturbation(site: str) -> None:
    moved = {}
    for rate in (0.0, 1e-3, 1000.0):
        objective = made(site=site, size=0.1, ascent_rate=rate).eval()
        batch, _ = objective.texts.batch(ROWS)
        torch.manual_seed(0)
        delta = objective.perturbation(batch)
        clean, perturbed = (
            objective.perturbed(batch, objective.model.embed(batch), each) for each in (torch.zeros_like(delta), delta)
        )
        moved[rate] = float(divergence(clean, perturbed).detach())
    assert moved[1e-3] < 5 * moved[0.0]
    assert moved[1000.0] > 20 * moved[0.0]


@pytest.mark.parametrize("kind", ["llama", "modernbert"])
def test_models_without_dropout_are_told_of_short_steps(kind: str) -> None:
    with pytest.warns(QualityWarning, match="has no dropout.*--ascent-rate 1000"):
        made(kind)
    for options in ({"ascent_rate": 1000.0}, {"adversarial_weight": 0.0}):
        made(kind, **options)  # a warning would be an error
    made("bert")


SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 30}


@pytest.mark.parametrize("chance", [0.0, 0.5])
@pytest.mark.parametrize(
    ("kind", "number"),
    [("biogpt", "hidden_dropout_prob"), ("biogpt", "attention_probs_dropout_prob"), ("bloom", "hidden_dropout")],
)
def test_dropout_by_a_number_is_seen_where_two_passes_differ(kind: str, number: str, chance: float) -> None:
    config = AutoConfig.for_model(kind, **SMALL)
    for name in NUMBERS:
        setattr(config, name, chance if name == number else 0.0)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config).train()
    one, other = (model(torch.arange(3, 9)[None]).logits for _ in range(2))
    assert _has_dropout(model) == (chance > 0) == (not torch.equal(one, other))


def test_the_perturbation_leaves_the_other_texts_alone() -> None:
    with_it, without = made(guide_steps=2), made(guide_steps=2, adversarial_weight=0.0)
    torch.manual_seed(0)
    with_it(ROWS)
    without(ROWS)
    for name in ("classification", "gradient", "guidance"):
        assert with_it.figures()[name] == pytest.approx(without.figures()[name], rel=1e-4)


def test_guidance_in_every_other_batch() -> None:
    objective = made(guide_every=2, guide_steps=2, adversarial_weight=0.0).train()
    seen = []
    for _ in range(4):
        objective(ROWS)
        seen.append("guidance" in objective.figures())
    assert seen == [True, False, True, False]


def test_evaluating_is_no_step() -> None:
    objective = made(guide_every=2, guide_steps=1, adversarial_weight=0.0)
    seen = []
    for training in (True, False, False, True, False, True):
        objective.train(training)(ROWS)
        if training:
            seen.append("guidance" in objective.figures())
    assert seen == [True, False, True]
    assert int(objective.steps) == 3


def test_the_model_is_left_as_it_was() -> None:
    objective = made(guide_steps=2).train()
    objective(ROWS)
    assert objective.network.training
    assert all(parameter.requires_grad for parameter in objective.network.parameters())
    assert not objective.network.base_model.embeddings._forward_hooks
    assert objective.network.config._attn_implementation != "rationales_tap"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"masked": 0.0}, "masked must be a share"),
        ({"guide": "lime"}, "guide must be one of integrated_gradients"),
        ({"gradient_weight": -1.0}, "gradient_weight must be a number from 0 up"),
        ({"ascents": 0}, "ascents must be at least 1"),
        ({"site": "nowhere"}, "site must be one of output, word"),
        ({"ascent_rate": float("nan")}, "ascent_rate must be a number from 0 up"),
        ({"start": -1.0}, "start must be a number from 0 up"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
    ],
)
def test_options_must_make_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Config(**options)


def test_models_without_an_embedding_layer_are_told_so() -> None:
    with pytest.raises(InputError, match=r"use site=word \(--site word\)"):
        made("llama", site="output", ascent_rate=1000.0)
    made("llama", site="output", adversarial_weight=0.0)


def test_models_that_pad_texts_themselves_are_told_so() -> None:
    """Longformer, to a multiple of its window: its embedding layer sees other texts than were given."""
    model = classifier("longformer", labels=2)
    objective = objective_of(model, toy(8), site="output", guidance_weight=0.0)
    with pytest.raises(InputError, match=r"LongformerForSequenceClassification pads texts.*use site=word"):
        objective(ROWS)
    objective_of(model, toy(8), site="word", guidance_weight=0.0)(ROWS)


@pytest.mark.parametrize("site", ["output", "word"])
def test_mixed_precision_three_classes_and_empty_texts(site: str) -> None:
    words = ("", "the food was good", "awful , rude waiter", "so good", "", "we hated it")
    examples = [Example(str(number), (text,), number % 3) for number, text in enumerate(words)]
    task = read_task(examples, examples, ("bad", "good", "neither"))
    texts = EncodedTexts(classifier("bert", labels=3), task.train, "training", warn=False)
    objective = Objective(texts, Config(Path("model"), site=site)).train()
    with torch.autocast("cpu", torch.bfloat16):
        found = gradients(objective)
    assert all(gradient.isfinite().all() for gradient in found)
    assert all(value > 0 for name, value in objective.figures().items() if name != "adversarial")
    assert objective.figures()["adversarial"] >= 0


def test_numbers_are_no_classes() -> None:
    numbers = [Example(str(number), ("good food",), number / 3) for number in range(6)]
    model = classifier("bert", labels=1, problem_type="regression")
    texts = EncodedTexts(model, read_task(numbers, numbers, None).train, "training", warn=False)
    with pytest.raises(InputError, match="regex tells classes apart"):
        Objective(texts, Config())


def test_it_trains_saves_and_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network("bert").base_model.save_pretrained(tmp_path / "encoder")
    tokenizer().save_pretrained(tmp_path / "encoder")
    config = Config(
        tmp_path / "model", encoder=str(tmp_path / "encoder"), epochs=2, batch_size=8, learning_rate=1e-3,
        guide_steps=2, max_length=32,
    )  # fmt: skip
    directory = train(config, toy(24), toy(8, seed=1), labels=("bad", "good"))
    with monkeypatch.context() as patch:
        patch.setattr(Objective, "__init__", None)  # so that nothing can be trained
        assert train(config, toy(24), toy(8, seed=1), labels=("bad", "good")) == directory
    model = TransformersClassifier.from_pretrained(directory, device="cpu")
    assert model.labels == ("bad", "good")
