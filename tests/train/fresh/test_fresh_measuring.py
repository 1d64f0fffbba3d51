"""How often classifiers of rationales say what these were made for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from explained import LABELS, deciding, scored
from test_classifier import toy

from rationales.data import Example
from rationales.explanation import Explanation, Target
from rationales.train.fresh import train
from rationales.train.fresh_measuring import places


@pytest.mark.parametrize(
    ("explained", "names", "wanted"),
    [
        (("bad", "good"), ("good", "bad"), {"bad": 1, "good": 0}),
        (("BAD", "Good"), ("good", "bad"), {"BAD": 1, "Good": 0}),
        (("B", "b"), ("b", "B"), {"B": 1, "b": 0}),
        (("LABEL_0", "LABEL_1"), ("neg", "pos"), {"LABEL_0": 0, "LABEL_1": 1}),  # a model that knows no names
        (("LABEL_1", "LABEL_2"), ("neg", "pos"), {"LABEL_1": 1}),
        (("LABEL_0", "LABEL_1"), ("LABEL_1", "LABEL_0"), {"LABEL_0": 1, "LABEL_1": 0}),
        (("LABEL_0", "good"), ("bad", "good"), {"good": 1}),
        (("bad", "good"), ("0", "1"), {"bad": 0, "good": 1}),  # data that only count
        (("LABEL_0", "LABEL_1"), ("0", "1"), {"LABEL_0": 0, "LABEL_1": 1}),
        (("1", "2"), ("0", "1"), {"1": 1}),  # ratings are names
        (("LABEL_0", "LABEL_1"), ("1", "2"), {}),
        (("bad", "good"), ("1", "2"), {}),
        (("bad", "mixed"), ("bad", "good"), {"bad": 0}),
        (("red", ""), ("bad", "good"), {}),
    ],
)
def test_what_is_explained_is_found_among_the_classes_of_the_data(
    explained: tuple[str, ...], names: tuple[str, ...], wanted: dict[str, int]
) -> None:
    assert places([Target(index, label) for index, label in enumerate(explained)], names) == wanted


def test_a_rationale_can_spell_out_what_it_was_made_for(config: Any) -> None:
    """The first word says which class is explained, which is no better than a guess: macro-F1 is that of the guess."""

    def told(examples: list[Example]) -> tuple[list[Example], list[Explanation]]:
        said = [place // 2 % 2 for place in range(len(examples))]
        texts = [("good" if one else "bad", *each.texts[0].split()) for one, each in zip(said, examples, strict=True)]
        examples = [replace(each, texts=(" ".join(some),)) for each, some in zip(examples, texts, strict=True)]
        return examples, [
            scored(each.texts, [1.0, *[0.0] * (len(some) - 1)], id=each.id, target=Target(one, LABELS[one], 0.9))
            for each, some, one in zip(examples, texts, said, strict=True)
        ]

    parts = [toy(size, seed=seed) for seed, size in enumerate((160, 40, 40))]
    data, saved = zip(*map(told, parts), strict=True)
    # the labels of training texts are what is explained, so that this is what is learned
    training = [replace(each, label=made.target.index) for each, made in zip(data[0], saved[0], strict=True)]
    usual = config(epochs=4, ratio=0.1, seeds=(1,))
    found = train(usual, training, data[1], {"far": data[2]}, explanations=chain(*saved), labels=LABELS)
    assert {split: figures.mean for split, figures in found.agreement.items()} == {"dev": 1.0, "far": 1.0}
    assert found.tests["far"].mean < 0.75
    summary = json.loads((found.out / "fresh.json").read_text())
    assert summary["agreement"]["far"] == {"seeds": {"1": 1.0}, "mean": 1.0, "std": None}


def test_agreement_is_told_where_classes_are_called_otherwise(config: Any) -> None:
    """And where that cannot be, it is said why, once."""
    data = toy(16), toy(8, seed=1), {"near": toy(6, seed=2), "far": toy(4, seed=3)}
    wrong = {"1-0", "1-3", "1-5"}  # so that agreement is not accuracy
    heard: dict[tuple[str, str], list[str]] = {}
    found = {}
    for names in (LABELS, ("NEGATIVE", "Positive"), ("LABEL_0", "LABEL_1"), ("red", "blue")):
        heard[names] = []
        saved = []
        for each in chain(data[0], data[1], *data[2].values()):
            index = each.label ^ (each.id in wrong)
            saved.append(deciding(each, target=Target(index, names[index], 0.9)))
        options = {"explanations": saved, "labels": LABELS, "tell": heard[names].append}
        found[names] = train(config(seeds=(1,)), *data, **options).agreement
    usual = found.pop(LABELS)
    assert usual.keys() == {"dev", "near", "far"}
    assert found.pop(("red", "blue")) == {}
    assert [some == usual for some in found.values()] == [True, True]
    told = "agreement is left out of dev, near, far: the class that is explained, such as 'blue', is none of the data's"
    assert [line for line in heard.pop(("red", "blue")) if "agreement" in line] == [f"{told} (negative, positive)"]
    assert not any("agreement" in line for lines in heard.values() for line in lines)
