"""Explaining many texts, and measuring the explanations."""

import io
import itertools
import sys
import weakref
from dataclasses import astuple

import numpy as np
import pytest

from rationales import run
from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers import Explainer, explainers
from rationales.explainers.leave_one_out import LeaveOneOut
from rationales.explainers.random import Random
from rationales.explanation import Explanations, ExplanationWriter, Scores, Selection
from rationales.explanation.sequence import to_json
from rationales.metrics import comprehensiveness, jaccard
from rationales.metrics.aggregate import aggregate
from rationales.models import packer
from rationales.run import as_examples, evaluate, explain, explained
from tiny import PAIRS, TEXTS, classifier, network, pairs, singles, tokenizer


@pytest.fixture(scope="module")
def model():
    return classifier("bert")


@pytest.fixture
def three_at_once(monkeypatch):
    monkeypatch.setattr(packer, "FEWEST", 3)
    monkeypatch.setattr(packer, "MOST", 3)


def jsons(explanations) -> list:
    return [to_json(one) for one in explanations]


# ---------------------------------------------------------------------------------------------------------------------
# Texts


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("good soup", [("0", ("good soup",))]),
        (("good", "soup"), [("0", ("good", "soup"))]),
        (Example("a", ("good",)), [("a", ("good",))]),
        (["good", "soup"], [("0", ("good",)), ("1", ("soup",))]),
        (("good", "soup", "bad"), [("0", ("good",)), ("1", ("soup",)), ("2", ("bad",))]),
        (["good", ("a", "b"), Example("x", ("c",))], [("0", ("good",)), ("1", ("a", "b")), ("x", ("c",))]),
        ((("a", "b"), ("c", "d")), [("0", ("a", "b")), ("1", ("c", "d"))]),
        ((Example("x", ("a",)), Example("y", ("b",))), [("x", ("a",)), ("y", ("b",))]),
        ((word for word in ("good", "soup")), [("0", ("good",)), ("1", ("soup",))]),
        (np.array(["good", "soup"]), [("0", ("good",)), ("1", ("soup",))]),
        ("", [("0", ("",))]),
        ([], []),
    ],
)
def test_whatever_holds_texts_becomes_examples(given, expected):
    assert [(example.id, example.texts) for example in as_examples(given)] == expected


def test_examples_stay_as_they_are():
    example = Example("x", ("a",), label=1, meta={"stars": 4})
    assert next(as_examples([example])) is example


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "texts must be a string, a pair of strings, an Example, or many of these; got NoneType"),
        (5, "got int"),
        ({"text": "good"}, "got dict"),
        (b"good", "text 0 must be a string, a pair of strings or an Example, got 103"),
        (["good", ["a", "b"]], r"text 1 must be .* got \['a', 'b'\]"),
        (["good", ("a", "b", "c")], r"text 1 must be .* got \('a', 'b', 'c'\)"),
        ([("a", None)], r"text 0 must be .* got \('a', None\)"),
    ],
)
def test_what_holds_no_texts_is_refused(given, message, model):
    with pytest.raises(InputError, match=message):
        list(as_examples(given))
    with pytest.raises(InputError, match=message):
        explain(model, given, "random")


# ---------------------------------------------------------------------------------------------------------------------
# Explaining


@pytest.mark.parametrize("many", [list, tuple, iter])
def test_explanations_come_in_the_order_of_the_texts(model, three_at_once, many):
    texts = [*TEXTS, *PAIRS, *TEXTS[::-1]]
    found = explain(model, many(texts), "random")
    assert [one.texts for one in found] == [text if isinstance(text, tuple) else (text,) for text in texts]
    assert [one.id for one in found] == [str(number) for number in range(len(texts))]


@pytest.mark.parametrize("given", ["good soup", ("good soup", "bad"), Example("0", ("good soup",))])
def test_one_text_is_a_sequence_of_one(model, given):
    [one] = explain(model, given)
    texts = given.texts if isinstance(given, Example) else given if isinstance(given, tuple) else (given,)
    assert one.texts == texts
    assert isinstance(one.body, Scores)
    assert one.provenance.method == "integrated_gradients"
    assert one.target.label == model.labels[one.target.index]


def test_no_texts_give_no_explanations(model, tmp_path):
    assert len(explain(model, [], "random")) == 0
    assert len(explain(model, [], "random", out=tmp_path / "none.parquet")) == 0


def test_a_method_is_a_name_or_an_explainer_with_options(model):
    [one] = explain(model, "good soup", LeaveOneOut(erasure="mask"))
    assert one.provenance.params["erasure"] == "mask"
    [other] = explain(model, "good soup", "leave_one_out")
    assert other.provenance.params["erasure"] == "delete"
    with pytest.raises(InputError, match="no explainer is called 'leave_one'; did you mean 'leave_one_out'"):
        explain(model, "good soup", "leave_one")


def test_targets_by_name_and_number(model):
    by_number, by_name = (explain(model, TEXTS, "random", target=target) for target in (1, model.labels[1]))
    assert [one.target.index for one in by_number] == [1] * len(TEXTS)
    assert [one.target for one in by_name] == [one.target for one in by_number]
    with pytest.raises(InputError, match="no label 'mixed'"):
        explain(model, TEXTS, "random", target="mixed")


def test_a_live_model_needs_its_tokenizer():
    net = network("bert")
    [one] = explain(net, "good soup", "leave_one_out", tokenizer=tokenizer())
    [same] = explain(classifier("bert"), "good soup", "leave_one_out")
    np.testing.assert_array_equal(one.body.values, same.body.values)
    with pytest.raises(InputError, match="needs its tokenizer"):
        explain(net, "good soup")


def test_a_file_gets_the_same_explanations(model, three_at_once, tmp_path):
    texts = [*singles(), *pairs()]
    held = explain(model, texts, "leave_one_out")
    stored = explain(model, texts, "leave_one_out", out=tmp_path / "sub" / "out.parquet")
    assert repr(stored) == f"<8 explanations in {tmp_path / 'sub' / 'out.parquet'}>"
    assert jsons(stored) == jsons(held) == jsons(Explanations.load(tmp_path / "sub" / "out.parquet"))


def test_a_file_is_written_as_explanations_are_computed(model, three_at_once, tmp_path, monkeypatch):
    events = []
    write = ExplanationWriter.write

    def noted(self, explanation):
        events.append(f"wrote {explanation.id}")
        write(self, explanation)

    def texts():
        for number in range(5):
            events.append(f"read {number}")
            yield TEXTS[number]

    monkeypatch.setattr(ExplanationWriter, "write", noted)
    explain(model, texts(), "random", out=tmp_path / "out.parquet")
    reads, writes = [f"read {number}" for number in range(5)], [f"wrote {number}" for number in range(5)]
    assert events == reads[:3] + writes[:3] + reads[3:] + writes[3:]


def test_a_failure_leaves_no_file(model, three_at_once, tmp_path):
    def texts():
        yield from TEXTS
        raise OSError("the line is dead")

    with pytest.raises(OSError, match="the line is dead"):
        explain(model, texts(), "random", out=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_texts_are_consumed_round_by_round(model, three_at_once):
    taken = []
    endless = (taken.append(number) or TEXTS[number % 5] for number in itertools.count())
    found = explained(model, endless, "random")
    assert taken == []
    assert [next(found).id for _ in range(3)] == ["0", "1", "2"]
    assert taken == [0, 1, 2]
    assert next(found).id == "3"
    assert taken == [0, 1, 2, 3, 4, 5]
    found.close()


def test_explanations_that_were_handed_on_are_not_kept(model, three_at_once):
    handed_on, alive = [], []
    for one in explained(model, (TEXTS[number % 5] for number in range(30)), "random"):
        handed_on.append(weakref.ref(one))
        alive.append(sum(known() is not None for known in handed_on))
    assert max(alive) <= 6  # this round's, and perhaps the last one's


def test_texts_that_are_too_long_are_told_once_with_their_number(three_at_once):
    short = classifier("bert", max_length=8)
    with pytest.warns(UserWarning, match=r"^6 of 10 texts were longer than 8 tokens") as told:
        explain(short, [*TEXTS, *TEXTS], "random")
    assert len(told) == 1


# ---------------------------------------------------------------------------------------------------------------------
# The bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def watch(monkeypatch):
    """A screen in the place of standard error, from the first call on: before the test, pytest sets its own."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    shown = Screen()

    def watched() -> Screen:
        monkeypatch.setattr(sys, "stderr", shown)
        return shown

    return watched


def test_a_bar_where_somebody_is_watching(model, three_at_once, watch):
    screen = watch()
    explain(model, TEXTS, "random")
    assert "random" in screen.getvalue()
    assert "5/5" in screen.getvalue()


def test_no_bar_if_not_wanted(model, watch):
    screen = watch()
    explain(model, TEXTS, "random", progress=False)
    assert screen.getvalue() == ""


@pytest.mark.usefixtures("watch")  # for the environment alone; nobody looks at it
def test_no_bar_where_nobody_is_watching_unless_wanted(model, capsys):
    explain(model, TEXTS, "random")
    assert capsys.readouterr() == ("", "")
    explain(model, iter(TEXTS), "random", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "random" in err
    assert "5/?" in err  # of a stream nobody knows the length


def test_what_is_printed_beside_the_bar_goes_where_it_should(model, watch, capsys, monkeypatch):
    screen = watch()
    for _ in explained(model, TEXTS, "random"):
        print("a result")
    assert capsys.readouterr().out == "a result\n" * len(TEXTS)
    assert "a result" not in screen.getvalue()
    monkeypatch.setattr(sys, "stdout", Screen())  # the same screen: above the bar
    for _ in explained(model, TEXTS, "random"):
        print("a result")
    assert screen.getvalue().count("a result") == len(TEXTS)


# ---------------------------------------------------------------------------------------------------------------------
# Measuring


@pytest.fixture(scope="module")
def found(model):
    return explain(model, [*singles(), *pairs()], Random(seed=1))


def test_measurements_hold_values_aggregates_and_all_options(model, found):
    options = {"comprehensiveness": {"bins": (0.2, 0.5)}}
    first, second = evaluate(model, found, ["comprehensiveness", "log_odds"], options=options, seed=3)
    values = comprehensiveness(model, found, bins=(0.2, 0.5))
    np.testing.assert_allclose(first.values, values, atol=1e-6)
    assert astuple(first.aggregate) == astuple(aggregate(first.values, seed=3))
    assert (first.metric, first.best, first.method) == ("comprehensiveness", "high", "random")
    assert first.options == {"bins": (0.2, 0.5), "erasure": "delete", "aopc": "mean", "absolute": False}
    assert (second.metric, second.best) == ("log_odds", "low")
    assert second.options == {"bins": (0.01, 0.05, 0.1, 0.2, 0.5), "erasure": "pad", "absolute": False}
    assert first.aggregate.count == len(found)
    assert first.aggregate.low < first.aggregate.mean < first.aggregate.high


def test_what_is_undefined_is_counted(model):
    given = explain(model, ["", "good soup", "bad soup"], "random")
    [measured] = evaluate(model, given, ["sufficiency"])
    assert (measured.aggregate.count, measured.aggregate.undefined) == (2, 1)


def test_the_third_argument_is_what_metrics_compare_with(model, found):
    human = [one.words().with_body(Selection(np.arange(len(one.words().tokens)) == 0)) for one in found]
    words, f1 = evaluate(None, found, ["auroc", "token_f1"], gold=human, options={"token_f1": {"fraction": 0.3}})
    assert words.aggregate.undefined == sum(len(one.tokens) == 1 for one in human)
    assert f1.options == {"fraction": 0.3, "pool": "sum", "absolute": False}
    other = explain(model, [*singles(), *pairs()], Random(seed=2))
    alike, kept = evaluate(model, found, ["jaccard", "sufficiency"], other=other)
    np.testing.assert_array_equal(alike.values, jaccard(None, found, other))
    assert kept.aggregate.undefined == 0
    with pytest.raises(InputError, match="auroc compares with the explanations of people"):
        evaluate(None, found, ["auroc"])


def test_methods_are_named_together(model, found):
    mixed = [found[0], *explain(model, "good soup", "leave_one_out"), found[1]]
    [measured] = evaluate(model, mixed, ["decision_flip"])
    assert measured.method == "leave_one_out+random"


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        (["suficiency"], None, "no metric is called 'suficiency'; did you mean 'sufficiency'"),
        (["sufficiency"], {"sufficiency": {"bin": 1}}, "unexpected keyword argument 'bin'; call it as .*bins="),
        (["sufficiency"], {"jaccard": {}, "auroc": {}}, "options for metrics that are not asked for: auroc, jaccard"),
    ],
)
def test_wrong_names_are_refused(model, found, metrics, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(model, found, metrics, options=options)


def test_a_model_is_asked_for_only_where_it_is_needed(found):
    [measured] = evaluate(None, found, ["jaccard"], other=found)
    assert measured.values.tolist() == [1.0] * len(found)
    with pytest.raises(InputError, match="a model is a directory, a hub name"):
        evaluate(None, found, ["sufficiency"])


def test_every_registered_method_runs_by_its_name_alone():
    assert all(isinstance(run.as_explainer(name), Explainer) for name in explainers)
