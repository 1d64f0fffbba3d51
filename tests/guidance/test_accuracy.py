"""Accuracy in groups, with labels that deny another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.guidance import accuracy
from rationales.models.pairs import PairClassifier
from tiny import pair_classifier, pairs

NLI = ("entailment", "neutral", "contradiction")
SEED = 3
"""Weights with which links decide."""


def judge(labels: tuple[str, ...] = NLI) -> PairClassifier:
    model = pair_classifier("da", labels=len(labels), seed=SEED)
    return PairClassifier(model.network, model.tokenizer, replace(model.architecture, labels=labels))


def answers(model: PairClassifier, examples: list[Example]) -> list[str]:
    return [model.labels[row] for row in model.logits(model.encode(examples)).argmax(-1).tolist()]


def no_links(example, tokens):
    return np.zeros([sum(token.segment == side for token in tokens) for side in (0, 1)])


def test_shares_and_counts_of_groups():
    model = judge()
    said = answers(model, pairs())
    labels = [said[0], said[1], next(name for name in NLI if name != said[2])]
    groups = ["x", "y", "y"]
    examples = [
        Example(pair.id, pair.texts, label, meta={"kind": group})
        for pair, label, group in zip(pairs(), labels, groups, strict=True)
    ]
    found = accuracy(model, examples, groups="kind")
    wanted: dict[tuple[str, str], list[bool]] = {}
    for group, label, answer in zip(groups, labels, said, strict=True):
        wanted.setdefault((group, label), []).append(label == answer)
    assert dict(found.shares) == {key: sum(right) / len(right) for key, right in wanted.items()}
    assert dict(found.counts) == {key: len(right) for key, right in wanted.items()}
    assert found.average == pytest.approx(np.mean(list(found.shares.values())))


@pytest.mark.parametrize("labels", [NLI, ("Entailment", "not_entailment")])
def test_a_label_that_denies_another_is_any_of_the_rest(labels):
    model = judge(labels)
    for pair, answer in zip(pairs(), answers(model, pairs()), strict=True):
        found = accuracy(model, [Example("0", pair.texts, "non-entailment")])
        assert found.shares == {("", "non-entailment"): float(answer.casefold() != "entailment")}


def test_the_guide_is_used_and_taken_away():
    model = judge()
    model.guide = no_links
    guided = answers(model, pairs())
    model.guide = None
    examples = [Example(pair.id, pair.texts, said) for pair, said in zip(pairs(), guided, strict=True)]
    assert set(accuracy(model, examples, no_links).shares.values()) == {1.0}
    assert model.guide is None
    plain = answers(model, pairs())
    assert plain != guided
    model.guide = no_links  # it is not asked for, so it does not count
    found = accuracy(model, [replace(one, label=said) for one, said in zip(examples, plain, strict=True)])
    assert set(found.shares.values()) == {1.0}
    assert model.guide is no_links


@pytest.mark.parametrize(
    ("example", "options", "message"),
    [
        (Example("0", ("bad", "awful"), "maybe"), {}, "labelled 'maybe', and .* knows entailment"),
        (Example("0", ("bad", "awful")), {}, "labelled None"),
        (Example("0", ("bad", "awful"), 0, meta={"a": 1}), {"groups": "kind"}, "no 'kind' .* it has a"),
    ],
)
def test_examples_that_cannot_be_counted(example, options, message):
    with pytest.raises(InputError, match=message):
        accuracy(judge(), [example], **options)


def test_no_examples():
    with pytest.raises(InputError, match="no examples"):
        accuracy(judge(), [])
