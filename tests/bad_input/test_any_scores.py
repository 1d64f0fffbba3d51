"""Property tests: explainers fed with arbitrary text, metrics and views with arbitrary text and arbitrary numbers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from anything import any_explanations, any_keep, any_links, any_score, any_text, bounded
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from rationales import evaluate, explain
from rationales.data import Example
from rationales.errors import InputError, QualityWarning
from rationales.explainers import explainers
from rationales.explanation import Alignment, Explanation, Explanations, Provenance, Scores, Selection, Target
from rationales.explanation.views import above, normalised, top, words
from rationales.metrics import metrics
from rationales.metrics.aggregate import aggregate
from rationales.models import TransformersClassifier
from tiny import classifier, network

CHEAP = {
    "integrated_gradients": {"steps": 2, "max_steps": 2},
    "kernel_shap": {"samples": 30},
    "lime": {"samples": 30},
    "smoothgrad": {"samples": 2},
}
"""So few that the scores are not exact; here it matters only that there are some."""


def letters() -> TransformersClassifier:
    """A model of bytes: characters become several tokens, which share them."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({sign: number for number, sign in enumerate(["<pad>", "<s>", *alphabet])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    own = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", bos_token="<s>", model_max_length=64)
    net = network("bert")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net.set_input_embeddings(torch.nn.Embedding(len(own), 16))
    return TransformersClassifier(net, own)


MODELS = {"words": classifier("bert"), "bytes": letters()}

some_texts = st.lists(st.one_of(any_text, st.tuples(any_text, any_text)), min_size=1, max_size=3)


@pytest.mark.parametrize("kind", sorted(MODELS))
@pytest.mark.parametrize("method", sorted(explainers))
@bounded(6)
@given(some_texts)
def test_every_text_gets_finite_scores_which_do_not_depend_on_its_neighbours(kind, method, texts):
    model, explainer = MODELS[kind], explainers[method](**CHEAP.get(method, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # too few samples or steps
        warnings.filterwarnings("ignore", "1 of 1 texts were longer|. of . texts were longer")
        together = explain(model, texts, explainer)
        for found, given_text in zip(together, texts, strict=True):
            sides = (given_text,) if isinstance(given_text, str) else given_text
            assert found.texts == sides
            assert found.body.values.shape == (len(found.tokens),)
            assert np.isfinite(found.body.values).all()
            for token in found.tokens:
                assert token.special or sides[token.segment][token.start : token.end] == token.text
            [alone] = explain(model, given_text, explainer)
            assert alone.tokens == found.tokens
            assert alone.target.label == found.target.label
            scale = max(1.0, np.abs(found.body.values).max())
            np.testing.assert_allclose(alone.body.values, found.body.values, atol=2e-4 * scale)


@bounded(25)
@given(some_texts)
def test_words_of_any_text_add_up(texts):
    for model in MODELS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = explain(model, texts, "leave_one_out")
        for one in found:
            inside = one.body.values[[not token.special and token.start < token.end for token in one.tokens]]
            assert words(one).body.values.sum() == pytest.approx(inside.sum(), abs=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Metrics and views

BY_MODEL = sorted(name for name, own in metrics.items() if own.needs == ("model",) and Scores in own.bodies)
BY_GOLD = sorted(name for name, own in metrics.items() if "gold" in own.needs and Scores in own.bodies)
BY_OTHER = sorted(name for name, metric in metrics.items() if "other" in metric.needs)


def defined(values: np.ndarray, size: int) -> None:
    """One number each, finite or NaN, so that they can be averaged."""
    assert values.shape == (size,)
    assert not np.isinf(values).any()
    aggregate(values)


@bounded(25)
@given(st.lists(any_explanations(any_score), min_size=1, max_size=3))
def test_metrics_of_any_scores_are_numbers_or_nan(explanations):
    for measured in evaluate(MODELS["words"], explanations, BY_MODEL):
        defined(measured.values, len(explanations))


@bounded(40)
@given(st.lists(st.tuples(any_links(any_score), any_keep), min_size=1, max_size=3))
def test_metrics_of_any_links_are_numbers_or_nan(given_links):
    explanations, gold = zip(*((one, linked_by(one, keep)) for one, keep in given_links), strict=True)
    names = [name for name, own in metrics.items() if own.bodies == (Alignment,)]
    assert len(names) == 8
    for measured in evaluate(MODELS["words"], explanations, names, gold=gold):
        defined(measured.values, len(explanations))


def linked_by(one: Explanation, keep: float) -> Explanation:
    """As if people had linked some of the words."""
    drawn = np.random.default_rng(0).random(one.body.weights.shape) < keep
    return replace(one, body=Alignment(drawn, drawn), provenance=Provenance("human"))


@bounded(40)
@given(st.data(), st.lists(any_explanations(any_score), min_size=1, max_size=3))
def test_agreement_with_anything_is_a_number_or_nan(data, explanations):
    def selected(one: Explanation) -> Explanation:
        keep = data.draw(st.lists(st.booleans(), min_size=len(one.tokens), max_size=len(one.tokens)))
        return Explanation(one.id, one.texts, one.tokens, Target(0, ""), Selection(np.array(keep)), Provenance("human"))

    def scored(one: Explanation) -> Explanation:
        values = data.draw(st.lists(any_score, min_size=len(one.tokens), max_size=len(one.tokens)))
        return one.with_body(type(one.body)(np.array(values)))

    gold = [selected(one) for one in explanations]
    share = {
        name: {"fraction": 0.5} for name in BY_GOLD if any(own.name == "fraction" for own in metrics[name].options)
    }
    for measured in evaluate(None, explanations, BY_GOLD, gold=gold, options=share):
        defined(measured.values, len(explanations))
    for measured in evaluate(None, explanations, BY_OTHER, other=[scored(one) for one in explanations]):
        defined(measured.values, len(explanations))


@bounded(60)
@given(any_explanations(any_score), st.integers(0, 5), any_score)
def test_views_of_anything_are_explanations(explanation, number, threshold):
    best = top(explanation, number).body.keep
    assert best.sum() == min(number, explanation.content.sum())
    assert not (best & ~explanation.content).any()
    assert above(explanation, threshold).body.keep.shape == best.shape
    for how in ("sum", "max"):
        assert normalised(explanation, how).body.values.shape == best.shape
    for pool in ("sum", "mean", "max"):
        assert len(words(explanation, pool).tokens) == explanation.content.sum()


@bounded(30)
@given(st.lists(any_score, max_size=20))
def test_any_numbers_are_averaged_or_refused(values):
    if np.isinf(values).any():
        with pytest.raises(InputError, match="finite numbers or NaN"):
            aggregate(np.array(values))
    else:
        found = aggregate(np.array(values))
        assert found.count + found.undefined == len(values)


def test_many_explanations_of_nothing(tmp_path):
    found = explain(MODELS["words"], [Example(str(number), ("",)) for number in range(70)], "random")
    found.save(tmp_path / "found.parquet")
    assert len(Explanations.load(tmp_path / "found.parquet")) == 70
