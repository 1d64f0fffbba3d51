"""`rationales attack`, as a user calls it."""

import json
import re

import pytest

from rationales.cli import build, main
from tiny import classifier

DATA = "text,label\n" + "".join(
    f"{text},{label}\n" for label in (0, 1, 2) for text in ("the soup is not good", "Anna isn't rude", "so good")
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    classifier("bert").save_pretrained(directory / "one")
    classifier("bert", seed=1).save_pretrained(directory / "two")
    classifier("bert", labels=1).save_pretrained(directory / "number")
    return directory


@pytest.fixture
def call(tmp_path, monkeypatch, capsys, models):
    """Run the command where there are models and data; what it prints, and how it ends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")  # however long the paths of temporary directories are
    (tmp_path / "reviews.csv").write_text(DATA)
    (tmp_path / "bare.csv").write_text("text\nso good\n")
    (tmp_path / "empty.csv").write_text("text,label\n")

    def run(*arguments, model=("one",), data="reviews.csv"):
        chosen = [word for name in model for word in ("--model", str(models / name))]
        monkeypatch.setattr("sys.argv", ["rationales", "attack", *chosen, "--data", data, *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


def columns(out, first):
    """The cells behind each heading of the table of which this line, or what it begins with, is the first."""
    lines = out[out.index(first) :].split("\n\n")[0].splitlines()
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines if line.strip() and "──" not in line]
    return {row[0]: row[1:] for row in cells}


def test_a_table_of_two_models_and_every_text_in_a_file(call, tmp_path):
    code, out, err = call(model=("one", "two"))
    assert code == 0, err
    assert "every text: attack/results.json" in err
    found = json.loads((tmp_path / "attack/results.json").read_text())
    assert re.search(r"/one\s.*/two\s", out)
    shown = columns(out, "texts ")
    for number, figures in enumerate(found["models"]):
        cells = {name: row[number] for name, row in shown.items() if len(row) == 2}
        assert cells["texts"] == str(figures["texts"]) == str(len(figures["outcomes"])) == "9"
        assert cells["right before"] == str(figures["right"])
        assert cells["flipped"] == str(figures["flipped"])
        assert cells["nothing to edit"] == str(figures["no_edits"])
        assert cells["accuracy before ↑"] == f"{figures['accuracy']:.1%}"
        for name, title in (("accuracy_under_attack", "accuracy under attack ↑"), ("success_rate", "success rate ↓")):
            low, high = figures[f"{name}_interval"]
            assert low <= figures[name] <= high
            assert cells[title] == f"{figures[name]:.1%} ({100 * low:.1f}–{100 * high:.1f})"


def test_a_second_model_stands_beside_the_first(call, tmp_path):
    code, out, err = call("--show", "0", model=("one", "two"))
    assert code == 0, err
    paired = json.loads((tmp_path / "attack/results.json").read_text())["paired"]
    assert [each["figure"] for each in paired] == ["accuracy_under_attack", "success_rate"]
    assert paired[0]["first"].endswith("/one")
    assert f"Beside {paired[0]['first']}, text by text" in out
    rows = [
        re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if line.strip().startswith(paired[0]["other"])
    ]
    assert rows == [
        [
            each["other"],
            each["figure"].replace("_", " "),
            *(str(each[name]) for name in ("texts", "only_first", "only_other")),
            f"{each['p']:.3f}",
        ]
        for each in paired
    ]


def test_one_model_stands_beside_none(call):
    assert "text by text" not in call()[1]


def test_options_reach_the_search_and_json_is_the_results(call, tmp_path):
    given = ("--edits", "names,contractions", "--max-edits", "2", "--alternatives", "3", "--seed", "4", "--limit", "3")
    code, out, err = call(*given, "--json", "--out", "here")
    assert code == 0, err
    found = json.loads(out)
    assert found == json.loads((tmp_path / "here/results.json").read_text())
    assert found["search"] == {
        "edits": ["names", "contractions"], "max_edits": 2, "alternatives": 3, "sides": "both", "seed": 4,
    }  # fmt: skip
    assert found["models"][0]["texts"] == 3
    assert found["command"].startswith("rationales attack --model")


def test_going_on_prints_the_same(call):
    assert call()[1] == call()[1]


def test_other_texts_are_not_attacked_into_the_same_directory(call, tmp_path):
    assert call("--out", "here")[0] == 0
    (tmp_path / "others.csv").write_text("text,label\nOscar isn't late,1\n")
    before = (tmp_path / "here/results.json").read_text()
    code, out, err = call("--out", "here", data="others.csv")
    assert (code, out) == (2, "")
    assert err.startswith("error: here holds an attack on other texts, such as 'the soup is not good'; give another")
    assert (tmp_path / "here/results.json").read_text() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ("number",)}, "predicts a number"),
        ({"data": "bare.csv"}, "none of the 1 texts has a label"),
        ({"data": "empty.csv"}, "no texts to attack in empty"),
        ({"model": ()}, "which model?"),
        ({"data": ""}, "which texts?"),
    ],
)
def test_what_cannot_be_attacked_is_said_in_one_line(call, options, message):
    code, out, err = call(**options)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--edits", "nmaes"), "no kind of edit is called 'nmaes'"),
        (("--edits", ","), "edits are one or more of"),
        (("--max-edits", "-2"), "max_edits must be at least 1"),
        (("--out", "reviews.csv"), "reviews.csv is not a directory"),
        (("--out", "."), "holds no attack to go on with"),
    ],
)
def test_options_that_make_no_sense_are_said_in_one_line(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


def test_where_there_is_nothing_to_edit_nothing_was_attacked(call, tmp_path):
    (tmp_path / "plain.csv").write_text("text,label\n" + "so good,0\nso good,1\nso good,2\n")
    code, out, err = call("--edits", "names", "--out", "plain", data="plain.csv")
    assert code == 0, err
    assert "no text that it gets right has anything to edit, so nothing was attacked" in out
    _, out, _ = call("--out", "attack")
    assert "nothing was attacked" not in out


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        build(["attack"])(["attack", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "rationales attack --model my-classifier --data reviews.csv" in out
    assert "--max-edits" in out
