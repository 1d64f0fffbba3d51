"""Whole diagnoses, at a tiny size."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from games import SMALL, task

from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import DataError, InputError
from rationales.train.labels import Part, read_task
from rationales.train.rationalizers import random_selection, rnp, ver
from rationales.train.rationalizers.diagnosis import Diagnosis, Plan, against, diagnose
from rationales.train.rationalizers.stack import stacked

CONFIG = rnp.Config(**{**SMALL, "learning_rate": 0.02}, sparsity=0.2)
PLAN = Plan(seeds=(1, 2), updates=6, every=3, rates=(0.6,), probes=16)
MEASURES = {"sparsity", "precision", "recall", "f1", "accuracy", "entropy", "marked_accuracy", "marked_entropy"}
MEASURES |= {"train_accuracy", "lipschitz", "dev_accuracy"}


@cache
def found() -> tuple[Diagnosis, tuple[tuple[str, int], ...]]:
    told = []
    marked = read_task(reviews(24), reviews(20, seed=2), REVIEW_LABELS).dev
    diagnosis = diagnose(PLAN, task(), marked, CONFIG, tell=lambda what, done: told.append((what, done)))
    return diagnosis, tuple(told)


def test_rnp_and_ver_are_followed() -> None:
    curves = found()[0].curves
    assert [(trace.method, trace.rate, trace.seed) for trace in curves] == [
        ("rnp", 0.0, 1),
        ("rnp", 0.0, 2),
        ("ver", 0.3, 1),
        ("ver", 0.3, 2),
    ]
    for trace in curves:
        assert trace.updates == [3, 6]
        assert trace.measures.keys() == {*MEASURES, "non_overlap", "loss"}
        assert all(len(values) == 2 for values in trace.measures.values())
        for name in MEASURES - {"entropy", "marked_entropy", "lipschitz"} | {"non_overlap"}:
            assert all(0 <= value <= 1 for value in trace.measures[name]), name
    assert curves[0].measures != curves[1].measures


def test_all_rates_are_measured_at_their_best() -> None:
    sweep = found()[0].sweep
    assert [(trace.rate, trace.seed) for trace in sweep] == [
        (rate, seed) for rate in (0.0, 0.3, 0.6) for seed in (1, 2)
    ]
    assert all(trace.measures.keys() == MEASURES and trace.updates[0] in (3, 6) for trace in sweep)


def test_a_selector_learns_against_a_predictor_that_does_not() -> None:
    diagnosis = found()[0]
    assert [trace.seed for trace in diagnosis.predictors] == [trace.seed for trace in diagnosis.selectors] == [1, 2]
    assert all(trace.measures.keys() == {"train_accuracy"} for trace in diagnosis.predictors)
    for trace in diagnosis.selectors:
        assert len(set(trace.measures["marked_entropy"])) == 1  # what it makes of the marks stays what it was
        assert len(set(trace.measures["loss"])) == 2


def test_it_is_told_how_far_it_is() -> None:
    told = found()[1]
    assert sum(done for _, done in told) == PLAN.work == 4 * 6
    assert [what for what, done in told if not done] == [
        "RNP and VER",
        "a predictor on random tokens",
        "a selector against it",
        "a selector against it",
    ]


def test_a_diagnosis_is_plain() -> None:
    plain = found()[0].plain()
    assert set(plain) == {"curves", "sweep", "predictors", "selectors"}
    assert {"method", "rate", "seed", "updates", "f1"} <= plain["sweep"][0].keys()
    assert plain["sweep"][0]["f1"] == found()[0].sweep[0].measures["f1"]


def test_the_held_predictor_does_not_change_and_the_selector_does() -> None:
    first = stacked("random_selection", [(task(), random_selection.Config(**SMALL, seed=1))])
    before = first.present(0).networks.state_dict()
    first.train(3, every=3)
    learned = first.present(0)
    weights = {name: value.clone() for name, value in learned.networks.state_dict().items()}
    for name, value in weights.items():
        players = name.startswith("predictor.") or "vectors" in name  # the words belong to both
        assert torch.equal(value, before[name]) != players, name
    member = replace(first.members[0], config=rnp.Config(**SMALL, seed=1))
    second = against(learned, member, first)
    start = second.present(0).networks.state_dict()
    second.train(3, every=3)
    for name, value in second.present(0).networks.state_dict().items():
        if name.startswith("predictor.") or "vectors" in name:
            assert torch.equal(value, weights[name]), name
        else:
            assert not torch.equal(value, start[name]), name
    assert not second.present(0).architecture.post_hoc


def test_a_run_is_seen_as_it_is_now_and_at_its_best() -> None:
    stack = stacked("ver", [(task(), ver.Config(**SMALL, seed=seed)) for seed in (1, 2)])
    seen = []
    stack.train(4, every=1, report=lambda _: seen.append(stack.present(1).networks.state_dict()))
    assert not torch.equal(seen[0]["predictor.head.1.weight"], seen[1]["predictor.head.1.weight"])
    best = stack.trained(1).networks.state_dict()
    assert torch.equal(best["predictor.head.1.weight"], seen[stack.curves[1].best]["predictor.head.1.weight"])


def test_without_marks_nothing_is_trained() -> None:
    bare = [Example(each.id, each.texts, each.label) for each in reviews(8)]
    told = []
    with pytest.raises(DataError, match="in none of the 8 texts to measure on did people mark words"):
        diagnose(
            PLAN, task(), read_task(reviews(8), bare, REVIEW_LABELS).dev, CONFIG, tell=lambda *said: told.append(said)
        )
    assert not told


def test_numbers_are_no_classes() -> None:
    numbered = [Example(str(number), ("soup",), number + 0.5) for number in range(8)]
    numbers = read_task(numbered, numbered)
    with pytest.raises(InputError, match="tells classes apart"):
        diagnose(PLAN, numbers, Part([], torch.zeros(0)), CONFIG)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": ()}, "different whole numbers from 0 up, got none"),
        ({"seeds": (1, 1)}, "got 1, 1"),
        ({"seeds": (-1,)}, "got -1"),
        ({"rates": (0.1, 1.5)}, "from 0 to 1; got 0.1, 1.5"),
        ({"ver": 0.0}, "ver must be above 0"),
        ({"updates": 0}, "updates must be at least 1, got 0"),
        ({"every": 0}, "every must be at least 1"),
        ({"probes": 0}, "probes must be at least 1"),
        ({"sampling": "best"}, "argmax or gumbel"),
    ],
)
def test_plans_must_make_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Plan(**options)  # type: ignore[arg-type]
