"""Views: words by character offsets, the best tokens, thresholds, normalising, other tokenisations."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rationales.errors import InputError
from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Sentence, Target, Token
from rationales.explanation.types import Body
from rationales.explanation.views import count, projected, ranked, word_spans, word_tokens

CLS = Token("[CLS]", -1, 0, 0)


def piece(texts: tuple[str, ...], segment: int, start: int, end: int) -> Token:
    return Token(texts[segment][start:end], segment, start, end)


def explanation(texts: tuple[str, ...], tokens: tuple[Token, ...], body: Body) -> Explanation:
    return Explanation("a", texts, tokens, Target(0, "x"), body, Provenance("random"))


def scored(values: list[float], standard_error: Any = None) -> Explanation:
    """A special token, then one token per value, each a word of one letter."""
    texts = (" ".join("x" * (len(values) - 1)),)
    tokens = (CLS, *word_tokens(texts))
    return explanation(texts, tokens, Scores(values, standard_error))


TEXTS = ("unhappily so", "so unhappy")
WORDS = word_tokens(TEXTS)
PIECES = (
    CLS,
    *(piece(TEXTS, 0, 0, 2), piece(TEXTS, 0, 2, 7), piece(TEXTS, 0, 7, 9), piece(TEXTS, 0, 10, 12)),
    CLS,
    *(piece(TEXTS, 1, 0, 2), piece(TEXTS, 1, 2, 5), piece(TEXTS, 1, 5, 10)),  # the second takes a space along
)


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [("sum", [6.0, 4.0, -5.0, 1.0]), ("mean", [2.0, 4.0, -5.0, 0.5]), ("max", [3.0, 4.0, -5.0, 7.0])],
)
def test_pieces_are_pooled_by_word_and_the_words_of_a_pair_stay_apart(pool: Any, wanted: list[float]) -> None:
    before = explanation(TEXTS, PIECES, Scores([100, 1, 2, 3, 4, 100, -5, 7, -6], np.ones(9)))
    after = before.words(pool)
    assert [(token.text, token.segment) for token in after.tokens] == [
        *(("unhappily", 0), ("so", 0), ("so", 1), ("unhappy", 1)),
    ]
    assert isinstance(after.body, Scores)
    assert after.body.values.tolist() == wanted
    assert after.body.standard_error is None
    assert before.body.values.tolist() == [100, 1, 2, 3, 4, 100, -5, 7, -6]  # type: ignore[union-attr]


def test_a_word_is_selected_if_a_piece_is() -> None:
    keep = [True, False, False, True, False, True, False, False, False]
    after = explanation(TEXTS, PIECES, Selection(keep)).words()
    assert isinstance(after.body, Selection)
    assert after.body.keep.tolist() == [True, False, False, False]


def test_words_that_truncation_cut_off_score_nothing() -> None:
    texts = ("one two three", "")
    tokens = (piece(texts, 0, 0, 3),)
    for pool in ("sum", "mean", "max"):
        body = explanation(texts, tokens, Scores([-2.0])).words(pool).body  # type: ignore[arg-type]
        assert isinstance(body, Scores)
        assert body.values.tolist() == [-2.0, 0.0, 0.0]
    body = explanation(texts, tokens, Selection([True])).words().body
    assert isinstance(body, Selection)
    assert body.keep.tolist() == [True, False, False]
    assert explanation(texts, (), Scores([])).words().body.values.tolist() == [0.0] * 3  # type: ignore[union-attr]


def test_the_maximum_of_a_word_may_be_minus_infinity() -> None:
    body = scored([0.0, -math.inf, 1.0]).words("max").body
    assert isinstance(body, Scores)
    assert body.values.tolist() == [-math.inf, 1.0]


def test_where_a_script_has_no_spaces_each_character_is_a_word() -> None:
    assert [t.text for t in word_tokens(("好的 ok。", "ไทย", "𠀀𠀁b"))] == [
        *("好", "的", "ok。", "ไ", "ท", "ย", "𠀀", "𠀁", "b"),
    ]
    texts = ("非常好",)
    tokens = (piece(texts, 0, 0, 2), piece(texts, 0, 2, 3))  # a token over two words is shared
    body = explanation(texts, tokens, Scores([1.0, 2.0])).words().body
    assert isinstance(body, Scores)
    assert body.values.tolist() == [0.5, 0.5, 2.0]


def test_words_agree_with_a_slow_count_of_characters() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        texts = tuple("".join(rng.choice(list("ab 好\n"), size=rng.integers(0, 12))) for _ in range(2))
        tokens: list[Token] = []
        for segment, text in enumerate(texts):
            cuts = sorted({0, len(text), *rng.integers(0, len(text) + 1, size=4).tolist()})
            tokens += [piece(texts, segment, *cut) for cut in pairwise(cuts)]
        values = rng.normal(size=len(tokens))
        after = explanation(texts, tuple(tokens), Scores(values)).words().body
        wanted: list[float] = []
        for segment, text in enumerate(texts):
            spans = word_spans(text)
            owner = {place: number for number, span in enumerate(spans) for place in range(*span)}
            sums = [0.0] * len(spans)
            for token, value in zip(tokens, values, strict=True):
                hit = {owner[place] for place in range(token.start, token.end) if place in owner}
                for word in hit if token.segment == segment else ():
                    sums[word] += value / len(hit)
            wanted += sums
        assert isinstance(after, Scores)
        np.testing.assert_allclose(after.values, wanted, atol=1e-12)


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_alignments_are_pooled_over_blocks_of_pieces(pool: Any) -> None:
    weights = np.random.default_rng(1).normal(size=(4, 3))
    keep = np.zeros((4, 3), dtype=bool)
    keep[1, 2] = keep[3, 0] = True
    body = explanation(TEXTS, PIECES, Alignment(weights, keep)).words(pool).body
    assert isinstance(body, Alignment)
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[pool]
    rows, columns = [slice(0, 3), slice(3, 4)], [slice(0, 1), slice(1, 3)]
    wanted = [[reduce(weights[row, column]) for column in columns] for row in rows]
    np.testing.assert_allclose(body.weights, wanted, atol=1e-12)
    assert body.keep is not None
    assert body.keep.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        (("", "unhappy so"), (Token("un", 1, 0, 2), Token("happy", 1, 2, 7))),  # no rows, and a word cut off
        (("unhappy so", ""), (Token("un", 0, 0, 2), Token("happy", 0, 2, 7))),
        (("a b", "c"), ()),
        (("a b", "c"), (Token("b", 0, 2, 3), Token("c", 1, 0, 1))),
    ],
)
@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_alignments_of_empty_or_cut_texts_keep_the_shape_of_their_words(
    texts: tuple[str, str], tokens: tuple[Token, ...], pool: Any
) -> None:
    shape = tuple(sum(token.segment == side for token in tokens) for side in (0, 1))
    body = explanation(texts, tokens, Alignment(np.ones(shape), np.ones(shape))).words(pool).body
    assert isinstance(body, Alignment)
    assert body.weights.shape == tuple(len(word_spans(text)) for text in texts)
    assert body.weights.sum() == shape[0] * shape[1]
    assert body.keep is not None
    assert body.keep.sum() == shape[0] * shape[1]


def test_a_sentence_stays_a_sentence() -> None:
    after = explanation(TEXTS, PIECES, Sentence("why")).words()
    assert isinstance(after.body, Sentence)
    assert len(after.tokens) == 4


def test_the_best_tokens_are_never_special_and_ties_keep_the_order_of_the_text() -> None:
    whole = scored([9.0, 1.0, 2.0, 2.0, math.nan, -1.0])
    assert ranked(whole).tolist() == [2, 3, 1, 5, 4]
    for k in range(7):
        body = whole.top(k).body
        assert isinstance(body, Selection)
        assert np.flatnonzero(body.keep).tolist() == sorted([2, 3, 1, 5, 4][:k])


def test_a_fraction_is_rounded_up() -> None:
    ten = scored([0.0, *range(10)])
    kept = [int(ten.top(fraction=fraction).body.keep.sum()) for fraction in (0, 0.01, 0.1, 0.11, 0.5, 1)]  # type: ignore[union-attr]
    assert kept == [0, 1, 1, 2, 5, 10]
    assert count(0.1, 30) == 3  # though 0.1 · 30 > 3 in floats
    assert count(0.5, 0) == 0


def test_top_wants_one_usable_number() -> None:
    whole = scored([0.0, 1.0])
    for options, message in (
        ({}, "either k or fraction"),
        ({"k": 1, "fraction": 0.5}, "either k or fraction"),
        ({"k": -1}, "k must not be negative, got -1"),
        ({"fraction": 1.5}, "between 0 and 1, got 1.5"),
    ):
        with pytest.raises(InputError, match=message):
            whole.top(**options)  # type: ignore[arg-type]


def test_above_is_strict_and_leaves_special_tokens_out() -> None:
    body = scored([9.0, 0.5, 0.6, math.nan]).above(0.5).body
    assert isinstance(body, Selection)
    assert body.keep.tolist() == [False, False, True, False]


@pytest.mark.parametrize(("how", "size"), [("sum", 8.0), ("max", 6.0)])
def test_normalising_keeps_signs_and_scales_errors(how: Any, size: float) -> None:
    body = scored([100.0, -6.0, 2.0, 0.0], [4.0] * 4).normalised(how).body
    assert isinstance(body, Scores)
    np.testing.assert_allclose(body.values, [0, -6 / size, 2 / size, 0])
    np.testing.assert_allclose(body.standard_error, 4 / size)  # type: ignore[arg-type]


def test_zeros_normalise_to_zeros() -> None:
    for whole in (scored([5.0, 0.0, 0.0]), scored([5.0])):
        body = whole.normalised().body
        assert isinstance(body, Scores)
        assert not body.values.any()


def test_views_say_which_bodies_they_take() -> None:
    pair = explanation(TEXTS, PIECES, Alignment(np.ones((4, 3))))
    with pytest.raises(InputError, match=r"scores per token are wanted, got alignment \('a'\)"):
        pair.top(1)
    with pytest.raises(InputError, match="only scores can be normalised, got alignment"):
        pair.normalised()
    with pytest.raises(InputError, match="how must be sum or max, got 'l2'"):
        scored([0.0]).normalised("l2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pool must be sum, mean or max, got 'min'"):
        pair.words("min")  # type: ignore[arg-type]


def test_scores_of_words_project_onto_pieces_and_back() -> None:
    by_word = explanation(TEXTS, word_tokens(TEXTS), Scores([1.0, 2.0, 3.0, 4.0]))
    by_piece = projected(by_word, PIECES)
    assert by_piece.tokens == PIECES
    assert by_piece.body.values.tolist() == [0, 1, 1, 1, 2, 0, 3, 4, 4]  # type: ignore[union-attr]
    assert by_piece.words("max").body.values.tolist() == [1, 2, 3, 4]  # type: ignore[union-attr]
    assert projected(by_piece, list(PIECES)) is by_piece


@pytest.mark.parametrize("look", [lambda e: e.words("sum"), lambda e: e.words("mean"), lambda e: projected(e, WORDS)])
def test_infinite_scores_of_both_signs_in_a_word_add_up_to_nan(look: Any) -> None:
    before = explanation(TEXTS, PIECES, Scores([0, math.inf, -math.inf, 1, 4, 0, -5, 7, 6]))
    assert np.isnan(look(before).body.values).tolist() == [True, False, False, False]


def test_links_of_words_on_pieces_and_back() -> None:
    tokens = word_tokens(TEXTS)
    by_word = explanation(TEXTS, tokens, Alignment([[1.0, -2.0], [3.0, 4.0]], [[0, 1], [0, 0]]))
    by_piece = projected(by_word, PIECES).body
    assert isinstance(by_piece, Alignment)
    assert by_piece.weights.tolist() == [[1, -2, -2]] * 3 + [[3, 4, 4]]
    assert by_piece.keep is not None
    assert by_piece.keep.tolist() == [[False, True, True]] * 3 + [[False] * 3]
    back = explanation(TEXTS, PIECES, by_piece).words("mean").body
    assert isinstance(back, Alignment)
    assert back.weights.tolist() == [[1, -2], [3, 4]]
    assert back.keep is not None
    assert back.keep.tolist() == [[False, True], [False, False]]
    bare = projected(explanation(TEXTS, tokens, Alignment(np.ones((2, 2)))), PIECES).body
    assert isinstance(bare, Alignment)
    assert bare.keep is None


def test_selections_project_to_selections() -> None:
    whole = explanation(TEXTS, word_tokens(TEXTS), Selection([False, True, False, True]))
    body = projected(whole, PIECES).body
    assert isinstance(body, Selection)
    assert np.flatnonzero(body.keep).tolist() == [4, 7, 8]


def test_a_token_without_characters_lends_its_score_to_no_other() -> None:
    texts = ("good",)
    whole = explanation(texts, (Token("", 0, 1, 1), Token("good", 0, 0, 4)), Scores([9.0, 1.0]))
    assert projected(whole, word_tokens(texts)).body.values.tolist() == [1.0]  # type: ignore[union-attr]


def test_an_alignment_without_kept_links_and_with_bare_space_pools_too() -> None:
    texts = ("a ", "b")
    tokens = (Token("a", 0, 0, 1), Token(" ", 0, 1, 2), Token("b", 1, 0, 1))
    body = explanation(texts, tokens, Alignment([[1.0], [5.0]])).words().body
    assert isinstance(body, Alignment)
    assert (body.weights.tolist(), body.keep) == ([[1.0]], None)
    kept = explanation(texts, tokens, Alignment([[1.0], [5.0]], [[0], [1]])).words().body
    assert isinstance(kept, Alignment)
    assert kept.keep is not None
    assert kept.keep.tolist() == [[False]]
