import pytest

from rationales.data.spans import Tokenised, align_tokens, fitting, join_tokens, parse, split_tokens, to_spans
from rationales.errors import InputError

TEXT = "a  dull film, badly cut"
GIVEN = Tokenised(TEXT, split_tokens(TEXT))


def marked(value, how, given=GIVEN):
    return [given.text[start:end] for start, end in to_spans(value, given, how)]


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("token_flags", [0, 1, 0, 1, 1]),
        ("token_flags", [False, True, False, True, True]),
        ("token_flags", [0.0, 1.0, 0.0, 1.0, 1.0]),
        ("token_flags", "0 1 0 1 1"),
        ("token_indices", [1, 3, 4]),
        ("token_indices", [4, 1, 3]),
        ("token_indices", "1,3,4"),
        ("token_indices", "[1, 3, 4]"),
        ("token_spans", [[1, 2], [3, 5]]),
        ("token_spans", "[[1, 2], [3, 5]]"),
        ("char_spans", [[3, 7], [14, 23]]),
    ],
)
def test_all_formats_say_the_same(how, value):
    assert marked(value, how) == ["dull", "badly cut"]


@pytest.mark.parametrize(
    ("how", "value", "reason"),
    [
        ("token_flags", [0, 1, 0], "3 flags, but the text has 5 tokens"),
        ("token_flags", [], "0 flags, but the text has 5 tokens"),
        ("token_flags", [0, 1, 0, 2, 1], "must be 0 or 1, got 2"),
        ("token_flags", [[0, 1]], "flags 0 and 1 are wanted"),
        ("token_indices", [5], "token 5, but the text has 5 tokens"),
        ("token_indices", [-1], "token -1"),
        ("token_indices", [1, 1], "twice"),
        ("token_spans", [[3, 6]], r"\[3, 6\) does not lie in the text of 5 tokens"),
        ("token_spans", [[3, 3]], r"\[3, 3\)"),
        ("char_spans", [[0, 24]], "of 23 characters"),
        ("char_spans", [1, 2], "pairs are wanted"),
        ("auto", [1], "set rationale_format"),
    ],
)
def test_a_rationale_that_does_not_fit_is_refused(how, value, reason):
    with pytest.raises(InputError, match=reason):
        marked(value, how)


@pytest.mark.parametrize(
    "value", ["some words", "0 x", [0.5, 1], ["0"], [[1, 2, 3]], [[1, 2], 3], {"a": 1}, None, True]
)
def test_what_is_no_rationale(value):
    with pytest.raises(InputError, match="a rationale must be"):
        parse(value)


@pytest.mark.parametrize("value", [1, "1", "[1]", [1]])
def test_one_index_alone_in_a_cell(value):
    assert marked(value, "token_indices") == ["dull"]


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000])
def test_hostile_strings_are_bad_rows_and_no_crash(value):
    with pytest.raises(InputError):
        marked(value, "token_indices")


@pytest.mark.parametrize(
    ("value", "formats"),
    [
        ([0, 1, 0, 0, 1], {"token_flags"}),
        ([1, 3], {"token_indices"}),
        ([0, 1, 0], set()),  # flags of the wrong length are not indices, since an index stands only once
        ([[1, 3]], {"token_spans", "char_spans"}),
        ([[3, 7]], {"char_spans"}),
        ([], set()),
        ("nonsense", set()),
    ],
)
def test_which_formats_fit(value, formats):
    assert fitting(value, GIVEN) == formats


def test_in_a_text_of_two_tokens_flags_and_indices_look_alike():
    text = "good film"
    assert fitting([0, 1], Tokenised(text, split_tokens(text))) == {"token_flags", "token_indices"}


def test_tokens_of_the_data_set_may_be_empty_or_hold_spaces():
    text, tokens = join_tokens(["New York", "", "is", "big"])
    assert text == "New York  is big"
    assert marked([1, 1, 0, 1], "token_flags", Tokenised(text, tokens)) == ["New York", "big"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's 5%.", ["It", "'s", "5", "%", "."]),
        ("我喜欢这部电影。", ["我", "喜欢", "这部", "电影", "。"]),
        ("cafe\u0301 noir", ["caf\u00e9", "noir"]),  # an accent of its own, and one within the letter
        ("ca\u200dsa", ["casa"]),  # an invisible joiner inside a word
    ],
)
def test_tokens_are_found_in_the_raw_text(text, tokens):
    spans = align_tokens(text, tokens)
    assert all(span is not None for span in spans)
    assert "".join(text[span[0] : span[1]] for span in spans if span) == "".join(text.split())


def test_quotation_marks_may_be_missing_on_either_side():
    text = '"""Stop" he said'
    spans = align_tokens(text, ['"', "Stop", "''", "he", "said", '"'])
    assert [text[span[0] : span[1]] if span else None for span in spans] == ['"', "Stop", None, "he", "said", None]


def test_words_may_not_be_missing():
    with pytest.raises(InputError, match="token 1 is 'bad', but the text goes on with 'good'"):
        align_tokens("so good", ["so", "bad"])
