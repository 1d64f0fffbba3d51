"""REGEX's terms once more, slowly: text by text in float64, from their equations and a BERT of our own."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from test_regex import ROWS, made
from torch import Tensor

from rationales.train.regex import Objective


def exact(**options: object) -> Objective:
    objective = made(**options)
    objective.network.double().eval()
    return objective


def texts_of(objective: Objective) -> Iterator[tuple[int, Tensor, Tensor, int]]:
    """Each text's row, ids, which of these are its own and not special, and its class."""
    batch, targets = objective.texts.batch(ROWS)
    for row in range(len(batch)):
        length = int(batch.keep[row].sum())
        yield row, batch.ids[row, :length], batch.segments[row, :length] >= 0, int(targets[row])


def words_of(objective: Objective, ids: Tensor) -> Tensor:
    return objective.network.bert.embeddings.word_embeddings(ids).detach()


def embedded(objective: Objective, words: Tensor) -> Tensor:
    """What the embedding layer makes of word embeddings [T, d]."""
    layer = objective.network.bert.embeddings
    places, kinds = layer.position_embeddings.weight[: len(words)], layer.token_type_embeddings.weight[0]
    return layer.LayerNorm(words + places + kinds)


def read(objective: Objective, states: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [C] and the first token's attention [T], mean over heads, from the embedding layer's output [T, d]."""
    bert, heads = objective.network.bert, objective.network.config.num_attention_heads
    length, width = states.shape
    for layer in bert.encoder.layer:
        own = layer.attention.self
        query, key, value = (
            linear(states).view(length, heads, width // heads).transpose(0, 1)
            for linear in (own.query, own.key, own.value)
        )
        attention = (query @ key.transpose(-1, -2) / math.sqrt(width // heads)).softmax(-1)
        mixed = (attention @ value).transpose(0, 1).reshape(length, width)
        middle = layer.attention.output.LayerNorm(layer.attention.output.dense(mixed) + states)
        wide = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(middle))
        states = layer.output.LayerNorm(layer.output.dense(wide) + middle)
    logits = objective.network.classifier(torch.tanh(bert.pooler.dense(states[0])))
    return logits, attention.mean(0)[0]


def kl(one: Tensor, other: Tensor) -> float:
    return float((one * (one / other).log()).sum())


@pytest.mark.parametrize("parameters", [False, True])
def test_the_gradient_term(parameters: bool) -> None:
    objective = exact(param_norm=parameters, adversarial_weight=0.0, guidance_weight=0.0)
    objective(ROWS)
    norms = []
    for _, ids, _, target in texts_of(objective):
        words = words_of(objective, ids).requires_grad_()
        error = -read(objective, embedded(objective, words))[0].log_softmax(-1)[target]
        norms.append(float(torch.autograd.grad(error, words)[0].norm()))
    found = objective.figures()
    assert found["gradient"] == pytest.approx(np.mean(norms), rel=1e-9)
    whole = torch.cat([own.detach().flatten() for own in objective.network.parameters()]).norm()
    assert found.get("parameters") == (pytest.approx(float(whole), rel=1e-9) if parameters else None)


@pytest.mark.parametrize("site", ["word", "output"])
@pytest.mark.parametrize(
    ("projection", "size", "epsilon", "rate", "start", "ascents"),
    [
        ("normalize", 1.0, 1e-5, 1e-3, 1e-5, 2),
        ("normalize", 0.25, 1e-2, 10.0, 1e-2, 3),
        ("normalize", 0.5, 1e-5, 1000.0, 1e-5, 1),
        ("ball", 1.0, 0.05, 10.0, 1e-2, 3),
    ],
)
def test_the_adversarial_term(
    site: str, projection: str, size: float, epsilon: float, rate: float, start: float, ascents: int
) -> None:
    objective = exact(
        site=site, projection=projection, size=size, epsilon=epsilon, ascent_rate=rate, start=start, ascents=ascents,
        gradient_weight=0.0, guidance_weight=0.0,
    )  # fmt: skip
    torch.manual_seed(3)
    objective(ROWS)

    batch, _ = objective.texts.batch(ROWS)
    torch.manual_seed(3)
    noise = start * torch.randn(*batch.ids.shape, objective.network.config.hidden_size, dtype=torch.float64)
    words = [words_of(objective, ids) for _, ids, _, _ in texts_of(objective)]
    sites = words if site == "word" else [embedded(objective, each) for each in words]
    magnitude = float(torch.cat(sites).abs().mean().detach())
    bound = epsilon if projection == "ball" else size * magnitude

    def predicted(row: int, delta: Tensor) -> Tensor:
        states = embedded(objective, words[row] + delta) if site == "word" else embedded(objective, words[row]) + delta
        return read(objective, states)[0].softmax(-1)

    distances = []
    for row, ids, _, _ in texts_of(objective):
        delta = noise[row, : len(ids)]
        clean = predicted(row, torch.zeros_like(delta)).detach()
        for _ in range(ascents):
            delta = delta.detach().requires_grad_()
            moved = predicted(row, delta)
            (uphill,) = torch.autograd.grad((moved * (moved / clean).log()).sum(), delta)
            delta = delta.detach() + rate * uphill
            if projection == "ball":
                delta = delta.clamp(-epsilon, epsilon)
            else:
                delta = delta / (delta.abs().amax(-1, keepdim=True) + epsilon) * size * magnitude
            assert float(delta.abs().max()) <= bound
        moved = predicted(row, delta).detach()
        distances.append(kl(moved, clean) + kl(clean, moved))
    assert objective.figures()["adversarial"] == pytest.approx(np.mean(distances), rel=1e-6)
    assert np.mean(distances) > 0


@pytest.mark.parametrize("site", ["word", "output"])
@pytest.mark.parametrize(("projection", "options"), [("normalize", {"size": 0.3}), ("ball", {"epsilon": 0.02})])
def test_what_is_added_keeps_to_its_size(site: str, projection: str, options: dict[str, float]) -> None:
    objective = exact(site=site, projection=projection, ascent_rate=1000.0, **options)
    batch, _ = objective.texts.batch(ROWS)
    delta = objective.perturbation(batch)
    largest = delta.abs().amax(-1)
    if projection == "ball":
        bound = torch.tensor(options["epsilon"], dtype=torch.float64)
    else:
        words = objective.model.embed(batch).detach()
        seen = words if site == "word" else objective.network.bert.embeddings(batch.ids).detach()
        bound = options["size"] * seen[batch.keep].abs().mean()
        torch.testing.assert_close(largest[batch.keep], bound.expand(int(batch.keep.sum())), rtol=0.05, atol=0)
    assert (largest <= bound).all()
    assert (largest[~batch.keep] == 0).all()


def attributed(objective: Objective, ids: Tensor, target: int, guide: str, aggregate: str, steps: int) -> Tensor:
    """What the guide says of each token, [T]."""
    words = words_of(objective, ids)

    def slopes(point: Tensor) -> Tensor:
        point = point.detach().requires_grad_()
        return torch.autograd.grad(read(objective, embedded(objective, point))[0][target], point)[0]

    if guide == "gradient":
        found = slopes(words)
        return found.norm(dim=-1) if aggregate == "l2" else found.abs().mean(-1)
    if guide == "input_x_gradient":
        parts = words * slopes(words)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        parts = sum(
            weight / 2 * words * slopes(words * (node + 1) / 2) for node, weight in zip(nodes, weights, strict=True)
        )
    return parts.norm(dim=-1) if aggregate == "l2" else parts.sum(-1).abs()


def masked_at(objective: Objective, ids: Tensor, own: Tensor, shares: Tensor, share: float) -> Tensor:
    """The text without its least important tokens; `shares` are of its own ones."""
    number = max(1, math.ceil(round(share * int(own.sum()), 6)))
    found = ids.clone()
    found[own.nonzero().flatten()[shares.argsort(stable=True)[:number]]] = objective.model.tokenizer.mask_token_id
    return found


def attention_to(objective: Objective, ids: Tensor, own: Tensor) -> Tensor:
    attention = read(objective, embedded(objective, words_of(objective, ids)))[1][own]
    return attention / attention.sum()


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("masked", [0.15, 0.5])
@pytest.mark.parametrize("guide", ["integrated_gradients", "gradient", "input_x_gradient"])
@pytest.mark.parametrize("aggregate", ["l2", "mean"])
def test_the_guidance_term(direction: str, masked: float, guide: str, aggregate: str) -> None:
    objective = exact(
        guide=guide, aggregate=aggregate, guide_steps=5, masked=masked, direction=direction, adversarial_weight=0.0
    )
    objective(ROWS)
    total = 0.0
    for _, ids, own, target in texts_of(objective):
        wanted = attributed(objective, ids, target, guide, aggregate, steps=5)[own]
        wanted = wanted / wanted.sum()
        for text in (ids, masked_at(objective, ids, own, wanted, masked)):
            given = attention_to(objective, text, own).detach()
            total += kl(wanted, given) if direction == "forward" else kl(given, wanted)
    assert objective.figures()["guidance"] == pytest.approx(total / len(ROWS), rel=1e-8)


def test_guidance_teaches_attention_and_not_its_guide() -> None:
    """The gradient of the term is that with the guide's shares held fast, as numbers."""
    alone = {"adversarial_weight": 0.0, "gradient_weight": 0.0, "classification_weight": 0.0, "guidance_weight": 1.0}
    objective = exact(**alone)

    def slopes() -> list[Tensor]:
        found = [own.grad for own in objective.network.bert.encoder.parameters()]
        objective.zero_grad()
        return [torch.zeros(()) if each is None else each.clone() for each in found]

    objective.zero_grad()
    objective(ROWS).backward()
    ours = slopes()
    total = torch.zeros((), dtype=torch.float64)
    for _, ids, own, target in texts_of(objective):
        steps = objective.config.guide_steps
        wanted = attributed(objective, ids, target, "integrated_gradients", "l2", steps)[own]
        wanted = wanted / wanted.sum()
        for text in (ids, masked_at(objective, ids, own, wanted, objective.config.masked)):
            total = total + (wanted * (wanted / attention_to(objective, text, own)).log()).sum() / len(ROWS)
    total.backward()
    known = slopes()
    assert sum(bool(each.abs().max() > 0) for each in known) > 5
    for one, other in zip(ours, known, strict=True):
        assert float((one - other).abs().max()) < 1e-9 * max(1.0, float(other.abs().max()))
