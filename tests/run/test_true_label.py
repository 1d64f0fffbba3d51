"""The true label in the model's words."""

from types import SimpleNamespace

import pytest

from rationales.data import Example
from rationales.run.labels import true_label


def model(*labels, regression=False):
    return SimpleNamespace(labels=labels, regression=regression)


@pytest.mark.parametrize(
    ("label", "names", "labels", "expected"),
    [
        (1, None, ("bad", "good"), "good"),
        (5, None, ("bad", "good"), "5"),  # outside
        (0, ("good", "bad"), ("bad", "good"), "good"),  # by name, not by number
        (0, ("Good", "Bad"), ("bad", "good"), "good"),
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
