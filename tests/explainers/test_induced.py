"""From scores to kept links: against adding one link at a time."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from one_pair import KINDS, SOME, Pair, exact, weights
from torch import Tensor

from rationales.data.example import Example
from rationales.explainers import LinkGradient, LinkLeaveOneOut, LinkRandom
from rationales.explainers.alignment import cells
from rationales.explainers.induced import induced

every = pytest.mark.parametrize("kind", KINDS)


def prefixes(scores: np.ndarray) -> list[np.ndarray]:
    """No link, the strongest one, the strongest two …; equals as they stand in the table."""
    keep, found = np.zeros(scores.shape), [np.zeros(scores.shape)]
    for cell in sorted(np.ndindex(scores.shape), key=lambda cell: -scores[cell]):
        keep[cell] = 1
        found.append(keep.copy())
    return found


def first_near(pair: Pair, scores: np.ndarray, threshold: float) -> np.ndarray:
    return next(keep for keep in prefixes(scores) if pair.distance(keep) <= threshold).astype(bool)


def scored(model: Any, levels: int) -> tuple[Any, Tensor]:
    """A batch, and random weights of so many levels: few give ties. Padding has the largest."""
    batch = model.encode(SOME)
    there = cells(batch)
    drawn = torch.randint(levels, there.shape, generator=torch.Generator().manual_seed(1)).double()
    return batch, torch.where(there, drawn, 1e6)


@cache
def one_at_a_time(kind: str, levels: int) -> list[tuple[list[np.ndarray], list[float]]]:
    """The prefixes of each pair, and how far the logits are from the answer's with each of them."""
    model, found = exact(kind), []
    for example, scores in zip(SOME, scored(model, levels)[1].numpy(), strict=True):
        pair = Pair(model, example)
        own = prefixes(scores[: pair.shape[0], : pair.shape[1]])
        found.append((own, [pair.distance(keep) for keep in own]))
    return found


def check(kind: str, levels: int, thresholds: list[float], budget: int = 2048) -> None:
    """Each pair keeps the first prefix that comes so near, and nothing of the padding."""
    model = exact(kind, budget=budget)
    batch, scores = scored(model, levels)
    found = induced(model, batch, scores, torch.tensor(thresholds)).numpy()
    for keep, (own, distances), threshold in zip(found, one_at_a_time(kind, levels), thresholds, strict=True):
        wanted = next(each for each, distance in zip(own, distances, strict=True) if distance <= threshold)
        first, second = wanted.shape
        assert np.array_equal(keep[:first, :second], wanted)
        assert keep.sum() == wanted.sum()


@every
@pytest.mark.parametrize("levels", [1000, 3])
@pytest.mark.parametrize("budget", [100, 10**6])
def test_is_adding_one_link_at_a_time(kind: str, levels: int, budget: int) -> None:
    """In blocks of eight, and all at once."""
    for share in (0.9, 0.4, 0.01):
        check(kind, levels, [share * distances[0] for _, distances in one_at_a_time(kind, levels)], budget)


@every
def test_the_first_time_counts_even_if_more_links_lead_away_again(kind: str) -> None:
    thresholds, rises = [], 0
    for _, distances in one_at_a_time(kind, 1000):
        lows = [now for now, after in pairwise(distances) if now < after]
        thresholds.append(min(lows, default=1.0) + 1e-9)
        rises += bool(lows)
    assert rises
    check(kind, 1000, thresholds)


@every
def test_what_needs_no_link_keeps_none_and_what_needs_all_keeps_all(kind: str) -> None:
    model = exact(kind)
    batch, scores = scored(model, 1000)
    thresholds = torch.tensor([1e6, -1.0, 1e6, -1.0, -1.0])
    found = induced(model, batch, scores, thresholds)
    assert torch.equal(found, cells(batch) & (thresholds < 0)[:, None, None])


def test_a_block_of_which_one_number_is_left() -> None:
    """Of nine links all but the weakest are kept: eight numbers are tried at first, and then one."""
    model, example = exact("da", budget=10), Example("nine", ("so good soup", "rude slow staff"))
    pair = Pair(model, example)
    ones = np.ones(pair.shape)
    scores = np.array([pair.distance(ones - one.reshape(pair.shape)) for one in np.eye(9)]).reshape(pair.shape)
    distances = [pair.distance(keep) for keep in prefixes(scores)]
    assert min(distances[:8]) > distances[8] > 0
    found = induced(model, model.encode([example]), torch.tensor(scores)[None], torch.tensor([distances[8] + 1e-9]))
    assert np.array_equal(found[0].numpy(), prefixes(scores)[8])


def test_scores_that_are_no_numbers_come_last() -> None:
    model = exact("da")
    batch, scores = scored(model, 1000)
    broken = scores.clone()
    broken[0, :2] = torch.nan
    thresholds = torch.full((len(batch),), 0.1)
    found = induced(model, batch, broken, thresholds)
    others = induced(model, batch, scores, thresholds)
    assert torch.equal(found[1:], others[1:])
    pair = Pair(model, SOME[0])
    own = (slice(pair.shape[0]), slice(pair.shape[1]))
    wanted = first_near(pair, broken[0].nan_to_num(-1.0).numpy()[own], 0.1)
    assert np.array_equal(found[0].numpy()[own], wanted)


@every
@pytest.mark.parametrize("method", [LinkLeaveOneOut, LinkGradient, LinkRandom])
def test_methods_keep_links_where_asked(kind: str, method: Any) -> None:
    model = exact(kind)
    plain = method()(model, model.encode(SOME))
    found = method(within=0.2)(model, model.encode(SOME))
    for example, explanation, before in zip(SOME, found, plain, strict=True):
        assert before.body.keep is None
        assert "fidelity" not in before.checks
        assert np.array_equal(weights(explanation), weights(before))
        pair, keep = Pair(model, example), explanation.body.keep
        assert np.array_equal(keep, first_near(pair, weights(before), 0.2))
        assert explanation.checks["fidelity"] == pytest.approx(pair.distance(keep.astype(float)), abs=1e-9)
        assert explanation.checks["fidelity"] <= 0.2
        same = pair.logits(keep.astype(float)).argmax() == pair.target
        assert explanation.checks["same_answer"] == same
