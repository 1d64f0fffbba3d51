"""The one renderer: what is marked, how strongly, in which direction, and that text stays text."""

import math

import numpy as np
import pytest
from hypothesis import given
from made_cases import explanation
from outside import HOSTILE, explanations, fed
from parsed import check_marks, parsed

from rationales.explanation import Explanation, Provenance, Scores, Selection, Sentence, Target, Token
from rationales.report import html
from rationales.report.html import highlights
from rationales.report.safe import shown


def marked(given: Explanation) -> list[tuple[str, str, str]]:
    """The marks in order: their text, class and number."""
    root = parsed(highlights(given))
    return [(m.text, m.attributes["class"], m.attributes.get("title", "")) for m in root.all("mark")]


def spoken(given: Explanation) -> str:
    return parsed(highlights(given)).one("p", "unseen").text


def test_scores_have_five_strengths_in_two_directions():
    values = [1, 0.81, 0.79, 0.5, 0.3, 0.2, 0.1, 0.0999, 0, -0.1, -0.45, -1]
    assert marked(explanation("a b c d e f g h i j k l", body=Scores(values))) == [
        ("a", "f5", "+1"),
        ("b", "f5", "+0.81"),
        ("c", "f4", "+0.79"),
        ("d", "f3", "+0.5"),
        ("e", "f2", "+0.3"),
        ("f", "f1", "+0.2"),
        ("g", "f1", "+0.1"),
        ("j", "a1", "−0.1"),
        ("k", "a3", "−0.45"),
        ("l", "a5", "−1"),
    ]


def test_the_strongest_words_of_each_direction_are_spoken_strongest_first():
    given = explanation("the soup was wonderful but rude", body=Scores([0, 0.5, 0, 2, 0.01, -1]))
    assert spoken(given) == "For: wonderful, soup. Against: rude."
    assert spoken(explanation("a b", body=Scores([0, 0]))) == "No word stands out."
    many = explanation("a b c d e f g h i", body=Scores(range(9, 0, -1)))
    assert spoken(many) == "For: a, b, c, d, e, f and 3 more."
    assert spoken(explanation("a b", body=Selection([False, True]))) == "Marked: b."


def test_pieces_are_shown_as_words_without_special_tokens():
    tokens = (Token("[CLS]", -1, 0, 0), Token("un", 0, 0, 2), Token("friendly", 0, 2, 10), Token("waiter", 0, 11, 17))
    given = Explanation("x", ("unfriendly waiter",), tokens, Target(0, "bad"), Scores([9, 1, 2, -1]), Provenance("t"))
    assert marked(given) == [("unfriendly", "f5", "+3"), ("waiter", "a2", "−1")]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.nan, 1, -1], ["b", "c"]),
        ([math.nan] * 3, []),
        ([math.inf, 2, -math.inf], ["a", "b", "c"]),
        ([math.inf, 0, 0], ["a"]),
        ([5e-324, 0, 0], ["a"]),
        ([1.7e308, -1.7e308, 1e300], ["a", "b"]),
    ],
)
def test_scores_without_a_scale(values, expected):
    assert [text for text, *_ in marked(explanation("a b c", body=Scores(values)))] == expected


def test_infinities_that_meet_in_a_word():
    tokens = (Token("un", 0, 0, 2), Token("fair", 0, 2, 6))
    given = Explanation("x", ("unfair",), tokens, Target(0, "a"), Scores([math.inf, -math.inf]), Provenance("t"))
    assert marked(given) == []


def test_neighbours_of_a_selection_are_one_mark_that_stays_in_its_text():
    given = explanation("the soup was bad", "so bad", body=Selection([False, True, True, False, True, False]))
    assert marked(given) == [("soup was", "kept", ""), ("so", "kept", "")]
    ends = explanation("a b", "c d", body=Selection([False, True, True, False]))
    assert marked(ends) == [("b", "kept", ""), ("c", "kept", "")]


def test_a_sentence_with_what_the_model_thinks_after_each_word():
    steps = [[0, 0], [0, math.log(3)], [0, math.log(9)]]
    root = parsed(highlights(explanation("two dogs", body=Sentence("Dogs <do> bark", steps))))
    assert root.one("blockquote").text == "Dogs <do> bark"
    assert [item.text for item in root.all("li")] == ["Dogs 0.5", "<do> 0.75", "bark 0.9"]
    unequal = parsed(highlights(explanation("x", body=Sentence("Dogs bark", [[0, 0]]))))
    assert [item.text for item in unequal.all("li")] == [" 0.5"]
    assert not parsed(highlights(explanation("x", body=Sentence("Dogs")))).all("ol")
    regression = Explanation("x", ("a",), (), Target(0, ""), Sentence("So", [[2.5]]), Provenance("t"))
    assert "The output after each word" in highlights(regression)
    assert parsed(highlights(regression)).one("li").text == "So 2.5"


def test_a_text_of_100000_words_is_cut_and_says_so():
    text = "word " * 100_000
    root = parsed(highlights(explanation(text, body=Scores(np.ones(100_000)))))
    assert len(root.all("mark")) == html.MOST_WORDS
    assert root.one("p", "text").text.endswith("word … and 98,000 more words, not drawn")


def test_a_mark_across_the_cut_ends_there(monkeypatch):
    monkeypatch.setattr(html, "MOST_WORDS", 2)
    root = parsed(highlights(explanation("a b c d", body=Selection([True] * 4))))
    assert root.one("mark").text == "a b"
    assert root.one("p", "text").text == "a b … and 2 more words, not drawn"


def test_a_long_text_can_be_scrolled_by_keyboard():
    (text,) = parsed(highlights(explanation("word " * 700))).all("p", "long")
    assert text.attributes["tabindex"] == "0"
    assert not parsed(highlights(explanation("short"))).all("p", "long")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text):
    for one in (explanation(text, text), explanation(text, body=Sentence(text))):
        root = parsed(highlights(one))
        check_marks(root)
        assert [p.text for p in root.all("p", "text")] == [shown(text)] * len(one.texts)
        highlights(one).encode()  # what UTF-8 cannot hold is gone


@fed
@given(explanations())
def test_any_explanation_is_safe_and_whole(given_explanation):
    root = parsed(highlights(given_explanation))
    check_marks(root)
    texts = [p.text for p in root.all("p", "text")]
    assert texts in ([], list(map(shown, given_explanation.texts)))
    if not texts:  # then it is a table, with every word of both texts
        words = [token.text for token in given_explanation.words().tokens]
        assert sorted(head.text for head in root.all("th")) == sorted(map(shown, words))
    if isinstance(given_explanation.body, Sentence):
        assert root.one("blockquote").text == shown(given_explanation.body.text)
    highlights(given_explanation).encode()
