import math

import pytest

from rationales.data.labels import read_answer, read_choices, read_label
from rationales.errors import InputError

NAMES = ("entailment", "neutral", "contradiction")
COLOURS = ("red", "blue", "green")


@pytest.mark.parametrize("value", [None, "", " ", "-", math.nan, "NaN", "nan "])
@pytest.mark.parametrize("how", ["auto", "index", "name", "number"])
def test_no_label(value, how):
    assert read_label(value, None, how) is None
    assert read_label(value, NAMES, how) is None


@pytest.mark.parametrize(
    ("value", "how", "label"),
    [
        (2, "auto", 2),
        (True, "auto", 1),
        (0.25, "auto", 0.25),
        ("2", "auto", 2),
        ("-0.5", "auto", -0.5),
        ("1e-3", "auto", 0.001),
        ("inf", "auto", "inf"),
        ("very good", "auto", "very good"),
        (1.0, "index", 1),
        ("1", "index", 1),
        (-1, "index", None),
        (3, "name", "3"),
        ("3", "number", 3.0),
        (3, "number", 3.0),
    ],
)
def test_labels_without_class_names(value, how, label):
    result = read_label(value, None, how)
    assert result == label
    assert type(result) is type(label)


@pytest.mark.parametrize(("value", "index"), [("neutral", 1), (" neutral ", 1), (1, 1), ("1", 1), (1.0, 1), (-1, None)])
def test_labels_with_class_names_are_indices(value, index):
    assert read_label(value, NAMES, "auto") == index


@pytest.mark.parametrize(
    ("value", "labels", "how", "reason"),
    [
        (3, NAMES, "auto", "label 3 is out of range: there are 3"),
        (-2, NAMES, "auto", "out of range"),
        ("maybe", NAMES, "auto", "'maybe' is none of entailment, neutral, contradiction"),
        (0.5, NAMES, "auto", "none of"),
        (1, NAMES, "name", "none of"),
        ("neutral", NAMES, "index", "none of"),
        ("good", None, "number", "must be a number"),
        (0.5, None, "index", "class index"),
        (-2, None, "index", "class index"),
        ([1], None, "auto", "got list"),
        (math.inf, None, "auto", "infinite"),
        ("1e999", None, "auto", "infinite"),
    ],
)
def test_bad_labels(value, labels, how, reason):
    with pytest.raises(InputError, match=reason):
        read_label(value, labels, how)


@pytest.mark.parametrize("value", [1, "1", 1.0, "B", "b", "blue"])
def test_an_answer_by_index_letter_or_text(value):
    assert read_answer(value, COLOURS, (), "auto") == 1


def test_the_text_of_a_choice_goes_before_its_letter_and_its_number():
    assert read_answer("A", ("B", "A"), (), "auto") == 1
    assert read_answer("2", ("1", "2", "3"), (), "auto") == 1
    assert read_answer("2", ("1", "2", "3"), (), "index") == 2


@pytest.mark.parametrize("value", [3, "D", "pink", -2, 0.5])
def test_bad_answers(value):
    with pytest.raises(InputError, match="answer"):
        read_answer(value, COLOURS, (), "auto")


def test_no_answer():
    assert read_answer(None, COLOURS, (), "auto") is None
    assert read_answer(-1, COLOURS, (), "auto") is None


def test_choices_as_a_list_as_json_and_with_keys():
    assert read_choices(["red", "blue"]) == (("red", "blue"), ())
    assert read_choices('["red", "blue"]') == (("red", "blue"), ())
    choices, keys = read_choices({"label": ["Q", "R"], "text": ["red", "blue"]})
    assert read_answer("R", choices, keys, "auto") == 1


@pytest.mark.parametrize(
    "value", [None, "red, blue", ["red"], ["red", None], ["red", " "], 3, {"text": "red"}, "[" * 100_000]
)
def test_bad_choices(value):
    with pytest.raises(InputError, match="choices"):
        read_choices(value)


def test_a_choice_is_no_number():
    with pytest.raises(InputError, match="label_format must be auto, index or name"):
        read_answer(0.5, COLOURS, (), "number")
