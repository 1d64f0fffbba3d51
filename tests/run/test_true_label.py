"""The true label in the model's words."""

from types import SimpleNamespace

import pytest

from rationales.data import Example
from rationales.run.labels import true_label, without_other_numbers


def model(*labels, regression=False):
    return SimpleNamespace(labels=labels, regression=regression)


@pytest.mark.parametrize(
    ("label", "names", "labels", "expected"),
    [
        (1, None, ("bad", "good"), "good"),
        (5, None, ("bad", "good"), "5"),  # outside
        (0, ("good", "bad"), ("bad", "good"), "good"),  # by name, not by number
        (0, ("Good", "Bad"), ("bad", "good"), "good"),
        (1, None, ("1", "2"), "1"),  # ratings are names
        (2, None, ("0", "2", "4"), "2"),
        (3, None, ("1", "2", "4"), "3"),
        (-1, None, ("-1", "1"), "-1"),
        (1, None, ("0", "1"), "1"),
        (1, ("bad", "good"), ("1", "2"), None),
        (1, ("neg", "pos"), ("LABEL_0", "LABEL_1"), "LABEL_1"),  # a model that knows no names
        (1, ("neg", "pos"), ("bad", "good"), None),  # who knows
        (2, ("bad", "good", "mixed"), ("bad", "good"), "mixed"),  # cannot be predicted
        ("GOOD", None, ("bad", "good"), "good"),
        ("mixed", None, ("bad", "good"), "mixed"),
        (None, None, ("bad", "good"), None),
        (3.5, None, ("bad", "good"), None),
    ],
)
def test_labels(label, names, labels, expected):
    assert true_label(Example("0", ("x",), label), names, model(*labels)) == expected


def test_a_number_to_predict_is_no_label():
    assert true_label(Example("0", ("x",), 1), None, model("score", regression=True)) is None


@pytest.mark.parametrize(
    ("given", "names", "labels", "kept"),
    [
        ((0, 1, None), None, ("bad", "good"), True),
        ((1, 5, 5), None, ("bad", "good"), False),  # stars: 1 is not the second class
        ((-1, 1), None, ("bad", "good"), False),
        ((0, 2), ("bad", "good", "mixed"), ("bad", "good"), True),  # by name
        ((0, 2), ("bad", "good", "mixed"), ("LABEL_0", "LABEL_1"), False),
        (("bad", "mixed"), None, ("bad", "good"), True),
        ((1, 2, 2), None, ("1", "2"), True),  # as they are called
        ((1, 3, 5), None, ("1", "2", "4", "5"), True),
        ((1, 5, 5), None, ("0", "1"), False),
    ],
)
def test_numbers_that_are_no_classes_of_the_model_are_no_labels(given, names, labels, kept):
    examples = [Example(str(place), ("x",), label) for place, label in enumerate(given)]
    taken = without_other_numbers(examples, names, model(*labels))
    assert [example.label for example in taken] == (list(given) if kept else [None] * len(given))
