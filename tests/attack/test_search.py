"""The search, on models whose answers can be worked out by hand."""

from __future__ import annotations

import math

import pytest
from by_words import ByWords

import tiny
from rationales.attack import Search, attack, candidates
from rationales.data import Example
from rationales.errors import InputError, UnknownName

CONTRACTIONS = Search(edits=("contractions",))


def one(model, text, search=CONTRACTIONS, label="good"):
    texts = (text,) if isinstance(text, str) else text
    (outcome,) = attack(model, [Example("x", texts, label)], search).outcomes[model.name]
    return outcome


def test_the_edit_that_lowers_the_true_class_most_is_kept_until_the_answer_turns():
    model = ByWords({"It's": 3.0, "don't": 2.0, "won't": 1.0, "fine": -1.5})
    outcome = one(model, "It's fine we don't so we won't")
    assert outcome.status == "flipped"
    assert [edit.changes[0].old for edit in outcome.edits] == ["It's", "don't"]
    assert outcome.attacked == ("It is fine we do not so we won't",)
    assert (outcome.predicted, outcome.predicted_after) == ("good", "bad")
    assert outcome.probability == pytest.approx(1 / (1 + math.exp(-4.5)))
    assert outcome.probability_after == pytest.approx(1 / (1 + math.exp(0.5)))
    assert (outcome.words_changed, outcome.words) == (2, 7)
    assert outcome.queries == 1 + 3 + 2
    assert len(model.asked) == 6


def test_it_stops_where_nothing_lowers_the_true_class():
    model = ByWords({"It's": 2.0, "It": 3.0, "don't": 1.0, "fine": 1.0})
    outcome = one(model, "It's fine I don't")
    assert outcome.status == "survived"
    assert outcome.attacked == ("It's fine I do not",)
    assert outcome.queries == 1 + 2 + 1


def test_it_stops_at_the_limit_of_edits():
    model = ByWords({"It's": 1.0, "don't": 2.0, "won't": 3.0, "fine": 9.0})
    text = "It's fine we don't so we won't"
    for most, left, queries in (
        (1, "It's fine we don't so we will not", 4),
        (2, "It's fine we do not so we will not", 6),
    ):
        outcome = one(model, text, Search(edits=("contractions",), max_edits=most))
        assert outcome.status == "survived"
        assert outcome.attacked == (left,)
        assert outcome.queries == queries
    anything = one(model, text, Search(edits=("contractions",), max_edits=0))
    assert anything.attacked == ("It is fine we do not so we will not",)


def test_an_edit_that_turns_the_answer_goes_before_one_that_lowers_more():
    model = ByWords({"it's": 2.0, "don't": 1.0, "fine": 1.0}, other={"it": 0.5, "not": 3.5})
    outcome = one(model, "it's fine I don't")
    assert [edit.changes[0].old for edit in outcome.edits] == ["don't"]
    assert outcome.predicted_after == "odd"


def test_names_are_tried_as_drawn_and_none_twice():
    text = "Anna met Peter"
    model = ByWords({"Anna": 1.0, "Peter": 1.0}, bias=1.0)
    search = Search(edits=("names",), alternatives=3)
    outcome = one(model, text, search)
    assert outcome.status == "survived"
    assert outcome.queries == 1 + 6 + 3
    assert {texts[0] for texts in model.asked[1:7]} == {
        text.replace(change.old, change.new)
        for edit in candidates([text], ["names"], most=3)
        for change in edit.changes
    }


def test_both_texts_of_a_pair_change_or_one():
    model = ByWords({"It's": 1.0, "don't": 1.0}, bias=0.5)
    pair = ("It's so", "they don't")
    assert one(model, pair).attacked == ("It is so", "they do not")
    first = one(model, pair, Search(edits=("contractions",), sides="first"))
    assert first.attacked == ("It is so", "they don't")
    assert (first.words_changed, first.words) == (1, 4)


def test_what_the_model_does_not_see_is_not_tried():
    model = ByWords({"It's": -1.0, "fine": 5.0}, max_length=4)
    with pytest.warns(UserWarning, match="1 of 1 texts were longer than 4 tokens"):
        outcome = one(model, "It's fine here I don't I won't")
    assert outcome.status == "survived"
    assert outcome.queries == 2


def test_texts_without_edits_survive_and_wrong_answers_are_left_out():
    model = ByWords({"fine": 1.0, "It's": 1.0, "It": -3.0})
    texts = [("fine", "good"), ("It's fine", "good"), ("bad", "good"), ("It's bad", "bad"), ("fine we don't", "good")]
    examples = [Example(str(number), (text,), label) for number, (text, label) in enumerate(texts)]
    found = attack(model, examples, CONTRACTIONS)
    assert [each.status for each in found.outcomes["by-words"]] == ["no_edits", "flipped", "wrong", "wrong", "survived"]
    wrong = found.outcomes["by-words"][3]
    assert (wrong.queries, wrong.edits, wrong.attacked) == (1, (), ("It's bad",))
    (figures,) = found.figures
    assert (figures.texts, figures.right, figures.flipped, figures.no_edits) == (5, 3, 1, 1)
    assert (figures.accuracy, figures.accuracy_under_attack) == (3 / 5, 2 / 5)
    assert figures.success_rate == 1 / 3
    assert figures.words_changed == pytest.approx((0 + 1 / 2 + 0) / 3)
    assert figures.words_changed_flipped == 1 / 2
    assert figures.words == pytest.approx((1 + 2 + 3) / 3)
    assert figures.queries == pytest.approx((1 + 2 + 2) / 3)


def test_without_a_right_answer_there_is_no_rate():
    (figures,) = attack(ByWords({}), [Example("0", ("fine",), "good")]).figures
    assert (figures.accuracy, figures.accuracy_under_attack) == (0, 0)
    assert math.isnan(figures.success_rate)
    assert math.isnan(figures.queries)


def test_a_model_that_answers_nan_is_wrong_and_its_edits_are_not_kept():
    silent = one(ByWords({"fine": math.nan}), "fine It's")
    assert (silent.status, silent.predicted) == ("wrong", "")
    partly = one(ByWords({"is": math.nan, "fine": 1.0, "don't": 3.0}), "It's fine we don't")
    assert partly.status == "survived"
    assert partly.attacked == ("It's fine we do not",)


TEXTS = (
    "Anna said the food was not good , it 's awful",
    "we do not like Paris",
    "the soup is not bad and the staff is n't slow",
    "they have 42 rooms and I am not friendly",
    "so good",
    "we don't and they don't and it isn't tasty",
)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_many_at_once_are_as_one_by_one(kind):
    model = tiny.classifier(kind, labels=2)
    examples = [Example(f"{text}{label}", (text,), label) for text in TEXTS for label in (0, 1)]
    together = attack(model, examples).outcomes[model.name]
    alone = [attack(model, [example]).outcomes[model.name][0] for example in examples]
    assert {"survived", "wrong", "no_edits"} <= {each.status for each in together}
    for one_of_many, single in zip(together, alone, strict=True):
        for name in ("id", "status", "attacked", "edits", "queries", "predicted_after"):
            assert getattr(one_of_many, name) == getattr(single, name)
        assert one_of_many.probability_after == pytest.approx(single.probability_after, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"edits": ()}, InputError, "one or more of contractions, names, places, numbers"),
        ({"edits": ("name",)}, UnknownName, "no kind of edit is called 'name'"),
        ({"max_edits": -1}, InputError, "max_edits must be at least 1"),
        ({"alternatives": 0}, InputError, "alternatives must be at least 1"),
        ({"sides": "third"}, InputError, "sides is one of both, first, second"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        Search(**options)
