"""Ranks, ties and advice from values that were made up so that the right answer is known."""

import math

import numpy as np
import pytest

from rationales.comparison import Measure
from rationales.explanation import Explanation, Provenance, Scores, Selection, Target, Token
from rationales.metrics import rank_correlation
from rationales.run.ranking import Record, advice, agreement, ranked

HIGH = Measure("comprehensiveness", "high", {})
LOW = Measure("sufficiency", "low", {})
GOLD = Measure("auroc", "high", {}, ("gold",))
SIZE = 100


def record(method: str, mean: float, *, spread: float = 0.1, low: float | None = None, **more) -> Record:
    noise = np.random.default_rng(len(method)).standard_normal(SIZE) * spread
    noise -= noise.mean()
    values = {"comprehensiveness": mean + noise, "sufficiency": np.full(SIZE, 0.5 if low is None else low)}
    return Record("m", method, {}, values, tokens=1000, **more)


def standings(*records, measures=(HIGH, LOW), by="comprehensiveness"):
    return ranked(records, measures, by)


def test_best_first_by_the_metric_and_its_direction():
    records = [record("random", 0.1, low=0.2), record("good", 0.5, low=0.9), record("fair", 0.3, low=0.1)]
    assert [item.method for item in standings(*records)] == ["good", "fair", "random"]
    assert [item.method for item in standings(*records, by="sufficiency")] == ["fair", "random", "good"]
    assert [item.rank for item in standings(*records)] == [1, 2, 3]


def test_methods_are_tied_if_the_paired_interval_reaches_zero():
    rows = {item.method: item for item in standings(record("a", 0.5), record("bb", 0.499), record("ccc", 0.2))}
    assert (rows["a"].tied, rows["bb"].tied, rows["ccc"].tied) == (True, True, False)


def test_small_differences_on_the_same_texts_are_found_where_texts_vary_much():
    shared = np.random.default_rng(0).standard_normal(SIZE)
    jitter = np.random.default_rng(1).standard_normal(SIZE) * 0.001
    one, other = record("one", 0), record("other", 0)
    one.values["comprehensiveness"], other.values["comprehensiveness"] = shared + 0.05 + jitter, shared
    rows = {item.method: item for item in standings(one, other)}
    figures = [rows[name].figures["comprehensiveness"] for name in ("one", "other")]
    assert figures[1].high > figures[0].low  # the intervals overlap
    assert not rows["other"].tied


def test_gain_over_random_is_paired_and_positive_in_the_better_direction():
    rows = {item.method: item for item in standings(record("random", 0.1, low=0.5), record("good", 0.5, low=0.2))}
    assert rows["good"].figures["comprehensiveness"].beats_random
    assert rows["good"].figures["sufficiency"].gain == (pytest.approx(0.3), pytest.approx(0.3))
    assert math.isnan(rows["random"].figures["comprehensiveness"].gain[0])
    assert not rows["random"].figures["comprehensiveness"].beats_random


def test_undefined_values_are_left_out_and_a_method_without_any_comes_last():
    empty = record("empty", 0.9)
    empty.values["comprehensiveness"][:] = np.nan
    part = record("part", 0.5, spread=0)
    part.values["comprehensiveness"][:10] = np.nan
    rows = standings(empty, part, record("random", 0.1))
    assert [item.method for item in rows] == ["part", "random", "empty"]
    figure = rows[0].figures["comprehensiveness"]
    assert (figure.mean, figure.count, figure.undefined) == (pytest.approx(0.5), 90, 10)


def test_failures_come_last_and_have_no_figures():
    rows = standings(Record("m", "attention", {}, failure="no attention"), record("good", 0.5), record("random", 0.1))
    assert [item.method for item in rows] == ["good", "random", "attention"]
    assert rows[-1].failure == "no attention"
    assert rows[-1].figures == {}


def test_cost_is_per_thousand_tokens():
    [row] = standings(record("good", 0.5, seconds=3.0))
    assert row.seconds_per_1000_tokens == 3.0


def words(*records, measures=(HIGH, LOW), texts=SIZE):
    rows = ranked(records, measures, "comprehensiveness")
    return advice(rows, measures, "comprehensiveness", texts)


def test_advice_names_the_first_its_interval_and_the_floor():
    text = words(record("good", 0.5), record("fair", 0.3), record("random", 0.1))
    assert "`good` comes first of 2 methods: 0.500 (95 % interval 0." in text
    assert "random scores reach 0.100" in text
    assert "within noise" not in text


def test_advice_says_what_is_within_noise_and_which_of_it_is_cheapest():
    text = words(record("a", 0.5, seconds=9.0), record("bb", 0.499, seconds=2.0), record("random", 0.1))
    assert "`bb` is within noise of it: these texts cannot tell them apart" in text
    assert "`bb` is the cheapest (2 against 9 seconds per 1,000 tokens)" in text


def test_advice_says_that_nothing_beats_random():
    text = words(record("a", 0.101), record("bb", 0.099), record("random", 0.1))
    assert "no method is clearly better than random" in text
    assert "comes first" not in text


def test_advice_lists_methods_no_better_than_random():
    assert "Not clearly better than random: `bb` and `ccc`." in words(
        record("a", 0.5), record("bb", 0.1), record("ccc", 0.05), record("random", 0.1)
    )


def test_advice_tells_of_another_winner_by_another_metric():
    text = words(record("a", 0.5, low=0.4), record("bb", 0.3, low=0.1), record("random", 0.1))
    assert "By sufficiency, `bb` comes first: 0.100 against 0.400." in text


def test_advice_says_that_plausible_is_not_faithful():
    records = [record("a", 0.5), record("bb", 0.3), record("random", 0.1)]
    for each, value in zip(records, (0.6, 0.9, 0.5), strict=True):
        each.values["auroc"] = np.full(SIZE, value)
    text = words(*records, measures=(HIGH, GOLD))
    assert "By auroc (closeness to what people marked, which is not faithfulness), `bb` comes first" in text


def test_advice_warns_of_few_texts_and_tells_failures():
    text = words(record("a", 0.5), record("random", 0.1), Record("m", "lime", {}, failure="no package."), texts=12)
    assert "only 12 texts" in text
    assert "`lime` could not run: no package." in text
    assert "was measured alone" in text


def test_advice_without_any_measurement():
    assert "No method could be measured" in words(record("random", 0.1), Record("m", "lime", {}, failure="x"))


def explanation(values, body=Scores) -> Explanation:
    tokens = tuple(Token("x", 0, i, i + 1) for i in range(len(values) - 1))
    text = "x" * len(tokens)
    return Explanation("0", (text,), (Token("[CLS]", -1, 0, 0), *tokens), Target(0, "a"), body(values), Provenance("t"))


def test_agreement_equals_the_metric_averaged():
    generator = np.random.default_rng(0)
    texts = [[explanation(generator.integers(0, 4, 8).astype(float)) for _ in range(3)] for _ in range(20)]
    texts.append([explanation(np.ones(8)), *texts[0][1:]])  # constant: undefined with the first
    found = agreement("m", ("a", "b", "c"), texts)
    for i in range(3):
        for j in range(3):
            slow = rank_correlation(None, [text[i] for text in texts], [text[j] for text in texts])
            assert found.matrix[i][j] == pytest.approx(np.nanmean(slow), abs=1e-12)


def test_agreement_is_undefined_for_selections_and_single_tokens():
    selection = explanation(np.array([False, True, False]), Selection)
    found = agreement("m", ("a", "b"), [[explanation(np.array([0.0, 1, 2])), selection]])
    assert math.isnan(found.matrix[0][1])
    assert found.matrix[0][0] == pytest.approx(1)
    single = [[explanation(np.array([0.0, 1])), explanation(np.array([0.0, 1]))]]
    assert math.isnan(agreement("m", ("a", "b"), single).matrix[0][1])


def test_what_rounds_to_nothing_has_no_sign_in_the_advice():
    rows = standings(record("random", -0.0002, spread=1e-5), record("good", -0.0001, spread=1e-5))
    said = advice(rows, (HIGH, LOW), "comprehensiveness", SIZE)
    assert "`good` was measured alone: 0.000 (95 % interval 0.000 to 0.000); random scores reach 0.000." in said
