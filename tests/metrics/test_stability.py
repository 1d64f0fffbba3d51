"""Stability against slow second implementations."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from rationales.errors import InputError
from rationales.explanation.types import Explanation, Provenance, Scores, Selection, Target, Token
from rationales.metrics import jaccard, rank_correlation


def explained(body, size: int, name: str = "x") -> Explanation:
    """`size` one-letter words between two special tokens; the body's arrays get a loud value there."""
    tokens = tuple(Token("w", 0, 2 * i, 2 * i + 1) for i in range(size))
    special = Token("[S]", -1, 0, 0)
    text = " ".join("w" * size)
    return Explanation(name, (text,), (special, *tokens, special), Target(0, ""), body, Provenance("test"))


def scores(*values: float) -> Explanation:
    return explained(Scores([99.0, *values, -99.0]), len(values))


def kept(flags: str) -> Explanation:
    return explained(Selection([True, *(flag == "x" for flag in flags), True]), len(flags))


@pytest.fixture(scope="module")
def pairs() -> tuple[list[list[float]], list[list[float]]]:
    """Two lists of 500 lists of scores with many ties, of 1 to 15 words each."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 16, size=500)
    first, second = ([(generator.integers(-4, 5, size=n) / 4).tolist() for n in sizes] for _ in range(2))
    return first, second


def slow_jaccard(first: list[float], second: list[float], fraction: str) -> float:
    sets = []
    for values in (first, second):
        size = math.ceil(Fraction(fraction) * len(values))
        sets.append(set(sorted(range(len(values)), key=lambda i, values=values: (-values[i], i))[:size]))
    union = sets[0] | sets[1]
    return len(sets[0] & sets[1]) / len(union) if union else math.nan


def slow_spearman(first: list[float], second: list[float]) -> float:
    ranks = []
    for values in (first, second):
        ranks.append([sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2 for a in values])
    means = [sum(rank) / len(rank) for rank in ranks]
    a, b = ([value - mean for value in rank] for rank, mean in zip(ranks, means, strict=True))
    size = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / size if size else math.nan


def slow_kendall(first: list[float], second: list[float]) -> float:
    concordant = discordant = tied_first = tied_second = 0
    for i, j in itertools.combinations(range(len(first)), 2):
        a, b = first[i] - first[j], second[i] - second[j]
        concordant += a * b > 0
        discordant += a * b < 0
        tied_first += a == 0 and b != 0
        tied_second += b == 0 and a != 0
    ordered = concordant + discordant
    size = math.sqrt((ordered + tied_first) * (ordered + tied_second))
    return (concordant - discordant) / size if size else math.nan


def equal(values, expected):
    assert np.isfinite(values).sum() > 300
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fraction", ["0.1", "0.25", "0.6", "1"])
@pytest.mark.parametrize("absolute", [False, True])
def test_jaccard_equals_the_definition(pairs, fraction, absolute):
    explanations, other = ([scores(*values) for values in side] for side in pairs)
    if absolute:
        pairs = tuple([[abs(value) for value in values] for values in side] for side in pairs)
    slow = [slow_jaccard(a, b, fraction) for a, b in zip(*pairs, strict=True)]
    equal(jaccard(None, explanations, other, fraction=float(fraction), absolute=absolute), slow)


@pytest.mark.parametrize(("kind", "slow"), [("spearman", slow_spearman), ("kendall", slow_kendall)])
@pytest.mark.parametrize("absolute", [False, True])
def test_rank_correlation_equals_the_definition(pairs, kind, slow, absolute):
    explanations, other = ([scores(*values) for values in side] for side in pairs)
    if absolute:
        pairs = tuple([[abs(value) for value in values] for values in side] for side in pairs)
    expected = [slow(a, b) for a, b in zip(*pairs, strict=True)]
    equal(rank_correlation(None, explanations, other, kind=kind, absolute=absolute), expected)


def test_of_an_explanation_with_itself(pairs):
    explanations = [scores(*values) for values in pairs[0]]
    assert (jaccard(None, explanations, explanations) == 1).all()
    varied = [e for e, values in zip(explanations, pairs[0], strict=True) if len(set(values)) > 1]
    reversed_ = [e.with_body(Scores(-e.body.values)) for e in varied]
    for kind in ("spearman", "kendall"):
        np.testing.assert_allclose(rank_correlation(None, varied, varied, kind=kind), 1, rtol=1e-12)
        np.testing.assert_allclose(rank_correlation(None, varied, reversed_, kind=kind), -1, rtol=1e-12)


def test_both_are_symmetric(pairs):
    explanations, other = ([scores(*values) for values in side] for side in pairs)
    for measure in (jaccard, rank_correlation):
        np.testing.assert_allclose(measure(None, explanations, other), measure(None, other, explanations), rtol=1e-12)


def test_random_rankings_meet_by_chance():
    generator = np.random.default_rng(0)
    explanations, other = ([scores(*generator.normal(size=200)) for _ in range(200)] for _ in range(2))
    assert jaccard(None, explanations, other).mean() == pytest.approx(0.25 / (2 - 0.25), abs=0.01)
    assert rank_correlation(None, explanations, other).mean() == pytest.approx(0, abs=0.02)


def test_selections_are_taken_as_they_are_and_special_tokens_do_not_count():
    assert jaccard(None, [kept("xx..")], [kept("x.x.")], fraction=1.0) == pytest.approx([1 / 3])
    assert jaccard(None, [kept("x...")], [scores(4, 1, 2, 3)]) == [1.0]  # one of four words by score
    np.testing.assert_equal(jaccard(None, [kept("..")], [kept("..")]), [np.nan])


def test_different_tokens_meet_on_words():
    text = "very good film"
    pieces = (Token("very", 0, 0, 4), Token("go", 0, 5, 7), Token("od", 0, 7, 9), Token("film", 0, 10, 14))
    ours = Explanation("x", (text,), pieces, Target(0, ""), Scores([3, 2, 2, 1]), Provenance("a"))
    theirs = Explanation(
        "x", (text,), (pieces[0], Token("good", 0, 5, 9), pieces[3]), ours.target, Scores([2, 3, 1]), Provenance("b")
    )
    assert rank_correlation(None, [ours], [theirs]) == pytest.approx([1.0])  # the pieces of "good" sum to 4
    assert rank_correlation(None, [ours], [theirs], pool="max") == pytest.approx([0.5])
    assert jaccard(None, [ours], [theirs]) == [1.0]
    assert jaccard(None, [ours], [theirs], pool="mean") == [0.0]
    whole = theirs.with_body(Selection([False, True, False]))
    assert jaccard(None, [ours.with_body(Selection([False, False, True, False]))], [whole]) == [1.0]


def test_undefined():
    nan = math.nan
    ours = [scores(1, 2), scores(1, 2), scores(1, 1), scores(1), scores(), scores(nan, 1)]
    theirs = [None, scores(3, 3), scores(1, 2), scores(2), scores(), scores(1, 2)]
    for kind in ("spearman", "kendall"):
        np.testing.assert_equal(rank_correlation(None, ours, theirs, kind=kind), [nan] * 6)
    np.testing.assert_equal(jaccard(None, ours, theirs), [nan, 0, 0, 1, nan, nan])
    assert jaccard(None, [], []).shape == (0,)


def test_a_special_token_may_score_nan():
    ours = explained(Scores([math.nan, 1, 2, math.nan]), 2)
    assert jaccard(None, [ours], [scores(1, 2)]) == [1.0]
    assert rank_correlation(None, [ours], [scores(1, 2)]) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jaccard(None, [scores(1)]), r"a second set of explanations; pass them as `other`, the third argument"),
        (lambda: jaccard(None, [scores(1)], [scores(1)] * 2), r"1 explanations but 2 in `other`"),
        (
            lambda: jaccard(None, [scores(1)], [scores(1, 2)]),
            r"`other` has \('w w',\); both must be of the same examples",
        ),
        (lambda: jaccard(None, [scores(1)], [scores(1)], fraction=25), r"fraction must be between 0 and 1, got 25"),
        (lambda: rank_correlation(None, [scores(1)], [kept("x")]), r"takes scores, got a selection .*jaccard"),
        (
            lambda: rank_correlation(None, [scores(1)], [scores(1)], kind="pearson"),
            r"spearman or kendall, got 'pearson'",
        ),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(call, message):
    with pytest.raises(InputError, match=message):
        call()
