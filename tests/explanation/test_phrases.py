"""Kept links as pairs of phrases: rectangles that cover what is kept, words instead of pieces, the strongest links."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rationales.errors import InputError
from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Target, Token
from rationales.explanation.phrases import linked_words, phrase_pairs, rectangles, sides, strongest_links
from rationales.explanation.views import word_tokens


def made(*texts: str, body, tokens: tuple[Token, ...] | None = None) -> Explanation:
    return Explanation("x", texts, tokens or word_tokens(texts), Target(0, "a"), body, Provenance("m"))


def mask(*rows: str) -> np.ndarray:
    return np.array([[cell == "#" for cell in row] for row in rows])


# Rectangles


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (mask("...", "..."), []),
        (mask("#"), [((0, 1), (0, 1))]),
        (mask("###", "###"), [((0, 2), (0, 3))]),
        (mask("##..", "##..", "...#"), [((0, 2), (0, 2)), ((2, 3), (3, 4))]),
        (mask("#.", ".#"), [((0, 1), (0, 1)), ((1, 2), (1, 2))]),  # corners that touch are no neighbours
        (mask("#..", "###"), [((0, 2), (0, 1)), ((1, 2), (0, 3))]),
        (mask(".#.", "###", ".#."), [((0, 3), (1, 2)), ((1, 2), (0, 3))]),
        (mask("###", "#.#", "###"), [((0, 1), (0, 3)), ((0, 3), (0, 1)), ((0, 3), (2, 3)), ((2, 3), (0, 3))]),
        (np.zeros((0, 3), dtype=bool), []),
        (np.zeros((3, 0), dtype=bool), []),
    ],
)
def test_rectangles(keep, expected):
    assert rectangles(keep) == expected


def covered(keep: np.ndarray, top: int, bottom: int, left: int, right: int) -> bool:
    return bool(keep[top:bottom, left:right].all())


def slow(keep: np.ndarray) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From the definition: all rectangles that cannot grow; each time the one that covers most of what is left."""
    spans = [list(itertools.combinations(range(size + 1), 2)) for size in keep.shape]
    kept = [(rows, columns) for rows, columns in itertools.product(*spans) if covered(keep, *rows, *columns)]

    def inside(one, other):
        return all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(one, other, strict=True))

    largest = [one for one in kept if not any(one != other and inside(one, other) for other in kept)]
    left, chosen = keep.copy(), []
    while left.any():
        best = min(largest, key=lambda one: (-left[slice(*one[0]), slice(*one[1])].sum(), one))
        left[slice(*best[0]), slice(*best[1])] = False
        chosen.append(best)
    return sorted(chosen)


MASKS = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda cells: np.array(cells).reshape(shape)
    )
)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(MASKS)
def test_rectangles_are_those_of_the_definition(keep):
    assert rectangles(keep) == slow(keep)


def test_many_rectangles_cover_what_is_kept():
    keep = np.random.default_rng(0).random((150, 150)) < 0.6
    found = rectangles(keep)
    again = np.zeros_like(keep)
    for rows, columns in found:
        again[slice(*rows), slice(*columns)] = True
    assert np.array_equal(again, keep)
    assert len(found) == len(set(found))


# Phrases


def test_phrases_are_spans_of_both_texts_with_their_mean_weight():
    weights = np.array([[9, 9, 9, 9], [1, 2, 0, 9], [3, 4, 0, 9.0]])
    keep = mask("...#", "##..", "##..")
    given = made("a grey cat", "the old tom sleeps", body=Alignment(weights, keep))
    first, second = phrase_pairs(given)
    assert (first.rows, first.columns, first.first, first.second, first.weight) == ((0, 1), (3, 4), (0, 1), (12, 18), 9)
    assert (second.rows, second.columns, second.weight) == ((1, 3), (0, 2), 2.5)
    assert given.texts[0][slice(*second.first)] == "grey cat"
    assert given.texts[1][slice(*second.second)] == "the old"


def test_pieces_are_joined_to_words_and_only_kept_ones_count():
    tokens = (
        Token("[CLS]", -1, 0, 0),
        Token("un", 0, 0, 2),
        Token("fair", 0, 2, 6),
        Token("game", 0, 7, 11),
        Token("[SEP]", -1, 0, 0),
        Token("bad", 1, 0, 3),
        Token("!", 1, 3, 4),
    )
    weights = [[2.0, -8.0], [4.0, -8.0], [-1.0, -2.0]]
    keep = [[True, False], [True, False], [False, False]]
    given = made("unfair game", "bad!", body=Alignment(weights, keep), tokens=tokens)
    (pair,) = phrase_pairs(given)
    assert (pair.rows, pair.columns, pair.first, pair.second) == ((0, 1), (0, 1), (0, 6), (0, 4))
    assert pair.weight == 3  # what was not kept of the two words does not count
    words = linked_words(given)
    assert [[token.text for token in side] for side in sides(words)] == [["unfair", "game"], ["bad!"]]
    assert words.body.weights.tolist() == [[3], [-3]]
    assert words.body.keep.tolist() == [[True], [False]]
    assert linked_words(words) is words
    (strongest,) = strongest_links(given.with_body(Alignment(weights)), 1)
    assert (strongest.rows, strongest.weight) == ((0, 1), -10)  # of weights alone all count


def test_the_strongest_links_have_the_largest_weights_in_either_direction():
    weights = [[0.1, -0.5, 0.0], [0.9, math.nan, -math.inf]]
    given = made("a b", "c d e", body=Alignment(weights))
    found = [(pair.rows[0], pair.columns[0], pair.weight) for pair in strongest_links(given, 10)]
    assert found == [(1, 2, -math.inf), (1, 0, 0.9), (0, 1, -0.5), (0, 0, 0.1)]
    assert [pair.weight for pair in strongest_links(given, 2)] == [-math.inf, 0.9]
    assert strongest_links(made("a", "b", body=Alignment([[0.0]])), 3) == []


@pytest.mark.parametrize("texts", [("", ""), ("a b", ""), ("", "a"), ("a",)])
def test_a_text_without_words_has_no_phrases(texts):
    shape = [len(word_tokens((text,))) for text in (*texts, "")[:2]]
    keep = np.ones(shape, dtype=bool)
    assert phrase_pairs(made(*texts, body=Alignment(np.ones(shape), keep))) == []
    assert strongest_links(made(*texts, body=Alignment(np.ones(shape))), 3) == []


def test_infinite_weights_that_meet_are_no_error():
    given = made("a b", "c", body=Alignment([[math.inf], [-math.inf]], [[True], [True]]))
    assert math.isnan(phrase_pairs(given)[0].weight)


def test_what_has_no_phrases_says_so():
    with pytest.raises(InputError, match=r"m weighs links and keeps none \('x'\); take strongest_links"):
        phrase_pairs(made("a", "b", body=Alignment([[1.0]])))
    for body, kind in ((Scores([1, 2]), "scores"), (Selection([True, False]), "selection")):
        for call in (linked_words, phrase_pairs, lambda one: strongest_links(one, 1)):
            with pytest.raises(InputError, match=f"links between two texts are wanted, got {kind}"):
                call(made("a", "b", body=body))
