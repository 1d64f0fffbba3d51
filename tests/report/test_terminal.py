"""Explanations in a terminal and in a pipe, and texts that try to steer the terminal."""

import io
import math
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Sentence, Target, Token
from rationales.explanation.views import word_tokens
from rationales.report import coloured, plain
from rationales.report.terminal import AGAINST, FOR, printable


def per_word(*texts: str, body, target: Target | None = None, name: str = "x", method: str = "test") -> Explanation:
    target = target or Target(1, "good", 0.8125)
    return Explanation(name, texts, word_tokens(texts), target, body, Provenance(method))


def screen(explanation: Explanation, width: int = 200) -> str:
    """What a terminal is sent."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=width, no_color=False)
    console.print(coloured(explanation))
    return console.file.getvalue()


def marked(explanation: Explanation) -> dict[str, tuple[bool, bool]]:
    """The parts of the texts that have a background, and whether they are bold and underlined."""
    text = coloured(explanation)
    return {
        text.plain[span.start : span.end]: (bool(span.style.bold), bool(span.style.underline))
        for span in text.spans
        if not isinstance(span.style, str) and span.style.bgcolor is not None
    }


# ---------------------------------------------------------------------------------------------------------------------
# Each kind of explanation


def test_scores_in_a_pipe_are_sorted_by_size_with_their_sign():
    given = per_word("the soup was not bad", body=Scores([0, 0.5, 0, -2, 1]))
    assert plain(given).split("\n") == [
        "[x] good 0.812 · test",
        "the soup was not bad",
        "  -2.0000  not",
        "  +1.0000  bad",
        "  +0.5000  soup",
        "  +0.0000  the",
        "  +0.0000  was",
    ]
    assert plain(given, most=1).split("\n")[2:] == ["  -2.0000  not"]


def test_for_and_against_differ_by_more_than_colour():
    given = per_word("the soup was not bad", body=Scores([0.01, 0.5, 0, -2, 1]))
    assert marked(given) == {"soup": (True, False), "bad": (True, False), "not": (False, True)}
    shades = {span.style.bgcolor.triplet for span in coloured(given).spans if not isinstance(span.style, str)}
    assert len(shades) == 3  # larger scores are darker
    assert coloured(given).plain == "[x] good 0.812 · test\nthe soup was not bad\n"


def test_only_the_headline_is_dim():
    sent = screen(per_word("bad soup", body=Scores([1, 0]))).split("\n")
    assert sent[0] == "\x1b[2m[x] good 0.812 · test\x1b[0m"
    assert sent[1].startswith("\x1b[1;")
    assert sent[1].endswith("bad\x1b[0m soup")


def test_pieces_are_shown_as_words_without_special_tokens():
    tokens = (Token("[CLS]", -1, 0, 0), Token("un", 0, 0, 2), Token("friendly", 0, 2, 10), Token("waiter", 0, 11, 17))
    given = Explanation(
        "x", ("unfriendly waiter",), tokens, Target(0, "bad"), Scores([9, 1, 2, -1]), Provenance("test")
    )
    assert plain(given).split("\n")[2:] == ["  +3.0000  unfriendly", "  -1.0000  waiter"]
    assert marked(given) == {"unfriendly": (True, False), "waiter": (False, True)}


def test_a_word_is_marked_in_its_own_text():
    given = per_word("bad soup", "bad room", body=Scores([0, 0, 1, 0]))
    text = coloured(given)
    [span] = [span for span in text.spans if not isinstance(span.style, str)]
    assert (span.start, span.end) == (text.plain.rindex("bad"), text.plain.rindex("bad") + 3)
    assert plain(given).split("\n")[1:4] == ["bad soup", "bad room", "  +1.0000  bad"]


def test_a_selection():
    given = per_word("the soup was bad", "no", body=Selection([False, True, False, True, False]))
    assert marked(given) == {"soup": (True, False), "bad": (True, False)}
    assert plain(given).split("\n")[1:] == ["the soup was bad", "no", "  soup … bad"]
    tokens = (Token("soup", 0, 0, 4), Token(",", 0, 4, 5), Token("bad", 0, 6, 9))
    kept = Selection([False, True, True])  # not the word "soup," to which the comma belongs
    comma = Explanation("x", ("soup, bad",), tokens, Target(1, "good"), kept, Provenance("test"))
    assert marked(comma) == {", bad": (True, False)}
    nothing = per_word("soup", body=Selection([False]))
    assert marked(nothing) == {}
    assert plain(nothing).endswith("  (nothing)")


def test_weighed_links_are_a_shaded_matrix_and_a_list():
    given = per_word("two dogs", "dogs sleep here", body=Alignment([[0.1, -0.5, 0], [0.9, 0.2, math.nan]]))
    expected = [
        "two dogs",
        "dogs sleep here",
        "       dogs sleep here",
        "  two  ░░░░ =====  ·",
        "  dogs ████ ░░░░░  ·",
        "  ░▒▓█ for, -=# against the label, from weak to strong",
        "  The 4 strongest of 6 links.",
        "  dogs – dogs   +0.9000",
        "  two – sleep   -0.5000",
        "  dogs – sleep  +0.2000",
        "  two – dogs    +0.1000",
    ]
    assert plain(given).split("\n")[1:] == expected
    assert [line.rstrip() for line in coloured(given).plain.split("\n")][1:-1] == expected


def test_kept_links_are_blocks_and_phrases():
    weights = [[0.4, 0.8, 0, 0], [0.4, 0.8, 0, 0], [0, 0, 0, -0.25]]
    given = per_word("People wait here", "Passengers are in line", body=Alignment(weights, np.array(weights) != 0))
    assert plain(given).split("\n")[3:] == [
        "         Passengers are in line",
        "  People ██████████ ███ ·   ·",
        "  wait   ██████████ ███ ·   ·",
        "  here       ·       ·  ·  ████",
        "  5 of 12 links kept, in 2 pairs of phrases.",
        "  People wait – Passengers are  +0.6000",
        "  here – line                   -0.2500",
    ]
    nothing = given.with_body(Alignment(weights, np.zeros((3, 4))))
    assert plain(nothing).endswith("  No link is kept.")
    assert "█" not in plain(nothing)
    assert plain(per_word("", "a b", body=Alignment(np.zeros((0, 2))))).endswith("  No link stands out.")


def test_what_a_method_knows_of_its_links_is_below_the_matrix():
    checks = {"same_answer": 0, "fidelity": 0.7, "guided": 1}
    given = replace(per_word("a b", "c", body=Alignment([[1], [0]], [[True], [False]])), checks=checks)
    expected = [
        "    c",
        "  a █",
        "  b ·",
        "  1 of 2 links kept, in 1 pair of phrases.",
        "  These alone give another answer (the logits move by 0.7): do not take them for the reason.",
        "  Guided: not all links were allowed.",
        "  a – c  1.0000",
    ]
    assert plain(given).split("\n")[3:] == expected
    assert coloured(given).plain.split("\n")[3:-1] == expected
    whole = given.with_body(Alignment([[-1], [-1]], [[True], [True]]))
    assert plain(whole).split("\n")[6:] == [
        "  All links are kept: the method found no fewer that bring the logits near enough.",
        "  Guided: not all links were allowed.",
    ]


def test_links_without_signs_are_neither_for_nor_against():
    given = per_word("a", "b c d", body=Alignment([[1, 0.3, 0]]))
    assert plain(given).split("\n")[3:] == [
        "    b c d",
        "  a █ ▒ ·",
        "  ░▒▓█ from weak to strong",
        "  The 2 strongest of 3 links.",
        "  a – b  1.0000",
        "  a – c  0.3000",
    ]


def test_blocks_for_and_against_differ_in_colour_besides():
    given = per_word("a", "b c", body=Alignment([[1, -1]]))
    colours = {span.style.color.triplet for span in coloured(given).spans if not isinstance(span.style, str)}
    assert colours == {FOR, AGAINST}


def test_a_matrix_that_has_no_room_is_only_a_list():
    wide = per_word("a b", "word " * 20, body=Alignment(np.ones((2, 20))))
    high = per_word("a " * 25, "b", body=Alignment(np.ones((25, 1))))
    for one in (wide, high):
        assert "█" not in plain(one)
        assert plain(one).split("\n")[3].startswith("  The 8 strongest of ")
    long = per_word("supercalifragilistic", "b", body=Alignment([[1]]))
    assert plain(long).split("\n")[3:5] == ["                 b", "  supercalifrag… █"]
    assert plain(long).endswith("  supercalifragilistic – b  1.0000")


def test_a_matrix_of_letters_as_wide_as_two_stays_straight():
    lines = plain(per_word("好的 ok", "是 a", body=Alignment(np.eye(3, 2)))).split("\n")[3:7]
    assert {cell_len(line) for line in lines} == {9}
    assert lines[1:] == ["  好 ██ ·", "  的 ·  █", "  ok ·  ·"]


def test_a_sentence():
    given = per_word("two dogs run", body=Sentence("Dogs that run\ndo not sleep."))
    assert plain(given).split("\n")[1:] == ["two dogs run", "  Dogs that run do not sleep."]
    assert coloured(given).plain.endswith("two dogs run\n  Dogs that run do not sleep.\n")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 0], set()),
        ([math.nan, 1, -1], {"b", "c"}),
        ([math.nan, math.nan, math.nan], set()),
        ([math.inf, 2, -math.inf], {"a", "b", "c"}),
        ([math.inf, 0, 0], {"a"}),
        ([5e-324, 0, 0], {"a"}),
        ([0.099, -0.1, 1], {"b", "c"}),
    ],
)
def test_scores_without_a_scale(values, expected):
    given = per_word("a b c", body=Scores(values))
    assert set(marked(given)) == expected
    lines = plain(given).split("\n")[2:]
    assert len(lines) == 3
    assert lines[-1].startswith("  +nan") == any(map(math.isnan, values))


def test_an_empty_text_and_an_unknown_target():
    given = per_word("", body=Scores([]), target=Target(-1, ""))
    assert plain(given) == "[x] no label · test\n"
    assert coloured(given).plain == "[x] no label · test\n\n"


# ---------------------------------------------------------------------------------------------------------------------
# Hostile texts


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "back\x08space\x7f",
    "over\rwritten",
    "right\u202eto left",
    "\u2066isolated\u2069",
    "\ud800 lone",
    "line\u2028break",
    "null\x00",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_steer_the_terminal(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_part_of_an_explanation_can(text):
    """The id, the label, the method, the texts, the words and the sentence all come from outside."""
    outside = {"target": Target(0, text), "name": text, "method": text}
    size = len(word_tokens((text,)))
    bodies = [Scores(np.ones(size)), Selection(np.ones(size, dtype=bool)), Sentence(text)]
    given = [per_word(text, body=body, **outside) for body in bodies]
    given.append(per_word(text, text, body=Alignment(np.ones((size, size))), **outside))
    for one in given:
        for shown in (plain(one), coloured(one).plain):
            assert not {unicodedata.category(character) for character in shown.replace("\n", "")} & {"Cc", "Cf", "Cs"}
            assert all(len(line.splitlines()) <= 1 for line in shown.split("\n"))
    lines = 1 + len(given[0].texts)
    assert coloured(given[0]).plain.count("\n") == lines


def test_rich_markup_in_a_text_is_only_text():
    text = "[bold]shout[/bold] [link=file:///x]:smile: [/]"
    given = per_word(text, body=Sentence("[red]so[/red] [/oops]"), name="[b]", method="[i]m", target=Target(0, "[u]l"))
    sent = screen(given)
    for part in (text, "[red]so[/red] [/oops]", "[[b]] [u]l · [i]m"):
        assert part in sent
    assert text in plain(given)


def test_marks_stay_on_their_words_beside_replaced_characters():
    text = "a\x1b[31m bad\nsoup \u202e yes"
    given = per_word(text, body=Scores([0, 1, 0, 0, 1]))
    assert set(marked(given)) == {"bad", "yes"}


def test_joiners_of_other_scripts_survive():
    for text in ("می\u200cخواهم", "👩\u200d🔬", "naïve Ǆ 好的"):
        assert printable(text) == text
