"""Model against model: differences on the same texts, from values that were made up and from a comparison."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rationales import compare
from rationales.comparison import Comparison, Measure
from rationales.data import Example
from rationales.metrics.aggregate import aggregate
from rationales.run.contrasts import beside_the_first, contrasts, other_classes
from rationales.run.ranking import Record
from tiny import classifier, crowd

HIGH, LOW = Measure("comprehensiveness", "high", {}), Measure("sufficiency", "low", {})
TEXTS = np.random.default_rng(0).normal(size=200)  # texts differ far more than models do


def record(model: str, method: str, more: float, *, failure: str = "") -> Record:
    values = {"comprehensiveness": TEXTS + more, "sufficiency": TEXTS + more}
    return Record(model, method, {}, {} if failure else values, failure=failure)


def made(*others: Record):
    methods = [other.method for other in others]
    return {"plain": [record("plain", method, 0.0) for method in methods], "faithful": list(others)}


def test_a_difference_is_paired_and_positive_if_better():
    found = contrasts(made(record("faithful", "attention", 0.01)), [HIGH, LOW])
    assert [(item.metric, item.method, item.one, item.other) for item in found] == [
        ("comprehensiveness", "attention", "plain", "faithful"),
        ("sufficiency", "attention", "plain", "faithful"),
    ]
    assert [item.mean for item in found] == pytest.approx([0.01, -0.01])
    assert found[0].low > 0 > found[1].high  # though either interval of the models holds the other's mean


def test_the_interval_is_that_of_the_differences():
    noise = np.random.default_rng(1).normal(size=len(TEXTS))
    other = record("faithful", "attention", 0.0)
    other.values["comprehensiveness"] = TEXTS + noise
    (found,) = contrasts(made(other), [HIGH], seed=3)
    expected = aggregate(noise, seed=3)
    assert [found.low, found.mean, found.high] == pytest.approx([expected.low, expected.mean, expected.high])


def test_what_one_of_them_could_not_do_is_left_out():
    others = (record("faithful", "attention", 0.1, failure="no attention"), record("faithful", "gradient", 0.1))
    assert [item.method for item in contrasts(made(*others), [HIGH])] == ["gradient"]


def test_one_model_has_nothing_beside_it():
    assert contrasts({"plain": [record("plain", "attention", 0.0)]}, [HIGH]) == ()


def test_the_sentences_say_what_is_better_worse_and_neither():
    noise = np.random.default_rng(1).normal(size=len(TEXTS))
    same = record("faithful", "random", 0.0)
    same.values = {metric: TEXTS + noise - noise.mean() for metric in same.values}
    better, worse = record("faithful", "attention", 0.12), record("faithful", "gradient", -0.05)
    worse.values["comprehensiveness"][:150] = np.nan
    found = contrasts(made(better, worse, same), [LOW, HIGH])
    assert beside_the_first(found, "faithful", "comprehensiveness", len(TEXTS)) == [
        "Beside `plain`, by comprehensiveness on the same texts: clearly better for `attention` (+0.120); "
        "clearly worse for `gradient` (-0.050 on 50 of 200 texts); within noise for `random`.",
        "By sufficiency: clearly better for `gradient` (+0.050); clearly worse for `attention` (-0.120).",
    ]
    assert beside_the_first(found, "plain", "comprehensiveness", len(TEXTS)) == []


def test_of_one_text_there_is_no_interval_and_no_sentence():
    other = record("faithful", "attention", 0.1)
    other.values["comprehensiveness"][1:] = np.nan
    (found,) = contrasts(made(other), [HIGH])
    assert (found.count, found.mean) == (1, pytest.approx(0.1))
    assert beside_the_first([found], "faithful", "comprehensiveness", len(TEXTS)) == []


def test_models_that_predict_other_classes_explain_others():
    predicted = {"plain": ["a"] * 10, "faithful": ["a"] * 9 + ["b"], "other": ["a"] * 8 + ["b"] * 2}
    assert other_classes(predicted, "plain") == other_classes(predicted, "faithful") == ""
    assert other_classes(predicted, "other") == (
        "On 2 of 10 texts it predicts, and so explains, another class than `plain`; a fixed target (--target) leaves "
        "that out."
    )


def test_a_comparison_says_it_and_keeps_it(tmp_path):
    texts = [Example(str(place), (f"the {food} was good ,",)) for place, food in enumerate(("soup", "pasta", "food"))]
    models = {"one": classifier("bert", seed=0), "two": classifier("bert", seed=1)}
    found = compare(models, texts, ["gradient"], ["comprehensiveness", "sufficiency"], out=tmp_path / "c").summary
    assert {(item.method, item.metric) for item in found.contrasts} == {
        (method, measure.name) for method in ("gradient", "random") for measure in found.measures
    }
    means = {(item.model, item.method): item.figures["comprehensiveness"].mean for item in found.standings}
    first = next(item for item in found.contrasts if (item.method, item.metric) == ("gradient", "comprehensiveness"))
    assert first.mean == pytest.approx(means["two", "gradient"] - means["one", "gradient"])
    assert "Beside `one`, by comprehensiveness" in found.advice["two"]
    assert "Beside" not in found.advice["one"]
    assert Comparison.load(tmp_path / "c").summary.contrasts == found.contrasts


def test_a_comparison_says_where_other_classes_are_explained():
    texts = [Example(str(place), (f"the {food} was good ,",)) for place, food in enumerate(("soup", "pasta", "food"))]
    own = classifier("bert", labels=2)
    turned = classifier("bert", labels=2)
    with torch.no_grad():
        for parameter in turned.model.classifier.parameters():
            parameter.neg_()
    models = {"one": own, "two": turned}
    advice = compare(models, texts, ["gradient"], ["comprehensiveness"]).summary.advice
    assert "On 3 of 3 texts it predicts, and so explains, another class than `one`" in advice["two"]
    assert "another class" not in advice["one"]
    fixed = compare(models, texts, ["gradient"], ["comprehensiveness"], target=1).summary.advice
    assert "another class" not in fixed["two"]


def test_the_seed_of_a_comparison_is_that_of_its_intervals():
    models = {"one": classifier("bert", seed=0), "two": classifier("bert", seed=1)}
    found = [compare(models, crowd(), ["gradient"], ["sufficiency"], seed=seed).summary.contrasts for seed in (0, 1, 1)]
    assert found[0] != found[1] == found[2]


def test_the_same_model_twice_is_no_better(tmp_path):
    texts = [Example(str(place), (f"the {food} was good ,",)) for place, food in enumerate(("soup", "pasta", "food"))]
    own = classifier("bert")
    found = compare({"one": own, "two": own}, [*texts, replace(texts[0], id="again")], ["gradient"]).summary
    assert {(item.mean, item.low, item.high) for item in found.contrasts} == {(0.0, 0.0, 0.0)}
    assert "clearly" not in found.advice["two"].partition("Beside")[2]
