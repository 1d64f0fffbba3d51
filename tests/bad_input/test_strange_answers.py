"""Models that answer NaN or infinity: nothing is predicted where they do, and nobody is told that it is class 0."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
import torch

from rationales import evaluate, explain
from rationales.errors import ModelError, QualityWarning
from rationales.explainers import explainers
from rationales.explanation import Explanations, Scores
from rationales.metrics import metrics
from rationales.report import coloured, plain
from rationales.train.classifier import Config, train
from tiny import TEXTS, classifier, singles, tokenizer

BY_MODEL = sorted(name for name, own in metrics.items() if own.needs == ("model",) and Scores in own.bodies)


def broken(word: str | None = None, *, bias: float = math.nan):
    """A model that cannot read a word, or gives this logit to class 1 of every text."""
    model = classifier("bert")
    with torch.no_grad():
        if word is None:
            model.model.classifier.bias[1] = bias
        else:
            number = tokenizer().convert_tokens_to_ids(word)
            model.model.bert.embeddings.word_embeddings.weight[number] = math.nan
    return model


@pytest.mark.parametrize("method", sorted(explainers))
def test_one_text_that_the_model_cannot_answer_does_not_touch_the_others(method):
    model = broken("awful")  # text 1 is this word
    with pytest.warns(QualityWarning, match=r"answers NaN or infinity to 1 of 5 texts \('1'\); nothing is predicted"):
        found = explain(model, TEXTS, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = explain(model, [text for text in TEXTS if text != "awful"], method)
    silent = found[1]
    assert (silent.target.index, silent.target.label) == (-1, "")
    assert math.isnan(silent.target.score)
    assert np.isnan(silent.body.values).all()
    for ours, theirs in zip([one for one in found if one is not silent], others, strict=True):
        assert ours.target.label == theirs.target.label
        np.testing.assert_allclose(ours.body.values, theirs.body.values, atol=2e-4)
        assert ours.checks.keys() == theirs.checks.keys()


@pytest.mark.parametrize("bias", [math.nan, math.inf])
@pytest.mark.parametrize("method", sorted(explainers))
def test_a_model_that_answers_nothing(method, bias):
    with pytest.warns(QualityWarning, match=r"to 5 of 5 texts \('0', '1', '2', …\)"):
        found = explain(broken(bias=bias), TEXTS, method)
    assert [one.target.index for one in found] == [-1] * 5
    assert all(np.isnan(one.body.values).all() for one in found)


@pytest.mark.parametrize("method", sorted(explainers))
def test_a_class_that_is_ruled_out_is_an_answer(method):
    found = explain(broken(bias=-math.inf), TEXTS, method)
    assert all(one.target.index in (0, 2) for one in found)
    assert all(np.isfinite(one.body.values).all() for one in found)


def test_a_class_that_was_asked_for_stays_it():
    with pytest.warns(QualityWarning, match="NaN or infinity"):
        found = explain(broken("awful"), TEXTS, "gradient", target="LABEL_1")
    assert [one.target.label for one in found] == ["LABEL_1"] * 5
    assert math.isnan(found[1].target.score)


@pytest.mark.parametrize("problem_type", ["regression", "multi_label_classification"])
def test_numbers_and_several_labels_at_once(problem_type):
    labels = 1 if problem_type == "regression" else 3
    model = classifier("bert", labels=labels, problem_type=problem_type)
    with torch.no_grad():
        model.model.classifier.bias[0] = math.nan
    with pytest.warns(QualityWarning, match="to 5 of 5 texts"):
        assert explain(model, TEXTS, "leave_one_out")[0].target.index == -1


@pytest.mark.parametrize("name", BY_MODEL)
def test_metrics_are_undefined_there_and_only_there(name):
    model = broken("awful")
    with pytest.warns(QualityWarning, match="NaN or infinity"):
        found = explain(model, TEXTS, "random")
    [measured] = evaluate(model, found, name)
    assert np.isnan(measured.values).tolist() == [False, True, False, False, False]
    assert (measured.aggregate.count, measured.aggregate.undefined) == (4, 1)


def test_scores_that_only_the_method_cannot_find_are_named():
    model = classifier("bert")
    with torch.no_grad():
        model.model.bert.embeddings.word_embeddings.weight[tokenizer().mask_token_id] = math.nan
    for method in ("leave_one_out", "backselect", "lime", "kernel_shap"):
        with pytest.warns(QualityWarning, match=rf"^{method}: not all scores of 5 of 5 texts \('0', '1', '2', …\) are"):
            found = explain(model, TEXTS, explainers[method](erasure="mask"))
        assert all(one.target.label in model.labels for one in found)
        assert all(np.isnan(one.body.values[one.content]).any() for one in found)


def test_they_can_be_saved_and_shown(tmp_path):
    with pytest.warns(QualityWarning, match="NaN or infinity"):
        found = explain(broken("awful"), TEXTS, "gradient", out=tmp_path / "found.parquet")
    found.to_jsonl(tmp_path / "found.jsonl")
    silent = Explanations.from_jsonl(tmp_path / "found.jsonl")[1]
    assert (silent.target.index, silent.target.label) == (-1, "")
    assert plain(silent).splitlines() == ["[1] no label · gradient", "awful", "  +nan  awful"]
    assert coloured(silent).plain.startswith("[1] no label")


def test_the_command_warns_and_prints_strict_json(call, tmp_path):
    broken("awful").save_pretrained(tmp_path / "model")
    explains = ("explain", "-m", tmp_path / "model", "--method", "gradient", "--json")
    status, out, err = call(*explains, "awful", "good soup")
    assert status == 0
    first, second = (json.loads(line, parse_constant=pytest.fail) for line in out.splitlines())
    assert first["target"] == {"index": -1, "label": "", "score": "NaN"}
    assert second["target"]["label"].startswith("LABEL_")
    assert err.startswith(f"warning: {tmp_path / 'model'} answers NaN or infinity to 1 of 2 texts ('0')")
    assert err.count("\n") == 1


def test_training_that_ends_in_nan_ends_with_an_error(model_directory, tmp_path):
    data = [type(example)(example.id, example.texts, place % 2) for place, example in enumerate(singles())]
    config = Config(out=tmp_path / "out", encoder=str(model_directory), epochs=1, learning_rate=1e38, clip=0, warmup=0)
    with pytest.raises(ModelError, match="answers NaN or infinity to dev texts; use a lower learning_rate"):
        train(config, data, data)
    assert not (tmp_path / "out" / "model.safetensors").exists()
