"""`rationales compare`, as a user calls it."""

import json

import pytest

from rationales.cli import build, main
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
