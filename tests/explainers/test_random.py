from __future__ import annotations

import numpy as np
from oracles import explain, scores
from scipy import stats

import tiny
from rationales.explainers import Random


def test_scores_are_standard_normal_and_independent_of_the_model() -> None:
    drawn = np.concatenate(
        [scores(e) for seed in range(20) for e in explain(Random(seed), tiny.classifier(), tiny.crowd())]
    )
    assert len(drawn) > 5_000
    assert stats.kstest(drawn, "norm").pvalue > 0.01
    other = tiny.classifier(seed=1)
    for one, two in zip(explain(Random(), tiny.classifier()), explain(Random(), other), strict=True):
        assert np.array_equal(scores(one), scores(two))


def test_different_texts_draw_different_scores() -> None:
    one, two = explain(
        Random(), tiny.classifier(), [tiny.Example("a", ("good food",)), tiny.Example("b", ("good soup",))]
    )
    assert not np.isclose(scores(one), scores(two)).any()
