import pytest

from rationales.data.columns import Columns, resolve
from rationales.errors import DataError, InputError
from rationales.registry import options_of


@pytest.mark.parametrize(
    ("found", "text", "pair", "label"),
    [
        (["text", "label"], "text", "", "label"),
        (["idx", "sentence", "label"], "sentence", "", "label"),
        (["Review", "Sentiment"], "Review", "", "Sentiment"),
        (["premise", "hypothesis", "label"], "premise", "hypothesis", "label"),
        (["gold_label", "sentence1", "sentence2", "pairID"], "sentence1", "sentence2", "gold_label"),
        (["Text", "text"], "text", "", ""),
        (["tokens", "label"], "tokens", "", "label"),
        (["question", "options", "answer"], "question", "", "answer"),
    ],
)
def test_guesses(found, text, pair, label):
    columns = resolve(Columns(), found, "x.csv")
    assert (columns.text, columns.pair, columns.label) == (text, pair, label)


def test_guesses_of_the_other_parts():
    found = ["id", "premise", "hypothesis", "hypothesis_rationale", "explanation_1", "explanation_2", "label"]
    columns = resolve(Columns(), found, "x.csv")
    assert columns.id == "id"
    assert columns.explanation == "explanation_1,explanation_2"
    assert (columns.rationale, columns.pair_rationale) == ("", "hypothesis_rationale")


def test_a_lone_rationale_is_not_given_to_one_of_two_texts():
    assert resolve(Columns(), ["premise", "hypothesis", "rationale"], "x").rationale == ""
    assert resolve(Columns(), ["text", "rationale"], "x").rationale == "rationale"


def test_a_text_that_is_given_is_not_made_a_pair():
    columns = resolve(Columns(text="hypothesis"), ["premise", "hypothesis", "label"], "x.csv")
    assert (columns.text, columns.pair) == ("hypothesis", "")


@pytest.mark.parametrize(
    ("pair", "found", "text"),
    [
        ("answer", ["question", "answer"], "question"),
        ("hypothesis", ["text", "hypothesis", "premise"], "premise"),
        ("text", ["text", "sentence"], "sentence"),
    ],
)
def test_a_second_text_that_is_given_does_not_keep_the_first_from_being_guessed(pair, found, text):
    columns = resolve(Columns(pair=pair), found, "x.csv")
    assert (columns.text, columns.pair) == (text, pair)


def test_the_second_text_alone_is_no_pair():
    with pytest.raises(DataError, match="no column looks like a text"):
        resolve(Columns(pair="text"), ["text", "label"], "x.csv")


def test_an_empty_name_keeps_a_column_out():
    columns = resolve(Columns(pair="", label=""), ["text", "question1", "question2", "label"], "x.csv")
    assert (columns.text, columns.pair, columns.label) == ("text", "", "")


def test_nothing_fits_lists_what_was_found():
    with pytest.raises(DataError, match=r"x\.csv: no column looks like a text.*Columns found: a, b"):
        resolve(Columns(), ["a", "b"], "x.csv")


@pytest.mark.parametrize(
    "columns",
    [Columns(text="txet"), Columns(meta="text, txet"), Columns(rationale="text,txet"), Columns(tokens="txet")],
)
def test_a_column_that_is_not_there(columns):
    with pytest.raises(InputError, match=r"x\.csv has no column 'txet'; did you mean 'text'\? Its columns: text"):
        resolve(columns, ["text"], "x.csv")


def test_formats_are_checked():
    with pytest.raises(InputError, match="rationale_format must be one of auto, token_flags"):
        Columns(rationale_format="flags")  # type: ignore[arg-type]


def test_a_name_with_a_comma_is_one_column_where_only_one_is_wanted():
    assert resolve(Columns(text="a,b"), ["a,b"], "x.csv").text == "a,b"


def test_every_field_explains_itself():
    assert all(option.help.endswith(".") for option in options_of(Columns))
