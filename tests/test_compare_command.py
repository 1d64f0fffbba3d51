"""`rationales compare`, as a user calls it."""

import json
from unittest.mock import Mock

import pytest

from rationales import Grid
from rationales.cli import build, main
from rationales.errors import InputError
from tiny import classifier

DATA = "text,label\n" + "".join(
    f"the soup was {taste},{label}\n" for label in (0, 1) for taste in ("good", "bad", "so")
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    classifier("bert").save_pretrained(directory)
    return directory


@pytest.fixture
def call(tmp_path, monkeypatch, capsys, model):
    """Run the command where there are a model and data; what it prints, and how it ends."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text(DATA)

    def run(*arguments, model=str(model)):
        given = ["rationales", "compare", "--model", model, "--data", "reviews.csv", *arguments]
        monkeypatch.setattr("sys.argv", given)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


def test_a_table_a_recommendation_and_the_page(call, tmp_path):
    code, out, err = call("--method", "gradient", "--method", "lime:samples=20")
    assert code == 0, err
    for words in ("ranked by comprehensiveness", "random", "gradient", "lime(samples=20)", "decision flip", "Spearman"):
        assert words in out
    assert "only 6 texts" in out
    assert "the page: comparison/report.html" in err
    page = (tmp_path / "comparison/report.html").read_text(encoding="utf-8")
    assert "rationales compare --model" in page


def test_in_a_pipe_lines_say_what_is_done(call):
    arguments = ("--method", "gradient", "--no-page")
    code, out, err = call(*arguments)
    assert code == 0
    assert "random finished: 6 of 12 explanations done" in err
    assert "gradient finished: 12 of 12 explanations done, 0:00:00 left\n" in err
    assert "explanations done" not in out
    _, _, err = call(*arguments)
    assert "finished" not in err  # there was nothing to do


def test_going_on_prints_the_same(call):
    _, first, _ = call("--method", "gradient", "--no-page")
    _, again, _ = call("--method", "gradient", "--no-page")
    assert again == first


def test_json_is_the_results(call, tmp_path):
    code, out, _ = call("--method", "gradient", "--metric", "sufficiency:bins=0.2,0.5", "--json", "--no-page")
    assert code == 0
    found = json.loads(out)
    assert found == json.loads((tmp_path / "comparison/results.json").read_text())
    assert found["measures"][0]["options"]["bins"] == [0.2, 0.5]
    assert found["command"].startswith("rationales compare --model")


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """The same from another seed."""
    directory = tmp_path_factory.mktemp("second")
    classifier("bert", seed=1).save_pretrained(directory)
    return directory


def test_stability_of_two_models_and_an_untrained_one(call, tmp_path, model, second):
    arguments = (
        "--model",
        str(second),
        "--method",
        "gradient",
        "--stability",
        "--untrained",
        "random",
        "--share",
        "0.4",
    )
    code, out, err = call(*arguments)
    assert code == 0, err
    said = " ".join(out.split())
    assert "How far the best 40 % of the tokens overlap between models (Jaccard)" in said
    assert "Between the 2 trained models, `gradient` is the most alike" in said
    page = (tmp_path / "comparison/report.html").read_text(encoding="utf-8")
    assert "How alike the models are explained" in page
    found = json.loads((tmp_path / "comparison/results.json").read_text())["stability"]
    assert found["models"] == [str(model), str(second), "untrained"]
    assert [len(item["pairs"]) for item in found["methods"]] == [3]
    _, again, _ = call(*arguments)
    assert again == out


OTHER = "text,label\n" + "".join(f"so the {food} was good,{label}\n" for label in (0, 1) for food in ("soup", "pasta"))


def test_several_data_sets_stand_in_one_table_and_on_one_page(call, tmp_path):
    (tmp_path / "letters.csv").write_text(OTHER)
    arguments = ("--data", "letters.csv", "--method", "gradient", "--metric", "sufficiency")
    code, out, err = call(*arguments)
    assert code == 0, err
    assert "reviews: data set 1 of 2\n" in err
    assert "the page: comparison/report.html" in err
    lines = [" ".join(line.split()) for line in out.splitlines()]
    place = lines.index("All data sets")
    assert "reviews letters" in lines[place:]
    assert any(line.startswith("macro-F1 ") for line in lines[place:])
    page = (tmp_path / "comparison/report.html").read_text(encoding="utf-8")
    assert "Does it hold on other data?" in page
    alone = json.loads((tmp_path / "comparison/letters/results.json").read_text())
    assert alone["texts"] == 4
    shown = [f"{item['figures']['sufficiency']['mean']:.3f}" for item in alone["standings"]]
    assert all(
        any(line.split()[0] == item["method"] and mean in line for line in lines[place:] if line)
        for item, mean in zip(alone["standings"], shown, strict=True)
    )

    _, again, err = call(*arguments)
    assert again == out  # nothing was computed anew
    assert "finished" not in err
    code, out, _ = call(*arguments, "--json", "--no-page")
    assert code == 0
    found = json.loads(out)
    assert list(found) == ["reviews", "letters"]
    assert found["letters"]["standings"] == alone["standings"]


def test_a_directory_keeps_to_one_data_set_or_to_several(call, tmp_path):
    (tmp_path / "letters.csv").write_text(OTHER)
    fast = ("--method", "gradient", "--no-page")
    assert call("--data", "letters.csv", *fast)[0] == 0
    code, _, err = call(*fast)
    assert (code, "holds comparisons on several data sets" in err) == (2, True)
    assert call(*fast, "--out", "alone")[0] == 0
    code, _, err = call("--data", "letters.csv", *fast, "--out", "alone")
    assert (code, "holds a comparison on one data set" in err) == (2, True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    code, _, err = call("--data", "letters.csv", *fast, "--out", "notes")
    assert (code, "holds no comparisons to go on with" in err) == (2, True)


def test_nothing_is_begun_if_one_of_the_data_sets_cannot_be_opened(call, tmp_path):
    code, _, err = call("--data", "nowhere.csv")
    assert code == 2
    assert "nowhere.csv" in err
    assert not (tmp_path / "comparison").exists()


def test_nothing_is_begun_if_a_metric_does_not_fit_one_of_them(call, tmp_path):
    rows = [{"text": "good soup", "label": 1, "rationale": [[0, 4]]}, {"text": "bad soup", "label": 0}]
    (tmp_path / "marked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = call("--data", "marked.jsonl", "--metric", "auroc")
    assert code == 2
    assert "error: reviews: auroc needs texts in which people marked" in " ".join(err.split())
    assert not (tmp_path / "comparison").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "empty.csv"), "error: empty: there are no texts"),
        (
            ("--data", "letters.csv", "--rank-by", "auroc"),
            "error: reviews: methods are ranked by a metric that is measured; 'auroc' is not among them",
        ),
    ],
)
def test_nothing_is_begun_if_one_of_them_cannot_be_compared(call, tmp_path, arguments, message):
    (tmp_path / "letters.csv").write_text(OTHER)
    (tmp_path / "empty.csv").write_text("text,label\n")
    code, _, err = call(*arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert not (tmp_path / "comparison").exists()


def test_a_run_that_fails_leaves_the_grid_as_it_was(call, tmp_path, monkeypatch):
    for name, text in (("letters", OTHER), ("mails", OTHER.replace("so ", ""))):
        (tmp_path / f"{name}.csv").write_text(text)
    fast = ("--method", "gradient", "--metric", "sufficiency", "--no-page")
    assert call("--data", "letters.csv", *fast)[0] == 0
    with monkeypatch.context() as broken:
        broken.setattr("rationales.run.compare", Mock(side_effect=InputError("no room")))
        assert call("--data", "mails.csv", *fast)[0] == 2
    assert list(Grid.load(tmp_path / "comparison")) == ["reviews", "letters"]
    assert call("--data", "mails.csv", *fast)[0] == 0
    assert list(Grid.load(tmp_path / "comparison")) == ["reviews", "mails"]


def test_other_texts_in_a_place_of_the_grid_are_found_before_anything_is_begun(call, tmp_path):
    (tmp_path / "letters.csv").write_text(OTHER)
    fast = ("--data", "letters.csv", "--method", "gradient", "--metric", "sufficiency", "--no-page")
    assert call(*fast)[0] == 0
    (tmp_path / "letters.csv").write_text(OTHER.replace("so ", ""))
    (tmp_path / "comparison/reviews/results.json").unlink()
    code, _, err = call(*fast)
    assert code == 2
    assert "error: letters: comparison/letters holds a comparison of other texts" in " ".join(err.split())
    assert not (tmp_path / "comparison/reviews/results.json").exists()


def test_a_metric_is_measured_in_one_way(call, tmp_path):
    code, _, err = call("--metric", "sufficiency:bins=0.1", "--metric", "sufficiency:bins=0.5")
    assert (code, "a metric is given twice" in err) == (2, True)
    assert not (tmp_path / "comparison").exists()


def test_the_same_data_twice_is_refused(call):
    code, _, err = call("--data", "reviews.csv")
    assert code == 2
    assert "two of --data would both be called" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stability",), "give others that were trained from other seeds"),
        (("--untrained", "random"), "ask for that too (--stability)"),
        (("--stability", "--untrained", "random", "--share", "0"), "share must be above 0"),
        (("--stability", "--untrained", "./nowhere"), "there is no directory ./nowhere"),
        (("--method", "limes"), "did you mean 'lime'?"),
        (("--method", "lnks"), "did you mean 'links'?"),
        (("--method", "nothing-like-it"), "link_random, links"),
        (("--method", "lime:sample=3"), "lime has no option --sample"),
        (("--method", "lime:samples"), "name:option=value"),
        (("--method", "lime:samples=many"), "--samples must be a number"),
        (("--metric", "sufficiency:bin=0.1"), "sufficiency has no option --bin"),
        (("--metric", "auroc"), "people marked"),
        (("--rank-by", "log_odds"), "'log_odds' is not among them"),
        (("--target", "nonsense"), "no label 'nonsense'"),
        (("--text-column", "review"), "review"),
        (("--out", "reviews.csv"), "reviews.csv is not a directory"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call, arguments, message):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in " ".join(err.split())


def test_a_model_and_data_are_needed(call, monkeypatch, capsys):
    for arguments, message in (((), "which model?"), (("--model", "x"), "which texts?")):
        monkeypatch.setattr("sys.argv", ["rationales", "compare", *arguments])
        with pytest.raises(SystemExit):
            main()
        assert message in capsys.readouterr().err


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        build(["compare"])(["compare", "--help"])
    assert "rationales compare --model my-classifier --data reviews.csv" in " ".join(capsys.readouterr().out.split())
