"""`compare` of methods that link two texts: what it measures, what it says, and that stopping changes nothing."""

import json
import math
import warnings
from dataclasses import replace
from io import StringIO
from itertools import combinations

import numpy as np
import pytest
import torch
from compared import content
from rich.console import Console
from scipy.stats import spearmanr

import rationales
import tiny
from rationales import compare, evaluate, explain
from rationales.cli import main
from rationales.comparison import Comparison
from rationales.data import Example, gold_alignment, gold_selection
from rationales.data.planted.scenes import PAIR_LABELS, pairs
from rationales.errors import InputError, MissingCapability
from rationales.explainers import Arec, CoAttention, DiffMask, LinkGradient, LinkRandom, method_named
from rationales.explainers.diffmask import Design, Gates
from rationales.models.pairs import Architecture, PairClassifier
from rationales.models.rationalizer.words import word_tokenizer
from rationales.report.table import print_summary
from rationales.run import parts
from rationales.run.choosing import LINK_METHODS, method_label

METRICS = ["aorc", "fidelity", "compactness", "contiguity"]
QUICK = Arec(steps=8, samples=2)
FAST = (QUICK, LinkGradient(within=0.5), "coattention")


def planted(number: int = 20) -> list[Example]:
    """More than one part of 16."""
    return list(pairs(number, deciding=("agent", "object"), scenes=1, details=0))


@pytest.fixture(scope="module")
def model() -> PairClassifier:
    """Decomposable Attention that knows the words of the pairs, with random weights."""
    words = {word.strip(".").lower() for example in planted(200) for text in example.texts for word in text.split()}
    tokenizer = word_tokenizer(sorted(words))
    architecture = Architecture("da", PAIR_LABELS, len(tokenizer), vector_size=8, hidden=6)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = architecture.network()
        for parameter in network.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, 0.0, 0.6)
    return PairClassifier(network.eval(), tokenizer, architecture, name="tiny")


@pytest.fixture(scope="module")
def done(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compare(model, planted(), FAST)


def row(comparison, method):
    return next(item for item in comparison.summary.standings if item.method == method)


# ---------------------------------------------------------------------------------------------------------------------
# What it measures


def test_figures_are_those_of_explain_and_evaluate(model, done):
    gold = [gold_alignment(example) for example in planted()]
    given = {"arec(steps=8, samples=2)": QUICK, "link_gradient(within=0.5)": FAST[1], "coattention": "coattention"}
    for name, method in given.items():
        found = explain(model, planted(), method)
        for measured in evaluate(model, found, [*METRICS, "alignment_f1"], gold=gold):
            figure = row(done, name).figures[measured.metric]
            assert figure.mean == pytest.approx(measured.aggregate.mean, abs=1e-4, nan_ok=True)
            assert figure.count == measured.aggregate.count


def test_what_people_linked_is_measured_where_they_were_asked(model, done):
    assert [item.name for item in done.summary.measures] == [*METRICS, "alignment_f1"]
    unlinked = [replace(example, alignment=None) for example in planted(3)]
    assert [item.name for item in compare(model, unlinked, [QUICK]).summary.measures] == METRICS


def test_words_that_people_marked_are_compared_with_those_at_the_ends_of_links(model):
    found = compare(model, planted(4), [QUICK], ["token_f1", "iou_f1", "alignment_recall"])
    explanations = found.explanations("arec(steps=8, samples=2)")
    gold = [gold_selection(example) for example in planted(4)]
    values = rationales.metrics.token_f1(None, explanations, gold)
    assert row(found, "arec(steps=8, samples=2)").figures["token_f1"].mean == pytest.approx(values.mean())


def test_random_links_are_the_floor_and_keep_links_as_the_others_do(model, done):
    floor = row(done, "link_random")
    assert floor.params["within"] == 0.5
    assert all(floor.figures[name].count == 20 for name in ("aorc", "fidelity", "compactness"))
    assert math.isnan(floor.figures["aorc"].gain[0])
    assert row(done, "link_gradient(within=0.5)").figures["aorc"].beats_random
    assert "random scores reach" in done.summary.advice["tiny"]
    own = compare(model, planted(3), [LinkRandom(seed=3), LinkRandom(seed=4), "coattention"], ["aorc"])
    assert set(own.methods()) == {"link_random", "link_random(seed=4)", "coattention"}
    assert row(own, "link_random").params == {"within": 0.0, "seed": 3}


def test_links_stands_for_all_that_need_no_training(model):
    found = compare(model, planted(2), "links", ["aorc"])
    assert set(found.methods()) == set(LINK_METHODS)
    assert "link_backselect" not in LINK_METHODS
    more = compare(model, planted(2), ["links", "link_backselect"], ["aorc"])
    assert set(more.methods()) == {*LINK_METHODS, "link_backselect"}


def test_methods_that_keep_nothing_have_no_figures_and_are_told(model, done):
    own = row(done, "coattention")
    assert own.figures["aorc"].count == 20
    assert [own.figures[name].count for name in METRICS[1:]] == [0, 0, 0]
    said = done.summary.advice["tiny"]
    assert "`coattention` weights links and keeps none, so there is nothing to measure by fidelity, " in said
    assert "--method coattention:within=0.5" in said
    assert "nan" not in said.lower()


def test_ranked_by_what_some_have_no_figures_of(model):
    found = compare(model, planted(4), [QUICK, "coattention", "link_gradient"], rank_by="fidelity")
    assert found.methods()[0] == "arec(steps=8, samples=2)"
    assert [item.tied for item in found.summary.standings] == [True, False, False, False]
    said = found.summary.advice["tiny"]
    assert "was measured alone" in said
    assert "`coattention` and `link_gradient` weight links and keep none" in said
    assert "random" not in said  # nothing is known of it
    assert "nan" not in said.lower()


def test_where_nothing_can_be_measured_it_is_said_why(model):
    found = compare(model, planted(3), ["coattention"], ["compactness"])
    said = found.summary.advice["tiny"]
    assert said.startswith("No method could be measured on this model and these texts. `coattention` weights links")
    print_summary(found.summary, Console(file=StringIO(), width=200))


def test_agreement_is_of_the_weights_of_links(done):
    [agreement] = done.summary.agreements
    assert agreement.unit == "links"
    assert set(agreement.methods) == set(done.methods())
    for (i, one), (j, other) in combinations(enumerate(agreement.methods), 2):
        both = zip(done.explanations(one), done.explanations(other), strict=True)
        weights = [[item.body.weights.ravel() for item in own] for own in both]
        known = [own for own in weights if all(len(set(side)) > 1 for side in own)]  # constant weights have no ranks
        values = [spearmanr(*own).statistic for own in known]
        assert agreement.matrix[i][j] == pytest.approx(np.mean(values), abs=1e-9)


def test_a_transformer_is_compared_too():
    found = compare(tiny.classifier("bert"), tiny.pairs(), [QUICK, LinkGradient(within=1.0)])
    assert not [item.failure for item in found.summary.standings if item.failure]
    assert row(found, "link_gradient(within=1.0)").figures["fidelity"].mean <= 1.0 + 1e-4


# ---------------------------------------------------------------------------------------------------------------------
# What it shows and keeps


def test_the_table_the_page_and_pandas(done, tmp_path):
    console = Console(file=StringIO(), width=200)
    print_summary(done.summary, console)
    said = console.file.getvalue()
    assert "How far methods rank the links alike" in said
    assert "nan" not in said.lower()
    page = done.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "link_gradient(within=0.5)" in page
    assert "the same order of links" in page
    table = done.to_pandas()
    assert len(table) == 4 * 5
    assert table[table["method"] == "coattention"]["mean"].isna().sum() == 4


def test_cases_hold_the_links_of_every_method_and_of_people(done):
    for case, example in zip(done.cases(), planted(), strict=True):
        assert case.texts == example.texts
        assert set(case.explanations) == {"human", "human_alignment", *done.methods()}


class Stop(BaseException):
    """As sudden as a signal."""


@pytest.mark.parametrize("when", [0, 5, 9, 14])
def test_a_run_that_was_stopped_anywhere_goes_on_to_the_same_end(model, done, tmp_path, monkeypatch, when):
    count, real = 0, parts.Store.save

    def save(self, path, *rest):
        nonlocal count
        count += 1
        if count == when + 1:
            raise Stop
        real(self, path, *rest)

    monkeypatch.setattr(parts.Store, "save", save)
    with pytest.raises(Stop):
        compare(model, planted(), FAST, out=tmp_path)
    monkeypatch.undo()
    compare(model, planted(), FAST, out=tmp_path)
    there, wanted = content(tmp_path), content(done.directory)
    assert there == wanted
    assert Comparison.load(tmp_path).summary.agreements == done.summary.agreements


def test_further_metrics_are_measured_of_links_that_are_there(model, tmp_path, monkeypatch):
    compare(model, planted(4), ["coattention"], ["aorc"], out=tmp_path)
    monkeypatch.setattr(CoAttention, "score", None)  # whoever calls it fails
    more = compare(model, planted(4), ["coattention"], ["aorc", "compactness"], out=tmp_path)
    assert row(more, "coattention").figures["compactness"].undefined == 4


def gates(directory, model, start=0.0, name=None, labels=None):
    """Gates that keep all links or none, by the sign of `start`."""
    with torch.random.fork_rng(), torch.no_grad():
        made = Gates(Design(8, 4, name or model.name, labels or model.labels), start=start)
        made.outer.weight.zero_()
    made.save_pretrained(directory)
    return DiffMask(gates=directory)


def test_gates_that_were_trained_anew_in_their_place_explain_anew(model, tmp_path):
    for start, kept in ((5.0, 1.0), (-5.0, 0.0)):
        method = gates(tmp_path / "gates", model, start)
        found = compare(model, planted(4), [method], ["compactness"], out=tmp_path / "out")
        assert {float(item.body.keep.mean()) for item in found.explanations(method_label(method))} == {kept}


def test_what_people_linked_anew_is_measured_anew_and_not_explained(model, tmp_path, monkeypatch):
    def linked(first, second):
        return [replace(example, alignment=((first, second),)) for example in planted(4)]

    def figures(data, out=None):
        found = compare(model, data, [QUICK], ["alignment_recall", "aorc"], out=out)
        human = [case.explanations["human_alignment"].body.keep.sum() for case in found.cases()]
        return {item.method: item.figures["alignment_recall"].mean for item in found.summary.standings}, human

    before, after = linked((0, 3), (0, 3)), linked((0, 30), (0, 30))
    wanted = figures(after)
    assert figures(before, tmp_path) != wanted
    for path in (tmp_path / "models").rglob("*/*/*.json"):  # as a store of before has none
        content = json.loads(path.read_text())
        content["measures"]["alignment_recall"].pop("gold", None)
        path.write_text(json.dumps(content))
    monkeypatch.setattr(Arec, "align", None)  # whoever calls it fails
    figures(before, tmp_path)
    assert figures(after, tmp_path) == wanted
    monkeypatch.setattr(parts.Worker, "_measure", None)
    assert figures(after, tmp_path) == wanted  # nothing is left to do


def test_gates_of_another_model_are_told_of_once(model, tmp_path):
    method = gates(tmp_path, model, name="elsewhere")
    with pytest.warns(UserWarning, match="these gates were trained on elsewhere, and this model is tiny") as heard:
        found = compare(model, planted(), [method], ["aorc"])  # in two parts
    assert len(heard) == 1
    assert not row(found, method_label(method)).failure


def test_gates_for_other_labels_are_no_gates_for_this_model(model, tmp_path):
    method = gates(tmp_path, model, labels=("x", "y"))
    found = compare(model, planted(3), [method], ["aorc"])
    assert "these gates were trained on tiny (x, y)" in row(found, method_label(method)).failure


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be compared


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"methods": ["arec", "lime"]},
            "arec links two texts and lime does not; a comparison is of methods of one kind",
        ),
        ({"methods": ["links", "own"]}, "own does not"),
        ({"methods": ["coattention", "coattention"]}, "coattention is given twice"),
        ({"methods": ["links", "coattention"]}, "coattention is given twice"),
        ({"metrics": ["comprehensiveness"]}, "comprehensiveness is no metric of links.* such as aorc, fidelity"),
        ({"methods": ["gradient"], "metrics": ["aorc"]}, "aorc is no metric of single tokens.* comprehensiveness"),
        ({"stability": True, "untrained": "random"}, "stability is about the best tokens"),
        ({"metrics": ["rank_correlation"]}, "compares two sets"),
    ],
)
def test_what_does_not_fit_together_is_said(model, arguments, message):
    given = {"methods": ["coattention"], **arguments}
    with pytest.raises(InputError, match=message):
        compare(model, planted(3), **given)


def test_links_of_people_are_wanted_for_some_metrics(model):
    unlinked = [replace(example, alignment=None) for example in planted(3)]
    with pytest.raises(InputError, match="alignment_f1 needs texts in which people linked the words of two"):
        compare(model, unlinked, ["coattention"], ["alignment_f1"])


def test_single_texts_and_models_that_do_not_link_are_refused():
    model = tiny.classifier("bert")
    with pytest.raises(MissingCapability, match=r"none of the methods can explain .*links the words of two texts"):
        compare(model, ["good soup"], ["coattention"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        stubborn = tiny.classifier("deberta")
    with pytest.raises(MissingCapability, match="takes no attention function"):
        compare(stubborn, tiny.pairs(), ["coattention"])


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def call(tmp_path, monkeypatch, capsys, model):
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("model")
    rows = [{"first": e.texts[0], "second": e.texts[1], "links": json.dumps(e.alignment)} for e in planted(4)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    columns = ("--text-column", "first", "--pair-column", "second", "--alignment-column", "links")

    def run(*arguments):
        given = ["rationales", "compare", "-m", "model", "--data", "pairs.jsonl", *columns, *arguments]
        monkeypatch.setattr("sys.argv", given)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


def test_the_command_gives_options_to_all_methods_that_have_them(call, tmp_path):
    code, out, err = call("--method", "links:within=0.5:steps=8:samples=20", "--json")
    assert code == 0, err
    found = {item["method"]: item for item in json.loads(out)["standings"]}
    assert len(found) == len(LINK_METHODS)
    for item in found.values():
        known = method_named(item["method"].partition("(")[0])().__dataclass_fields__
        assert item["params"].get("within", 0.5) == 0.5
        assert ("steps" not in known) or item["params"]["steps"] == 8
        assert item["figures"]["alignment_f1"]["count"] == 4
    assert (tmp_path / "comparison/report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "links:size=3"), "no method that links two texts has an option size"),
        (("--method", "links", "--method", "lime"), "a comparison is of methods of one kind"),
        (("--method", "coattention:within=-1"), "within is a distance"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
