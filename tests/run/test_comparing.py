"""`compare`: what it measures, what it keeps, and that stopping and going on changes nothing."""

import math
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from compared import content

import rationales
from rationales import compare, evaluate, explain
from rationales.comparison import Comparison
from rationales.data import Example, gold_selection, load
from rationales.errors import InputError, MissingCapability
from rationales.explainers import Gradient, Lime, Random, explainers
from rationales.metrics import comprehensiveness
from rationales.run import parts
from rationales.run.choosing import method_label
from tiny import classifier, pairs, singles

FAST = ("gradient", "attention")


def reviews(number: int = 20) -> list[Example]:
    """More than one part of 16, with words that count marked in each."""
    return [
        Example(str(place), (f"{'so ' * (place % 5)}the {food} was {taste} ,",), place % 2, rationale=(((0, 3),),))
        for place, (food, taste) in zip(
            range(number), (("soup", "good"), ("pasta", "awful"), ("food", "bland")) * number, strict=False
        )
    ]


@pytest.fixture(scope="module")
def model():
    return classifier("bert")


@pytest.fixture(scope="module")
def done(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compare(model, reviews(), FAST)


# ---------------------------------------------------------------------------------------------------------------------
# What it measures


def test_figures_are_those_of_explain_and_evaluate(model, done):
    gold = [gold_selection(example) for example in reviews()]
    for standing in done.summary.standings:
        found = explain(model, reviews(), standing.method)
        for row in evaluate(model, found, list(standing.figures), gold=gold):
            figure = standing.figures[row.metric]
            assert figure.mean == pytest.approx(row.aggregate.mean, abs=1e-6)
            assert (figure.low, figure.high) == pytest.approx((row.aggregate.low, row.aggregate.high), abs=1e-6)
            assert figure.count == row.aggregate.count


def test_random_is_always_there_and_given_methods_keep_their_names(done):
    assert {item.method for item in done.summary.standings} == {"random", *FAST}
    assert [item.rank for item in done.summary.standings] == [1, 2, 3]


def test_plausibility_is_measured_where_people_marked_words(model, done):
    assert [item.name for item in done.summary.measures] == [
        *("comprehensiveness", "sufficiency", "decision_flip"),
        *("auroc", "auprc"),
    ]
    unmarked = [replace(example, rationale=None) for example in reviews(3)]
    assert len(compare(model, unmarked, ["gradient"]).summary.measures) == 3


def test_curves_begin_with_the_whole_text_and_end_with_none(model, done):
    standing = next(item for item in done.summary.standings if item.method == "gradient")
    curves = standing.curves
    assert curves.fractions == (0, 0.01, 0.05, 0.1, 0.2, 0.5, 1)
    assert curves.without_best[0] == pytest.approx(curves.only_best[-1], abs=1e-6)
    assert curves.without_best[-1] == pytest.approx(curves.only_best[0], abs=1e-6)
    fall = np.mean([curves.without_best[0] - point for point in curves.without_best[1:-1]])
    assert fall == pytest.approx(standing.figures["comprehensiveness"].mean, abs=1e-6)


def test_metrics_share_their_forward_passes(model, monkeypatch):
    rows = Counter()
    ask = model.logits

    def logits(batch):
        for row, keep in zip(batch.ids.tolist(), batch.keep, strict=True):
            rows[tuple(id for id, kept in zip(row, keep.tolist(), strict=True) if kept)] += 1
        return ask(batch)

    monkeypatch.setattr(model, "logits", logits)
    text = "the soup was good but we never loved a rude waiter and slow staff"  # no word twice
    compare(model, [text], [], ["comprehensiveness", "sufficiency", "decision_flip"])
    whole = tuple(model.encode([Example("0", (text,))]).ids[0].tolist())
    assert rows.pop(whole) == 3  # to predict, by the explainer, and for all metrics and curves together
    assert len(rows) > 6
    assert set(rows.values()) == {1}


def test_several_models_have_a_table_each():
    models = {"one": classifier("bert", seed=0), "two": classifier("roberta", seed=1)}
    found = compare(models, reviews(3), ["gradient"])
    assert found.summary.models == ("one", "two")
    assert [item.model for item in found.summary.standings] == ["one"] * 2 + ["two"] * 2
    assert set(found.summary.advice) == {"one", "two"}
    assert {case.model for case in found.cases("two")} == {"two"}
    with pytest.raises(InputError, match="one, two"):
        next(found.cases())
    with pytest.raises(InputError, match="different names"):
        compare([models["one"], models["one"]], reviews(3))


def test_a_method_that_cannot_run_leaves_the_others_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = classifier("deberta")
    found = compare(model, reviews(3), ["attention", "gradient"])
    failed = found.summary.standings[-1]
    assert failed.method == "attention"
    assert "attention" in failed.failure
    assert "`attention` could not run" in next(iter(found.summary.advice.values()))
    assert found.methods() == tuple(item.method for item in found.summary.standings[:-1])
    with pytest.raises(InputError, match="no explanations by 'attention'"):
        found.explanations("attention")


def test_options_stand_behind_the_name_of_a_method(model):
    assert method_label(Gradient()) == "gradient"
    assert method_label(Lime(samples=20, seed=3)) == "lime(samples=20, seed=3)"
    found = compare(model, reviews(3), [Lime(samples=20), Lime(samples=30)], ["comprehensiveness"])
    assert {"lime(samples=20)", "lime(samples=30)"} < set(found.methods())
    with pytest.raises(InputError, match="twice"):
        compare(model, reviews(3), ["gradient", "gradient"])
    assert set(compare(model, reviews(3), [Random(seed=1)]).methods()) == {"random", "random(seed=1)"}


def test_metric_options_are_used_and_recorded(model):
    found = compare(model, reviews(3), [], ["comprehensiveness"], options={"comprehensiveness": {"bins": (0.5,)}})
    [measure] = found.summary.measures
    assert tuple(measure.options["bins"]) == (0.5,)
    values = comprehensiveness(model, explain(model, reviews(3), "random"), bins=(0.5,))
    assert found.summary.standings[0].figures["comprehensiveness"].mean == pytest.approx(values.mean(), abs=1e-6)


def test_ranked_by_what_is_asked_for(model):
    found = compare(model, reviews(), FAST, ["comprehensiveness", "sufficiency"], rank_by="sufficiency")
    means = [item.figures["sufficiency"].mean for item in found.summary.standings]
    assert means == sorted(means)
    assert found.summary.ranked_by == "sufficiency"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["nonsense"]}, "no method is called 'nonsense'"),
        ({"methods": ["lnks"]}, "did you mean .links."),
        ({"metrics": ["nonsense"]}, "no metric is called 'nonsense'"),
        ({"metrics": ["jaccard"]}, "jaccard compares two sets"),
        ({"metrics": []}, "no metric"),
        ({"rank_by": "log_odds"}, "'log_odds' is not among them"),
        ({"data": []}, "no texts"),
        ({"data": "no-such-file.csv"}, "no-such-file.csv"),
        ({"target": "nonsense"}, "nonsense"),
    ],
)
def test_what_cannot_be_compared_is_said(model, arguments, message):
    given = {"data": reviews(3), "methods": ["gradient"], **arguments}
    with pytest.raises((InputError, MissingCapability), match=message):
        compare(model, given.pop("data"), **given)


def test_plausibility_without_marked_words_is_refused(model):
    with pytest.raises(InputError, match="people marked"):
        compare(model, ["good soup"], ["gradient"], ["auroc"])


def test_texts_pairs_and_data_sets_are_taken(model, tmp_path):
    assert compare(model, ["good soup", "bad soup"], []).summary.texts == 2
    assert compare(model, [example.texts for example in pairs()[:2]], []).summary.texts == 2
    (tmp_path / "some.csv").write_text("text,label\ngood soup,1\nbad soup,0\n")
    found = compare(model, load(tmp_path / "some.csv"), [])
    assert found.summary.texts == 2
    assert compare(model, str(tmp_path / "some.csv"), []).summary.data == found.summary.data


def test_every_method_of_the_registry_can_be_compared(model):
    names = [name for name in explainers if name != "random"]
    given = [Lime(samples=20) if name == "lime" else name for name in names]
    found = compare(model, singles()[:2], given, ["comprehensiveness"])
    assert not [item.failure for item in found.summary.standings if item.failure]
    [agreement] = found.summary.agreements
    assert len(agreement.matrix) == len(explainers)


def test_notes_tell_of_attributions_that_do_not_add_up(model):
    given = rationales.explainers.IntegratedGradients(steps=1, max_steps=1, tolerance=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(model, reviews(3), [given], ["comprehensiveness"])
    [standing] = [item for item in found.summary.standings if item.method != "random"]
    assert "3 of 3 texts do not add up" in standing.notes[0]


def test_texts_that_are_cut_are_counted_once_also_when_nothing_is_left_to_do(model, tmp_path):
    texts = [*reviews(17), Example("long", ("so " * 100,))]
    for _ in range(2):
        with pytest.warns(UserWarning, match="1 of 18 texts were longer than 64 tokens"):
            compare(model, texts, [], ["comprehensiveness"], out=tmp_path / "c")


# ---------------------------------------------------------------------------------------------------------------------
# What it keeps


def test_cases_hold_texts_truth_predictions_and_every_explanation(model, done):
    cases = list(done.cases())
    assert [case.id for case in cases] == [example.id for example in reviews()]
    logits = model.logits(model.encode(reviews()))
    for case, example, row in zip(cases, reviews(), logits.softmax(-1), strict=True):
        assert case.texts == example.texts
        assert case.label == model.labels[example.label]
        assert case.predicted == model.labels[int(row.argmax())]
        assert case.probability == pytest.approx(float(row.max().detach()), abs=1e-6)
        assert case.right == (case.label == case.predicted)
        assert set(case.explanations) == {"human", "random", *FAST}
        assert case.explanations["human"].words().body.keep[0]


def test_explanations_of_a_method_are_those_of_explain(model, done):
    for ours, theirs in zip(done.explanations("gradient"), explain(model, reviews(), "gradient"), strict=True):
        assert ours.id == theirs.id
        np.testing.assert_allclose(ours.body.values, theirs.body.values, atol=1e-6)


def test_a_comparison_reads_what_it_wrote(model, tmp_path):
    made = compare(model, reviews(), FAST, out=tmp_path / "c", command="rationales compare")
    read = Comparison.load(tmp_path / "c")
    assert read.summary == made.summary
    assert read.summary.command == "rationales compare"
    assert "20 texts" in repr(read)
    assert len(read.to_pandas()) == 3 * 5
    assert set(read.to_pandas()["metric"]) == {item.name for item in read.summary.measures}


def test_a_directory_without_a_finished_comparison_is_no_comparison(model, tmp_path):
    with pytest.raises(InputError, match="holds no comparison"):
        Comparison.load(tmp_path)
    compare(model, reviews(3), [], out=tmp_path / "c")
    (tmp_path / "c/results.json").unlink()
    with pytest.raises(InputError, match="not finished"):
        Comparison.load(tmp_path / "c")


def test_other_peoples_directories_are_left_alone(model, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="holds no comparison to go on with"):
        compare(model, reviews(3), [], out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


# ---------------------------------------------------------------------------------------------------------------------
# Stopping and going on


class Stop(BaseException):
    """As sudden as a signal."""


@pytest.mark.parametrize("when", range(0, 18, 3))
def test_a_run_that_was_stopped_anywhere_goes_on_to_the_same_end(model, tmp_path, monkeypatch, when):
    undisturbed = compare(model, reviews(), FAST, out=tmp_path / "whole")
    saves = Counter()
    real = parts.Store.save

    def save(self, path, *rest):
        saves["all"] += 1
        if saves["all"] == when + 1:
            raise Stop
        real(self, path, *rest)

    monkeypatch.setattr(parts.Store, "save", save)
    with pytest.raises(Stop):
        compare(model, reviews(), FAST, out=tmp_path / "parts")
    monkeypatch.undo()
    assert not (tmp_path / "parts/results.json").exists()
    compare(model, reviews(), FAST, out=tmp_path / "parts")
    assert content(tmp_path / "parts") == content(tmp_path / "whole")
    assert undisturbed.summary.texts == 20


def test_what_is_finished_is_not_done_again(model, tmp_path, monkeypatch):
    compare(model, reviews(), FAST, out=tmp_path / "c")
    monkeypatch.setattr(explainers["gradient"], "attribute", None)  # whoever calls it fails
    before = content(tmp_path / "c")
    compare(model, reviews(), FAST, out=tmp_path / "c")
    assert content(tmp_path / "c") == before


def test_further_methods_metrics_and_texts_are_added(model, tmp_path, monkeypatch):
    compare(model, reviews(), ["gradient"], ["comprehensiveness"], out=tmp_path / "c")
    called = []
    real = explainers["gradient"].attribute
    monkeypatch.setattr(
        explainers["gradient"],
        "attribute",
        lambda self, model, batch, targets: called.append(len(batch)) or real(self, model, batch, targets),
    )
    more = compare(model, reviews(), ["gradient", "attention"], ["comprehensiveness", "log_odds"], out=tmp_path / "c")
    assert called == []
    assert set(more.methods()) == {"random", "gradient", "attention"}
    fresh = compare(model, reviews(), ["gradient", "attention"], ["comprehensiveness", "log_odds"])
    for ours, theirs in zip(more.summary.standings, fresh.summary.standings, strict=True):
        assert ours.figures == theirs.figures
    called.clear()
    compare(model, reviews(40), ["gradient"], ["comprehensiveness"], out=tmp_path / "c")
    assert called == [16, 8]  # the first part was whole


def test_another_model_under_the_same_name_begins_anew(tmp_path):
    one, two = (classifier("bert", seed=seed) for seed in (0, 1))
    compare({"m": one}, reviews(), ["gradient"], out=tmp_path / "c")
    again = compare({"m": two}, reviews(), ["gradient"], out=tmp_path / "c")
    fresh = compare({"m": two}, reviews(), ["gradient"])
    assert [item.figures for item in again.summary.standings] == [item.figures for item in fresh.summary.standings]
    for ours, theirs in zip(again.cases(), fresh.cases(), strict=True):
        assert (ours.predicted, ours.probability) == (theirs.predicted, theirs.probability)


def test_changed_texts_begin_anew(model, tmp_path):
    compare(model, reviews(), ["gradient"], out=tmp_path / "c")
    changed = [replace(example, texts=("never again !",), rationale=None) for example in reviews()]
    changed[5] = reviews()[5]
    again = compare(model, changed, ["gradient"], out=tmp_path / "c")
    assert {case.texts for case in again.cases()} == {("never again !",), reviews()[5].texts}
    assert "human" not in next(again.cases()).explanations


def test_a_seed_below_zero_is_refused_before_anything_is_explained(model, tmp_path):
    with pytest.raises(InputError, match="seed must be a number from 0 up, got -1"):
        compare(model, reviews(3), [], seed=-1, out=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_damaged_part_is_named(model, tmp_path):
    compare(model, reviews(3), [], out=tmp_path / "c")
    [path] = (tmp_path / "c/models").rglob("random/00000.json")
    path.write_text("{")
    with pytest.raises(ValueError, match=r"00000\.json is damaged"):
        compare(model, reviews(3), [], out=tmp_path / "c")


def test_values_that_are_not_numbers_survive(model, tmp_path):
    found = compare(model, [Example("0", ("",)), *reviews(3)], ["gradient"], ["comprehensiveness"], out=tmp_path / "c")
    figure = Comparison.load(tmp_path / "c").summary.standings[0].figures["comprehensiveness"]
    assert (figure.count, figure.undefined) == (3, 1)
    assert not math.isnan(figure.mean)
    assert found.summary.texts == 4


def test_texts_without_an_answer_are_left_out_and_told(model, monkeypatch):
    texts = [*reviews(3), Example("nan", ("never again",))]
    ask, again = model.logits, model.encode([texts[-1]]).ids[0, 1]

    def logits(batch):
        found = ask(batch)
        return found.masked_fill((batch.ids == again).any(-1, keepdim=True), math.nan)

    monkeypatch.setattr(model, "logits", logits)
    found = compare(model, texts, ["leave_one_out"], ["comprehensiveness"])
    assert "answers 1 of 4 texts with NaN" in next(iter(found.summary.advice.values()))
    *_, last = found.cases()
    assert last.predicted == ""
    assert math.isnan(last.probability)
    figure = found.summary.standings[0].figures["comprehensiveness"]
    assert (figure.count, figure.undefined) == (3, 1)


def test_a_comparison_of_other_texts_is_left_alone(model, tmp_path):
    compare(model, reviews(4), ["gradient"], out=tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(InputError, match="holds a comparison of other texts, such as 'the soup was good ,'"):
        compare(model, ["never again", "we loved it"], ["gradient"], out=tmp_path / "out")
    assert content(tmp_path / "out") == before
    changed = [replace(reviews(4)[0], texts=("the soup was tasty ,",)), *reviews(4)[1:]]
    assert compare(model, changed, ["gradient"], out=tmp_path / "out").summary.texts == 4
