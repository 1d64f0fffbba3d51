"""How often the model of a comparison is right, and what counts as its labels."""

from dataclasses import replace

import numpy as np
import pytest

from rationales import compare
from rationales.data import Dataset, Example
from rationales.data.planted.table import Ready
from rationales.data.tables import Record
from rationales.run.comparing import _answers
from tiny import classifier

FOOD, TASTE = ("soup", "pasta", "food"), ("good", "awful", "bland")


def reviews(number: int = 20) -> list[Example]:
    """More than one part of 16."""
    return [
        Example(str(place), (f"{'so ' * (place % 5)}the {FOOD[place % 3]} was {TASTE[place % 3]} ,",), place % 2)
        for place in range(number)
    ]


@pytest.fixture(scope="module")
def model():
    return classifier("bert")


class Rows:
    """A source that has examples already."""

    def __init__(self, examples: list[Example]) -> None:
        self.examples = examples

    def rows(self, _columns):
        for number, example in enumerate(self.examples):
            yield Record("reviews", number, {"example": example})


def named(examples: list[Example], *names: str) -> Dataset:
    """Examples whose labels are called so."""
    return Dataset("reviews", Rows(examples), Ready(names))


def calling(*names: str):
    """A model whose classes have these names."""
    return classifier("bert", labels=len(names), id2label=dict(enumerate(names)))


def test_how_often_the_model_is_right_is_that_of_its_answers(model):
    done = compare(model, reviews(), [])
    cases = list(done.cases())
    truth, said = [case.label for case in cases], [case.predicted for case in cases]
    (found,) = done.summary.answers.values()
    assert found.count == len(cases) == 20
    assert found.accuracy == pytest.approx(sum(case.right for case in cases) / 20)
    scores = []
    for name in set(truth) | set(said):
        hits = sum(one == other == name for one, other in zip(truth, said, strict=True))
        scores.append(2 * hits / (truth.count(name) + said.count(name)))
    assert found.macro_f1 == pytest.approx(np.mean(scores))


def test_of_texts_without_labels_nothing_is_said_of_answers(model):
    unlabelled = [replace(example, label=None) for example in reviews(3)]
    assert compare(model, unlabelled, []).summary.answers == {}
    some = [*unlabelled, *(replace(example, id=f"{example.id}+") for example in reviews(2))]
    (found,) = compare(model, some, []).summary.answers.values()
    assert found.count == 2


def test_labels_that_are_not_the_models_are_told(model):
    others = [replace(example, label="yes" if example.label else "no") for example in reviews(4)]
    with pytest.warns(UserWarning, match=r"no text counts as right or wrong: labels such as 'no' are not those of"):
        found = compare(model, others, ["gradient"])
    assert not found.summary.answers


def test_stars_are_not_taken_for_classes(model):
    stars = [replace(example, label=5 if example.label else 1) for example in reviews(4)]
    with pytest.warns(UserWarning, match=r"no text counts as right or wrong: labels such as 5 are not those of"):
        found = compare(model, stars, ["gradient"])
    assert not found.summary.answers
    assert {case.right for case in found.cases()} == {None}


def test_of_names_that_the_model_does_not_know_one_is_told(model):
    data = named(reviews(4), "no", "yes")
    with pytest.warns(UserWarning, match=r"labels such as 'no' are not those of"):
        compare({"m": calling("bad", "good")}, data, [])


def test_a_model_of_ratings_is_right_where_it_says_the_rating():
    own = calling("1", "2", "4")
    said = [case.predicted for case in compare(own, reviews(6), []).cases()]
    rated = [replace(example, label=int(rating)) for example, rating in zip(reviews(6), said, strict=True)]
    rated[0] = replace(rated[0], label=3)  # which it does not know
    (found,) = compare(own, rated, []).summary.answers.values()
    assert (found.count, found.accuracy) == (6, pytest.approx(5 / 6))


def test_no_answer_is_wrong_and_no_class_of_its_own():
    found = _answers(["a", "a", "b", None], ["a", "", "b", "a"])
    assert (found.count, found.accuracy) == (3, pytest.approx(2 / 3))
    assert found.macro_f1 == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize("change", ["data", "model"])
def test_names_that_were_corrected_count_in_a_run_that_goes_on(tmp_path, change):
    """The same texts and numbers, the same weights: only what the numbers are called is another."""
    models = {"before": calling("bad", "good"), "after": calling("bad", "good")}
    names = {"before": ("good", "bad"), "after": ("bad", "good")}
    if change == "model":
        models["before"], names["before"] = calling("good", "bad"), names["after"]

    def compared(when, out):
        return compare({"m": models[when]}, named(reviews(), *names[when]), ["gradient"], out=out)

    before = compared("before", tmp_path / "c")
    again, fresh = compared("after", tmp_path / "c"), compared("after", tmp_path / "new")
    assert again.summary.answers == fresh.summary.answers != before.summary.answers
    for ours, theirs in zip(again.cases(), fresh.cases(), strict=True):
        assert (ours.label, ours.predicted) == (theirs.label, theirs.predicted)
        assert ours.explanations["gradient"].target.label == theirs.predicted
