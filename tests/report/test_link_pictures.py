"""Links between two texts as HTML: the matrix with its frames, the two lines, and the list where both are too large."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from made_cases import explanation
from outside import HOSTILE, explanations, fed
from parsed import Element, check_marks, parsed

from rationales.explanation import Alignment, Explanation, Provenance, Target, Token
from rationales.explanation.views import word_tokens
from rationales.report import matrix, two_lines
from rationales.report.html import ROOM, highlights
from rationales.report.letters import right_to_left, width
from rationales.report.links import MOST_PHRASES, STRONGEST, links_of
from rationales.report.safe import shown

WEIGHTS = np.array([[0.04, -0.5, 0], [1, 0.2, math.nan]])


def pair(body: Alignment, first: str = "two dogs", second: str = "dogs sleep here") -> Explanation:
    return explanation(first, second, body=body)


def cells(given: Explanation) -> list[tuple[str, set[str], str]]:
    """Text, classes and title of the cells."""
    found = parsed(highlights(given)).one("table", "links").one("tbody").all("td")
    return [(cell.text, set(cell.classes), cell.attributes["title"]) for cell in found]


def svg(given: Explanation, room: int = ROOM) -> Element:
    return parsed(highlights(given, room)).one("svg", "pair")


def number(element: Element, name: str) -> float:
    return float(element.attributes[name])


# The matrix


def test_a_matrix_has_heads_a_caption_and_can_be_scrolled_by_keyboard():
    root = parsed(highlights(pair(Alignment(WEIGHTS))))
    table = root.one("table", "links")
    assert [head.text for head in table.all("th")] == ["dogs", "sleep", "here", "two", "dogs"]
    assert [head.attributes["scope"] for head in table.all("th")] == ["col"] * 3 + ["row"] * 2
    assert table.one("caption").text
    box = root.one("div", "scroll")
    assert (box.attributes["tabindex"], box.attributes["aria-label"]) == ("0", "Links between the two texts")
    assert root.one("details").one("summary").text == "Matrix"


def test_weights_are_shaded_with_numbers_and_titles():
    found = cells(pair(Alignment(WEIGHTS)))
    assert [(text, style) for text, style, _ in found] == [
        ("", set()),
        ("−0.5", {"a3"}),
        ("", set()),
        ("1", {"f5"}),
        ("0.2", {"f1"}),
        ("", set()),
    ]
    assert found[1][2] == "\u2068two\u2069 – \u2068sleep\u2069 −0.5"
    assert found[5][2].endswith(" –")  # NaN


def test_kept_cells_are_filled_and_every_phrase_has_a_frame():
    keep = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    found = cells(pair(Alignment(np.full((3, 3), 0.01), keep), "a b c", "d e f"))
    assert [style for _, style, _ in found] == [
        {"kept", "n", "w"},
        {"kept", "n", "e"},
        set(),
        {"kept", "s", "w"},
        {"kept", "s", "e"},
        set(),
        set(),
        set(),
        {"kept", "n", "s", "w", "e"},
    ]
    assert [text for text, *_ in found] == ["0.01", "0.01", "", "0.01", "0.01", "", "", "", "0.01"]


def test_weights_that_are_not_kept_are_only_in_titles():
    found = cells(pair(Alignment(WEIGHTS, np.eye(2, 3, dtype=bool))))
    assert [text for text, *_ in found] == ["0.04", "", "", "", "0.2", ""]
    assert found[3][1] == set()
    assert found[3][2].endswith("+1")


def test_many_columns_have_no_room_for_numbers():
    def style(columns: int, room: int, weight: float = -0.55) -> list[str]:
        text = "word " * columns
        root = parsed(highlights(pair(Alignment(np.full((1, columns), weight)), "a", text), room))
        return root.one("table").classes

    assert style(7, 388) == ["links"]
    assert style(10, 388) == ["links", "dense"]
    assert style(10, 388, 1.0) == style(10, 640) == ["links"]
    assert style(20, 388) == ["links", "dense", "tight"]
    assert style(20, 388, 1.0) == ["links", "dense", "tight", "undirected"]


# Two lines


def test_both_texts_are_there_with_a_line_for_each_pair_of_phrases():
    keep = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 0]], dtype=bool)
    weights = np.where(keep, [[1.0], [1.0], [0.5]], 0)
    drawn = svg(pair(Alignment(weights, keep), "two dogs sleep", "They are asleep now"))
    assert [text.text for text in drawn.all("text")] == ["two dogs sleep", "They are asleep now"]
    lines = drawn.all("path")
    titles = ["\u2068two dogs\u2069 – \u2068are asleep\u2069 1", "\u2068sleep\u2069 – \u2068They\u2069 0.5"]
    assert [line.one("title").text for line in lines] == titles
    assert [number(line, "stroke-width") for line in lines] == [6.0, 3.8]
    assert len(drawn.all("rect", "kept")) == 4
    assert [word.text for word in drawn.all("tspan", "bare")] == ["now"]


def test_a_screen_reader_is_told_the_texts_and_every_link_in_words():
    keep = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 0]], dtype=bool)
    weights = np.where(keep, [[1.0], [1.0], [0.5]], 0)
    drawn = svg(pair(Alignment(weights, keep), "two dogs sleep", "They are asleep now"))
    assert drawn.attributes["role"] == "img"
    said = drawn.attributes["aria-label"].replace("\u2068", "").replace("\u2069", "")
    assert said == (
        "First text: two dogs sleep. Second text: They are asleep now. 5 of 12 links kept, in 2 pairs of phrases. "
        "Linked: “two dogs” with “are asleep”, 1; “sleep” with “They”, 0.5."
    )


@pytest.mark.parametrize(
    ("keep", "styles"), [(None, (["f5"], ["a5", "minus"])), ([[True, False, True]], (["kept"], ["kept"]))]
)
def test_direction_is_told_by_more_than_colour_and_what_is_kept_has_none(keep, styles):
    drawn = svg(pair(Alignment([[0.5, 0, -0.5]], keep), "a", "b c d"))
    for kind in ("path", "rect"):
        dashed = {element.one("title").text[-4:]: element.classes for element in drawn.all(kind)}
        assert dashed == {"+0.5": styles[0], "−0.5": styles[1]}


def test_weights_without_signs_have_no_plus():
    given = pair(Alignment([[0.5, 0, 0.25]]), "a", "b c d")
    assert "+" not in highlights(given)
    assert [line.text for line in svg(given).all("path")] == [
        "\u2068a\u2069 – \u2068b\u2069 0.5",
        "\u2068a\u2069 – \u2068d\u2069 0.25",
    ]


# What is said below


def beneath(given: Explanation) -> list[str]:
    return [line.text for line in parsed(highlights(given)).all("p", "aside")]


SAME, OTHER = {"same_answer": 1, "fidelity": 0.071}, {"same_answer": 0, "fidelity": 0.7}


@pytest.mark.parametrize(
    ("keep", "checks", "said"),
    [
        ([[1, 0]], SAME, ["These alone give the same answer; the logits move by 0.071."]),
        (
            [[1, 0]],
            OTHER,
            ["These alone give another answer (the logits move by 0.7): do not take them for the reason."],
        ),
        ([[1, 0]], {"same_answer": 1}, ["These alone give the same answer."]),
        ([[1, 0]], {"fidelity": 0.5}, ["With these alone the logits move by 0.5."]),
        ([[1, 0]], {"same_answer": math.nan, "fidelity": math.nan, "guided": math.nan, "steps": 3}, []),
        ([[0, 0]], SAME, ["Without any the answer is the same; the logits move by 0.071."]),
        (
            [[0, 0]],
            {**OTHER, "guided": 1},
            [
                "Without any the answer is another (the logits move by 0.7): do not take this for the reason.",
                "Guided: not all links were allowed.",
            ],
        ),
        (None, {**SAME, "guided": 1}, ["Guided: not all links were allowed."]),
        (None, {**SAME, "guided": 0}, []),
    ],
)
def test_what_a_method_knows_of_its_links_is_said(keep, checks, said):
    given = replace(pair(Alignment([[1, 0]], keep), "a", "b c"), checks=checks)
    about = {None: "The strongest of 2 links.", 0: "No link is kept.", 1: "1 of 2 links kept, in 1 pair of phrases."}
    assert beneath(given) == [about[keep and keep[0][0]], *said]
    long = replace(pair(Alignment(np.eye(1, 70)), "a", "b " * 70), checks={"guided": 1})
    assert beneath(long)[-1] == "Guided: not all links were allowed."


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (SAME, "All links are kept: the method found no fewer that bring the logits near enough."),
        ({}, "All links are kept."),
    ],
)
def test_where_all_links_are_kept_there_is_no_line(checks, said):
    given = replace(pair(Alignment(-np.ones((2, 3)), np.ones((2, 3)))), checks=checks)
    assert beneath(given) == [said]
    drawn = svg(given)
    assert not drawn.all("path")
    assert not drawn.all("rect")
    assert drawn.attributes["aria-label"].endswith(f". {said}")
    assert all("kept" in style for _, style, _ in cells(given))


def in_pieces(body: Alignment) -> Explanation:
    """Two words in three pieces, and two words more."""
    tokens = [Token("un", 0, 0, 2), Token("kind", 0, 2, 6), Token("dogs", 0, 7, 11)]
    tokens += [Token("bad", 1, 0, 3), Token("pets", 1, 4, 8)]
    return Explanation("x", ("unkind dogs", "bad pets"), tokens, Target(1, "good"), body, Provenance("test"))


def test_words_put_together_from_pieces_are_counted_as_word_pairs():
    weighed = in_pieces(Alignment([[1, 0], [0.5, 0], [0, 0.01]]))
    assert beneath(weighed) == ["The strongest of 4 word pairs; each has the sum of the links between its pieces."]
    assert svg(weighed).one("path").text == "\u2068unkind\u2069 – \u2068bad\u2069 1.5"
    every = in_pieces(Alignment([[1, 1], [1, 1], [1, 1]]))
    assert beneath(every) == ["A word pair has the sum of the links between its pieces."]
    kept = in_pieces(Alignment(np.ones((3, 2)), [[1, 0], [0, 0], [0, 0]]))
    assert beneath(kept) == ["1 of 4 word pairs kept, in 1 pair of phrases."]
    nearly = in_pieces(Alignment(np.ones((3, 2)), [[1, 0], [0, 1], [1, 1]]))
    assert beneath(nearly) == ["All word pairs are kept, but not all links between their pieces."]
    assert not svg(nearly).all("path")


def test_of_weights_the_strongest_few_are_drawn_and_it_is_said():
    weights = np.linspace(1, 0.5, 12).reshape(3, 4)
    root = parsed(highlights(pair(Alignment(weights), "a b c", "d e f g")))
    assert len(root.all("path")) == STRONGEST
    assert root.one("p", "aside").text == f"The {STRONGEST} strongest of 12 links."
    weak = Alignment([[1.0, 0.05, -0.02]])
    assert parsed(highlights(pair(weak, "a", "b c d"))).one("p", "aside").text == "The strongest of 3 links."
    assert not parsed(highlights(pair(Alignment([[1.0]]), "a", "b"))).all("p", "aside")  # there are no others
    nothing = parsed(highlights(pair(Alignment(np.zeros((1, 2))), "a", "b c")))
    assert nothing.one("p", "aside").text == "No link stands out."
    assert nothing.one("svg").attributes["aria-label"].endswith(". No link stands out.")


def test_of_many_phrases_the_strongest_are_drawn_and_all_are_framed():
    size = 2 * MOST_PHRASES
    given = pair(Alignment(np.diag(np.arange(size) + 1.0), np.eye(size)), "a " * size, "b " * size)
    root = parsed(highlights(given))
    assert len(root.all("path")) == MOST_PHRASES
    assert "in 40 pairs of phrases; the 20 strongest are drawn." in root.one("p", "aside").text
    small = pair(Alignment(np.eye(25), np.eye(25)), "a " * 25, "b " * 25)
    assert len(parsed(highlights(small)).all("td", "n")) == 25
    none = pair(Alignment(np.ones((2, 2)), np.zeros((2, 2))), "a b", "c d")
    assert parsed(highlights(none)).one("p", "aside").text == "No link is kept."


def test_long_texts_wrap_and_stay_inside():
    text = "several words of a sentence that is far too long for one line of this picture"
    size = len(text.split())
    given = pair(Alignment(np.eye(size), np.eye(size)), text, text)
    for room, lines in ((ROOM, 1), (300, 2)):
        drawn = svg(given, room)
        assert len(drawn.all("text")) == 2 * lines
        assert " ".join(line.text for line in drawn.all("text")) == f"{text} {text}"
        assert number(drawn, "width") <= room
        inside(drawn)


def inside(drawn: Element) -> None:
    """Frames and lines lie in the picture."""
    wide, high = number(drawn, "width"), number(drawn, "height")
    for box in drawn.all("rect"):
        assert number(box, "x") >= 0
        assert number(box, "x") + number(box, "width") <= wide + 1
        assert number(box, "y") >= 0
        assert number(box, "y") + number(box, "height") <= high
    for line in drawn.all("path"):
        points = list(map(float, re.findall(r"-?[\d.]+", line.attributes["d"])))
        assert max(points[::2]) <= wide
        assert max(points[1::2]) <= high
        assert min(points) >= 0


def test_a_phrase_that_wraps_has_a_frame_on_each_line():
    text = "word " * 30
    first = np.tile([[1, 0]], (30, 1))
    drawn = svg(pair(Alignment(first, first), text, "x y"), 300)
    assert len(drawn.all("text")) - 1 == len(drawn.all("rect")) - 1 > 2
    assert len(drawn.all("path")) == 1


def test_a_text_from_right_to_left_begins_at_the_right():
    drawn = svg(pair(Alignment(np.zeros((3, 3))), "كان الحساء رائعا", "it was good"))
    places = [[number(word, "x") for word in line.all("tspan")] for line in drawn.all("text")]
    assert places[0] == sorted(places[0], reverse=True)
    assert places[1] == sorted(places[1])


def test_a_word_without_end_is_cut_and_its_title_is_whole():
    word = "x" * 500
    drawn = svg(pair(Alignment([[1.0]]), word, "b"))
    assert drawn.all("text")[0].text == "x" * (two_lines.MOST_LETTERS - 1) + "…"
    assert word in drawn.one("path").text


def test_widths_and_directions():
    assert width("mm") > width("ii") > width("i") > 0 == width("\u0301") == width("")
    assert width("n\u0303") == width("ñ") == width("n")
    assert width("👍") > width("好") > width("a")
    assert [right_to_left(text) for text in ("", "1 + 1", "abc", "…כן no", "no כן")] == [
        False,
        False,
        False,
        True,
        False,
    ]


# Where it is too large


@pytest.mark.parametrize(("rows", "columns"), [(two_lines.MOST_WORDS + 1, 2), (2, two_lines.MOST_WORDS + 1)])
def test_texts_too_long_for_pictures_are_marked_with_a_list_below(rows, columns):
    weights = np.zeros((rows, columns))
    weights[0, 1], weights[1, 0] = 2, -1
    first, second = (
        " ".join(f"{side}{place}" for place in range(size)) for side, size in (("a", rows), ("b", columns))
    )
    root = parsed(highlights(pair(Alignment(weights), first, second)))
    assert not root.all("svg")
    assert not root.all("table")
    assert [text.text for text in root.all("p", "text")] == [first, second]
    items = [(item.text, item.one("mark").attributes["class"]) for item in root.all("li")]
    assert items == [("a0 – b1 +2", "f5"), ("a1 – b0 −1", "a3")]
    marks = [(mark.text, mark.attributes["title"]) for text in root.all("p", "text") for mark in text.all("mark")]
    assert marks == [("a0", "+2"), ("a1", "−1"), ("b0", "−1"), ("b1", "+2")]
    assert root.one("p", "aside").text == f"The 2 strongest of {rows * columns} links."


def test_lines_that_can_be_followed_may_have_a_matrix_that_cannot_be_read():
    size = 50
    root = parsed(highlights(pair(Alignment(np.eye(size)), "a " * size, "b " * size)))
    assert root.one("svg")
    assert not root.all("table")
    assert len(root.all("li")) == STRONGEST
    assert len(root.all("p", "aside")) == 1
    assert size * size > matrix.MOST_CELLS


def test_overlapping_phrases_are_marked_once():
    keep = np.zeros((70, 3), dtype=bool)
    keep[0, :2] = keep[:2, 0] = True
    weights = np.where(keep, 1.0, 0)
    weights[1, 0] = 3
    root = parsed(highlights(pair(Alignment(weights, keep), "a " * 70, "b c d")))
    assert [mark.text for mark in root.all("p", "text")[0].all("mark")] == ["a a"]
    assert len(root.all("li")) == 2


def test_an_alignment_of_one_text_or_of_empty_texts():
    assert "No link stands out." in highlights(explanation("one", body=Alignment(np.zeros((1, 0)))))
    assert "No link stands out." in highlights(explanation("", "", body=Alignment(np.zeros((0, 0)))))
    kept = Alignment(np.zeros((1, 0)), np.zeros((1, 0)))
    assert "No link is kept." in highlights(explanation("one", "", body=kept))


def test_links_between_two_of_three_texts():
    given = explanation("one dog", "a dog", "not linked", body=Alignment(np.eye(2), np.eye(2)))
    drawn = svg(given)
    assert [text.text for text in drawn.all("text")] == ["one dog", "a dog"]
    assert len(drawn.all("path")) == 2


# Whatever comes


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text):
    size = len(word_tokens((text,)))
    for keep in (None, np.ones((size, 1), dtype=bool)):
        one = explanation(text, "a", body=Alignment(np.ones((size, 1)), keep))
        check_marks(parsed(highlights(one)))
        highlights(one).encode()


@fed
@given(explanations(kind="alignment"))
def test_any_links_are_drawn_whole(one):
    drawn = highlights(one, 300)
    root, links = parsed(drawn), links_of(one)
    check_marks(root)
    drawn.encode()
    if not two_lines.fits(links):
        assert [text.text for text in root.all("p", "text")] == list(map(shown, one.texts))
        return
    picture = root.one("svg")
    words = [shown(word.text) for word in (*links.left, *links.right)]
    for found, word in zip(picture.all("tspan"), words, strict=True):
        assert found.text == word or (found.text.endswith("…") and word.startswith(found.text[:-1]))
    assert len(picture.all("path")) == len(links.pairs)
    inside(picture)
    if one.body.keep is not None:
        assert len(root.all("td", "kept")) in (int(links.keep.sum()), 0)
