"""Plausibility against slow second implementations."""

import itertools
import math
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

from rationales.data.example import Example
from rationales.data.gold import gold_selection
from rationales.errors import InputError
from rationales.explanation.types import (
    Explanation,
    Provenance,
    Scores,
    Selection,
    Target,
    Token,
)
from rationales.metrics import (
    auprc,
    auroc,
    average_precision,
    iou_f1,
    token_f1,
    token_precision,
    token_recall,
)

HARD = (token_precision, token_recall, token_f1, iou_f1)
SOFT = (auroc, auprc, average_precision)


# ---------------------------------------------------------------------------------------------------------------------
# Random cases: what the library sees, and beside it the plain facts, kept by whoever made the case


@dataclass(frozen=True)
class Case:
    scored: Explanation
    selected: Explanation
    gold: Explanation
    segments: list[int]  # of each word, as all below
    pieces: list[list[float]]
    chosen: list[bool]
    marked: list[bool]


def random_case(generator: np.random.Generator, name: str) -> Case:
    """One text or two of 1 to 9 words of 1 to 3 pieces; quarters as scores, so that there are ties and exact sums."""
    texts, tokens, segments, pieces, kept, chosen = [], [Token("[CLS]", -1, 0, 0)], [], [], [False], []
    density = generator.choice([0.1, 0.5, 0.9])
    for segment in range(generator.integers(1, 3)):
        text = ""
        for _ in range(generator.integers(1, 10)):
            text += " " if text else ""
            parts = ["ab", "cde", "f"][: generator.integers(1, 4)]
            keeps = [bool(generator.random() < density / len(parts)) for _ in parts]
            for part, keep in zip(parts, keeps, strict=True):
                tokens.append(Token(part, segment, len(text), len(text) + len(part)))
                text += part
                kept.append(keep)
            segments.append(segment)
            pieces.append([float(generator.integers(-4, 5)) / 4 for _ in parts])
            chosen.append(any(keeps))
        texts.append(text)
        tokens.append(Token("[SEP]", -1, 0, 0))
        kept.append(False)
    marked = [bool(generator.random() < density) for _ in segments]
    values = iter(value for word in pieces for value in word)
    scores = [9.0 if token.special else next(values) for token in tokens]  # special tokens must not count
    words = [(segment, match.span()) for segment, text in enumerate(texts) for match in re.finditer(r"\S+", text)]
    spans = tuple(
        tuple(span for (of, span), mark in zip(words, marked, strict=True) if mark and of == segment)
        for segment in range(len(texts))
    )
    gold = gold_selection(Example(name, tuple(texts), 0, rationale=spans))
    assert gold is not None

    def explanation(body):
        return Explanation(name, tuple(texts), tuple(tokens), Target(0, "no"), body, Provenance("test"))

    return Case(explanation(Scores(scores)), explanation(Selection(kept)), gold, segments, pieces, chosen, marked)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    generator = np.random.default_rng(7)
    return [random_case(generator, str(number)) for number in range(500)]


# ---------------------------------------------------------------------------------------------------------------------
# The second implementation, from the definitions in the paper: sets, loops and fractions


def slow_words(case: Case, pool: str, absolute: bool) -> list[float]:
    pooled = [{"sum": sum, "max": max, "mean": lambda word: sum(word) / len(word)}[pool](word) for word in case.pieces]
    return [abs(score) for score in pooled] if absolute else pooled


def slow_choice(scores: list[float], fraction: str) -> list[bool]:
    size = math.ceil(Fraction(fraction) * len(scores))
    best = sorted(range(len(scores)), key=lambda word: (-scores[word], word))[:size]
    return [word in best for word in range(len(scores))]


def slow_token_scores(chosen: list[bool], marked: list[bool]) -> tuple[float, float, float]:
    predicted = {word for word, flag in enumerate(chosen) if flag}
    truth = {word for word, flag in enumerate(marked) if flag}
    if not truth:
        return math.nan, math.nan, math.nan
    precision = len(predicted & truth) / len(predicted) if predicted else 0.0
    recall = len(predicted & truth) / len(truth)
    return precision, recall, 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def slow_spans(flags: list[bool], segments: list[int]) -> list[set[int]]:
    spans: list[set[int]] = []
    for word, flag in enumerate(flags):
        if flag and spans and word - 1 in spans[-1] and segments[word - 1] == segments[word]:
            spans[-1].add(word)
        elif flag:
            spans.append({word})
    return spans


def slow_iou_f1(chosen: list[bool], marked: list[bool], segments: list[int], threshold: float) -> float:
    predicted, truth = slow_spans(chosen, segments), slow_spans(marked, segments)
    if not truth:
        return math.nan
    positives = 0
    for span in predicted:
        best = 0.0
        for true in truth:
            best = max(best, len(span & true) / len(span | true))
        positives += best >= threshold
    precision = positives / len(predicted) if predicted else 0.0
    recall = positives / len(truth)
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def slow_auroc(scores: list[float], marked: list[bool]) -> float:
    inside = [score for score, mark in zip(scores, marked, strict=True) if mark]
    outside = [score for score, mark in zip(scores, marked, strict=True) if not mark]
    if not inside or not outside:
        return math.nan
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(inside, outside)]
    return sum(wins) / len(wins)


def slow_curve(scores: list[float], marked: list[bool]) -> list[tuple[float, float]]:
    points = [(0.0, 1.0)]
    for threshold in sorted(set(scores), reverse=True):
        taken = [mark for score, mark in zip(scores, marked, strict=True) if score >= threshold]
        points.append((sum(taken) / sum(marked), sum(taken) / len(taken)))
    return points


def slow_auprc(scores: list[float], marked: list[bool]) -> float:
    if not any(marked):
        return math.nan
    return sum((r1 - r0) * (p0 + p1) / 2 for (r0, p0), (r1, p1) in itertools.pairwise(slow_curve(scores, marked)))


def slow_average_precision(scores: list[float], marked: list[bool]) -> float:
    if not any(marked) or all(marked):
        return math.nan
    return sum((r1 - r0) * p1 for (r0, _), (r1, p1) in itertools.pairwise(slow_curve(scores, marked)))


def equal(values, expected):
    assert np.isfinite(values).sum() > 100  # enough of the cases are defined
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)  # NaN equals NaN


# ---------------------------------------------------------------------------------------------------------------------
# The comparison


def test_selections_equal_the_definitions(cases):
    selected, gold = [case.selected for case in cases], [case.gold for case in cases]
    expected = np.array([slow_token_scores(case.chosen, case.marked) for case in cases])
    for place, measure in enumerate((token_precision, token_recall, token_f1)):
        equal(measure(None, selected, gold), expected[:, place])
    for threshold in (0.5, 0.7, 1.0):
        slow = [slow_iou_f1(case.chosen, case.marked, case.segments, threshold) for case in cases]
        equal(iou_f1(None, selected, gold, threshold=threshold), slow)


@pytest.mark.parametrize(
    ("pool", "absolute", "fraction"),
    [("sum", False, "0.3"), ("sum", True, "0.1"), ("mean", False, "1"), ("max", False, "0"), ("max", True, "0.3")],
)
def test_best_words_of_scores_equal_the_definitions(cases, pool, absolute, fraction):
    scored, gold = [case.scored for case in cases], [case.gold for case in cases]
    chosen = [slow_choice(slow_words(case, pool, absolute), fraction) for case in cases]
    options = {"fraction": float(fraction), "pool": pool, "absolute": absolute}
    slow = np.array([slow_token_scores(words, case.marked) for words, case in zip(chosen, cases, strict=True)])
    for place, measure in enumerate((token_precision, token_recall, token_f1)):
        equal(measure(None, scored, gold, **options), slow[:, place])
    spans = [slow_iou_f1(words, case.marked, case.segments, 0.5) for words, case in zip(chosen, cases, strict=True)]
    equal(iou_f1(None, scored, gold, **options), spans)


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize(
    ("measure", "slow"), [(auroc, slow_auroc), (auprc, slow_auprc), (average_precision, slow_average_precision)]
)
def test_scores_equal_the_definitions(cases, measure, slow, pool, absolute):
    values = measure(None, [case.scored for case in cases], [case.gold for case in cases], pool=pool, absolute=absolute)
    equal(values, [slow(slow_words(case, pool, absolute), case.marked) for case in cases])


def test_areas_equal_scikit_learn(cases):
    both = [case for case in cases if any(case.marked) and not all(case.marked)]
    scored, gold = [case.scored for case in both], [case.gold for case in both]
    pairs = [(case.marked, slow_words(case, "sum", False)) for case in both]
    equal(auroc(None, scored, gold), [roc_auc_score(*pair) for pair in pairs])
    equal(average_precision(None, scored, gold), [average_precision_score(*pair) for pair in pairs])
    curves = [precision_recall_curve(*pair) for pair in pairs]
    equal(auprc(None, scored, gold), [auc(recall, precision) for precision, recall, _ in curves])


# ---------------------------------------------------------------------------------------------------------------------
# Small cases that a reader can check


def per_word(text: str, body, name: str = "x") -> Explanation:
    tokens = tuple(Token(match[0], 0, *match.span()) for match in re.finditer(r"\S+", text))
    return Explanation(name, (text,), tokens, Target(0, "no"), body, Provenance("test"))


def marks(flags: str, name: str = "x") -> Explanation:
    """A selection over one-letter words: "x" is kept."""
    return per_word(" ".join("w" * len(flags)), Selection([flag == "x" for flag in flags]), name)


def scores(*values: float, name: str = "x") -> Explanation:
    return per_word(" ".join("w" * len(values)), Scores(values), name)


@pytest.mark.parametrize(
    ("selected", "marked", "expected"),
    [
        ("xx....", "xx....", 1.0),
        ("xx....", "xxxx..", 1.0),  # 2 of 4 words: just enough
        ("xx....", "xxxxx.", 0.0),
        ("xx.x..", "xx....", 2 / 3),  # one of two selected spans matches the one marked
        ("xx....", "xx..xx", 2 / 3),
        ("x.x...", "xxx...", 0.0),  # neither half is enough
        ("......", "xx....", 0.0),
    ],
)
def test_iou_by_hand(selected, marked, expected):
    assert iou_f1(None, [marks(selected)], [marks(marked)]) == pytest.approx([expected])


def test_a_span_ends_with_its_text():
    texts = ("a b", "c d")
    tokens = tuple(Token(text[i], segment, i, i + 1) for segment, text in enumerate(texts) for i in (0, 2))
    whole = Explanation("x", texts, tokens, Target(0, ""), Selection([False, True, True, False]), Provenance("test"))
    half = whole.with_body(Selection([False, True, False, False]))
    assert iou_f1(None, [half], [whole]) == pytest.approx([2 / 3])  # b and c are two spans, not one of two words


def test_gold_may_come_in_pieces():
    text = "good film"
    pieces = (Token("go", 0, 0, 2), Token("od", 0, 2, 4), Token("film", 0, 5, 9))
    gold = Explanation("x", (text,), pieces, Target(0, ""), Selection([False, True, False]), Provenance("human"))
    assert token_f1(None, [per_word(text, Selection([True, False]))], [gold]) == [1.0]


def test_constant_scores_are_chance():
    assert auroc(None, [scores(3, 3, 3, 3)], [marks("x...")]) == [0.5]
    assert auprc(None, [scores(3, 3, 3, 3)], [marks("x...")]) == pytest.approx([(1 + 1 / 4) / 2])
    assert average_precision(None, [scores(3, 3, 3, 3)], [marks("x...")]) == pytest.approx([1 / 4])


def test_infinite_scores_rank_as_any_other():
    inf = math.inf
    for measure in SOFT:
        assert measure(None, [scores(inf, inf, 0, -inf)], [marks("xx..")]) == [1.0]


def test_areas_depend_on_ranks_alone_and_turn_round_with_the_sign(cases):
    scored, gold = [case.scored for case in cases], [case.gold for case in cases]
    stretched = [e.words().with_body(Scores(np.exp(e.words().body.values))) for e in scored]
    negated = [e.with_body(Scores(-e.body.values)) for e in scored]
    for measure in SOFT:
        equal(measure(None, stretched, gold), measure(None, scored, gold))
    equal(auroc(None, negated, gold), 1 - auroc(None, scored, gold))


def test_precision_of_one_way_is_recall_of_the_other(cases):
    both = [case for case in cases if any(case.chosen) and any(case.marked)]
    selected, gold = [case.selected.words() for case in both], [case.gold for case in both]
    equal(token_precision(None, selected, gold), token_recall(None, gold, selected))
    equal(token_f1(None, selected, gold), token_f1(None, gold, selected))
    equal(iou_f1(None, selected, gold), iou_f1(None, gold, selected))


# ---------------------------------------------------------------------------------------------------------------------
# Undefined, and refused


@pytest.mark.parametrize("measure", HARD)
def test_hard_measures_without_marks_or_choice(measure):
    values = measure(
        None, [marks("x."), marks("x."), marks(".."), marks("..")], [None, marks(".."), marks(".."), marks("x.")]
    )
    np.testing.assert_equal(values, [np.nan, np.nan, np.nan, 0.0])


@pytest.mark.parametrize(("measure", "all_marked"), [(auroc, np.nan), (auprc, 1.0), (average_precision, np.nan)])
def test_soft_measures_without_marks_or_with_all(measure, all_marked):
    values = measure(None, [scores(1, 2)] * 3, [None, marks(".."), marks("xx")])
    np.testing.assert_equal(values, [np.nan, np.nan, all_marked])


def test_a_score_that_is_nan_makes_the_measure_undefined():
    given, gold = [scores(math.nan, 2), scores(1, 2)], [marks(".x")] * 2
    for measure in SOFT:
        np.testing.assert_equal(measure(None, given, gold), [np.nan, 1.0])
    for measure in HARD:
        np.testing.assert_equal(measure(None, given, gold, fraction=0.5), [np.nan, 1.0])


def test_an_empty_text_is_undefined():
    for measure in SOFT:
        assert np.isnan(measure(None, [scores()], [marks("")])).all()
    for measure in HARD:
        assert np.isnan(measure(None, [marks("")], [marks("")])).all()


def test_no_explanations_give_no_numbers():
    for measure in (*HARD, *SOFT):
        assert measure(None, [], []).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: token_f1(None, [scores(1, 2)], [marks("x.")]), r"say how many count with fraction=.*\.top\(fraction"),
        (lambda: token_f1(None, [marks("x")], [scores(1)]), r"gold must select .* got scores for 'x'"),
        (lambda: auroc(None, [scores(1)], [marks("x")], pool="min"), r"pool must be sum, mean or max"),
        (lambda: iou_f1(None, [marks("x")], [marks("x")], threshold=0.4), r"threshold must be from 0.5 to 1, got 0.4"),
        (lambda: token_f1(None, [scores(1)], [marks("x")], fraction=20), r"fraction must be between 0 and 1, got 20"),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(call, message):
    with pytest.raises(InputError, match=message):
        call()
