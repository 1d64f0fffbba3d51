"""The command, called as a user calls it: arguments in, text and exit status out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from sklearn.metrics import accuracy_score, f1_score

from rationales.cli import build, main
from rationales.cli.fields import built, merged_parameters
from rationales.cli.train import listed, of_one_label
from rationales.data import Example
from rationales.errors import InputError
from rationales.explainers import aligners, explainers
from rationales.explanation import Explanations
from rationales.metrics import metrics
from rationales.registry import option, options_of
from tiny import classifier


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("model")
    classifier("bert").save_pretrained(directory)
    return str(directory)


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command; (exit status, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rationales", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.mark.parametrize(
    ("arguments", "listed"), [(["--help"], ("explain", "train")), (["train", "--help"], ("classifier", "rnp"))]
)
def test_the_list_of_commands_does_not_load_pytorch(arguments, listed):
    code = f"""
import sys
from rationales.cli import main
sys.argv = ["rationales", *{arguments}]
try:
    main()
except SystemExit:
    assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for command in listed:
        assert command in done.stdout


def test_version(call):
    status, out, _ = call("--version")
    assert status == 0
    assert out.startswith("rationales 0.")


@pytest.mark.parametrize(
    "command", [["explain"], ["train", "classifier"], ["methods"], ["metrics"], ["data"], ["demo"]]
)
def test_help_shows_an_example(call, command):
    status, out, _ = call(*command, "--help")
    assert status == 0
    assert "Example" in out


@pytest.mark.parametrize(
    "words",
    [["explain"], ["compare"], ["attack"], ["report"], ["diagnose"], ["reproduce"], *(["train", n] for n in listed())],
    ids=" ".join,
)
def test_names_of_options_are_whole_at_80_columns(call, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = call(*words, "--help")
    assert status == 0
    command = typer.main.get_command(build(words))
    for word in words:
        command = command.commands[word]
    names = [name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("--")]
    assert not set(names) - set(out.split())


def test_explain_has_an_option_for_every_field_of_every_method(call):
    _, out, _ = call("explain", "--help")
    for cls in (*explainers.values(), *aligners.values()):
        for field in options_of(cls):
            assert "--" + field.name.replace("_", "-") in out


def test_explain_prints_plain_text_in_a_pipe(call, model):
    status, out, _ = call("explain", "-m", model, "--method", "leave_one_out", "the soup was unfriendly")
    assert status == 0
    lines = out.splitlines()
    assert "LABEL_" in lines[0]
    assert "leave_one_out" in lines[0]
    assert lines[1] == "the soup was unfriendly"
    assert sorted(line.split()[1] for line in lines[2:6]) == ["soup", "the", "unfriendly", "was"]
    assert "\x1b" not in out


def test_explain_as_json_from_standard_input(call, model):
    status, out, _ = call(
        "explain", "-m", model, "--method", "random", "--json", stdin="good soup\n\nbad [b]soup[/b]\n"
    )
    assert status == 0
    first, second = map(json.loads, out.splitlines())
    assert first["texts"] == ["good soup"]
    assert second["texts"] == ["bad [b]soup[/b]"]
    assert second["provenance"]["method"] == "random"


def test_options_reach_the_method_and_its_provenance(call, model, tmp_path):
    out = tmp_path / "found.parquet"
    given = ["--method", "integrated_gradients", "--steps", "7", "--max-steps", "700", "--baseline", "mask"]
    status, _, err = call("explain", "-m", model, *given, "--target", "LABEL_1", "--out", str(out), "good soup")
    assert status == 0, err
    (found,) = Explanations.load(out)
    assert found.provenance.params["steps"] == 7
    assert found.provenance.params["baseline"] == "mask"
    assert found.target.label == "LABEL_1"


def test_options_may_stand_behind_the_method_as_in_compare(call, model, tmp_path):
    out = tmp_path / "found.parquet"
    status, _, _ = call("explain", "-m", model, "--method", "lime:samples=20", "--out", str(out), "good food")
    assert status == 0
    assert Explanations.load(out)[0].provenance.params["samples"] == 20


def test_links_of_a_pair_with_options_of_their_method(call, model, tmp_path):
    out = tmp_path / "found.parquet"
    given = ["--method", "link_integrated_gradients", "--steps", "5", "--output", "logit", "--within", "0.1"]
    status, _, err = call("explain", "-m", model, *given, "good soup", "--pair", "bad food", "--out", str(out))
    assert status == 0, err
    (found,) = Explanations.load(out)
    assert found.provenance.method == "link_integrated_gradients"
    assert {name: found.provenance.params[name] for name in ("steps", "output", "within")} == {
        "steps": 5,
        "output": "logit",
        "within": 0.1,
    }
    assert found.body.weights.shape == (2, 2)
    assert found.body.keep is not None
    assert found.checks["fidelity"] <= 0.1
    status, _, err = call("explain", "-m", model, "--method", "link_gradient", "good soup")
    assert status == 2
    assert "link_gradient links the words of two texts" in err
    status, _, err = call("explain", "-m", model, "--method", "link_gradient", "--seed", "1", "good", "--pair", "bad")
    assert status == 2
    assert "link_gradient has no option --seed; its options: --within, --output" in err


def test_a_pair_keeps_its_two_texts(call, model, tmp_path):
    out = tmp_path / "found.jsonl"
    status, _, _ = call(
        "explain", "-m", model, "--method", "gradient", "--pair", "bad soup", "good soup", "--out", str(out)
    )
    assert status == 0
    (found,) = Explanations.from_jsonl(out)
    assert found.texts == ("good soup", "bad soup")


def test_explain_a_file_and_skip_its_bad_rows(call, model, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("review,label\ngood soup,1\n,0\nbad waiter,0\n")
    status, _, err = call("explain", "-m", model, "--method", "gradient", "--data", str(rows))
    assert status == 2
    assert "row 2" in err
    assert "empty" in err
    out = tmp_path / "found.parquet"
    status, _, _ = call("explain", "-m", model, "--method", "gradient", "--data", str(rows), "--on-error", "skip",
                        "--out", str(out))  # fmt: skip
    assert status == 0
    assert [item.texts[0] for item in Explanations.load(out)] == ["good soup", "bad waiter"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text"], "which model"),
        (["-m", "MODEL", "--method", "lmie", "text"], "did you mean 'lime'"),
        (["-m", "MODEL", "--method", "gradient", "--steps", "3", "text"], "gradient has no option --steps"),
        (["-m", "MODEL", "--target", "nope", "text"], "no label 'nope'"),
        (["-m", "MODEL", "--target", "7", "text"], "0 … 2"),
        (["-m", "MODEL", "--out", "found.txt", "text"], ".parquet or .jsonl"),
        (["-m", "MODEL", "  "], "is empty"),
        (["-m", "MODEL"], "no text"),
        (["-m", "MODEL", "--pair", "b", "a", "c"], "one text"),
        (["-m", "MODEL", "--data", "x.csv", "text"], "not both"),
        (["-m", "MODEL", "--data", "x.csv"], "x.csv"),
        (["-m", "./nowhere", "text"], "no directory"),
        (["-m", "MODEL", "--max-length", "9999", "text"], "max_length"),
        (["-m", "MODEL", "--method", "attention", "--layers", "9", "text"], "layers 0 … 1"),
        (["-m", "MODEL", "--method", "attention", "--heads", "last", "text"], "heads must be all"),
        (["-m", "MODEL", "--limit", "-1", "text"], "--limit"),
        (["-m", "MODEL", "--device", "banana", "text"], "device 'banana' cannot be used"),
        (["-m", "MODEL", "--method", "random", "--seed", "-1", "text"], "seed must not be negative"),
        (["-m", "MODEL", "--target", "²", "text"], "no label '²'"),
        (["-m", "MODEL", "--json", "--out", "x.jsonl", "text"], "give one of them"),
        (["-m", "MODEL", "--split", "dev", "text"], "go with --data"),
        (["-m", "MODEL", "--pair", " ", "text"], "second text is empty"),
        (["-m", "MODEL", "--method", "attention_rollout", "--residual", "5", "text"], "residual is a share"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(call, model, arguments, message):
    status, out, err = call("explain", *(model if item == "MODEL" else item for item in arguments))
    assert status == 2
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.filterwarnings("default")
def test_a_second_column_of_texts_that_is_not_read_is_told(call, model, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("question,answer\nis the soup good,the soup was so bad\n")
    given = ("explain", "-m", model, "--method", "gradient", "--data", str(rows))
    status, out, err = call(*given)
    assert status == 0
    assert "warning: the text is read from the column 'question'; left out: 'answer'" in err
    assert "(--pair-column answer)" in err
    assert "the soup was so bad" not in out
    status, out, err = call(*given, "--pair-column", "answer")
    assert (status, err) == (0, "")
    assert "the soup was so bad" in out
    status, out, err = call(*given, "--pair-column", "")
    assert (status, err) == (0, "")


@pytest.mark.filterwarnings("default")
def test_long_texts_are_cut_with_a_warning(call, model):
    status, _, err = call(
        "explain", "-m", model, "--method", "gradient", "--max-length", "6", "so very very very good soup"
    )
    assert status == 0
    assert "1 of 1 texts were longer than 6 tokens" in err


def test_an_empty_file_is_said_to_be_empty(call, model, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n")
    status, _, err = call("explain", "-m", model, "--data", str(rows))
    assert status == 2
    assert "no texts in" in err


def test_a_model_without_a_tokenizer_is_refused(call, tmp_path):
    classifier("bert").model.save_pretrained(tmp_path / "bare")
    status, _, err = call("explain", "-m", str(tmp_path / "bare"), "good soup")
    assert status == 2
    assert "no tokenizer" in err


def test_methods_may_give_one_option_different_types():
    @dataclass(frozen=True)
    class Counted:
        width: int = option(3, "tokens")

    @dataclass(frozen=True)
    class Scaled:
        width: float = option(0.5, "a share")
        bins: tuple[float, ...] = option((0.1,), "bins")

    classes = {"counted": Counted, "scaled": Scaled}
    names = [parameter.name for parameter in merged_parameters(classes, "Options", ())]
    assert names == ["bins", "width"]
    assert built("counted", Counted, {"width": "2"}) == Counted(2)
    assert built("scaled", Scaled, {"width": "0.25", "bins": "0.1, 0.2"}) == Scaled(0.25, (0.1, 0.2))
    with pytest.raises(InputError, match="--width must be a number, got 'wide'"):
        built("counted", Counted, {"width": "wide"})
    with pytest.raises(InputError, match="'width', which the command uses itself"):
        merged_parameters(classes, "Options", ("width",))


def test_methods_and_metrics_are_listed(call):
    _, out, _ = call("methods")
    assert [line.split("\t")[0] for line in out.splitlines()] == [*explainers, *aligners, "own"]
    _, out, _ = call("metrics")
    assert {line.split("\t")[0] for line in out.splitlines()} == set(metrics)
    _, out, _ = call("methods", "deeplift")
    assert "--baseline" in out
    _, out, _ = call("methods", "link_lime")
    assert "--within = 0.0" in out
    _, out, _ = call("metrics", "comprehensiveness")
    assert "--erasure" in out
    status, _, err = call("metrics", "comprehensivness")
    assert status == 2
    assert "did you mean 'comprehensiveness'" in err


def test_data_lists_names_and_shows_files(call, tmp_path):
    _, out, _ = call("data")
    assert "sst2\t" in out
    assert "planted-pairs\t" in out
    _, out, _ = call("data", "planted-reviews")
    assert "rationale" in out
    (tmp_path / "a.jsonl").write_text('{"premise": "A man runs.", "hypothesis": "He sleeps.", "label": "no"}\n')
    _, out, _ = call("data", str(tmp_path / "a.jsonl"))
    assert "He sleeps." in out


def test_a_classifier_that_always_says_the_same_is_told_by_its_macro_f1(call, model, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "the soup was good,1\n" * 18 + "the soup was bad,0\n" * 3)
    small = ("--data", str(rows), "--dev", str(rows), "--encoder", model, "--learning-rate", "1e-2")
    steady = ("--epochs", "2", "--gradient-weight", "100", "--no-param-norm", "--guidance-weight", "0")
    status, _, err = call("train", "regex", *small, *steady, "--metric", "macro_f1", "--out", str(tmp_path / "steady"))
    assert status == 0, err
    assert "best dev score 0.4615" in err  # of always saying 1
    assert "hardly better than always giving the commonest label" in err
    assert "less of --gradient-weight" in err
    assert "epoch 2 of 2: loss" in err  # there is no bar here


@pytest.mark.parametrize("labels", [[0, 0, 0, 1], [0, 1, 2, 2, 2], [1, 1]])
def test_the_scoreof_one_label_for_all(labels):
    most = [max(labels, key=labels.count)] * len(labels)
    examples = [Example(str(number), ("soup",), label) for number, label in enumerate(labels)]
    assert of_one_label(examples, "accuracy") == accuracy_score(labels, most)
    assert of_one_label(examples, "macro_f1") == pytest.approx(f1_score(labels, most, average="macro", zero_division=0))
    assert of_one_label(examples, "pearson") == float("-inf")


def test_train_then_explain(call, model, tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\n" + "".join(f"{w} soup {n}\t{w}\n" for n in range(20) for w in ("good", "bad")))
    status, out, err = call("train", "classifier", "--data", str(rows), "--encoder", model, "--epochs", "1",
                            "--out", str(tmp_path / "trained"))  # fmt: skip
    assert status == 0, err
    assert Path(out.strip()) == tmp_path / "trained"
    status, out, _ = call("explain", "-m", str(tmp_path / "trained"), "--method", "gradient", "good soup")
    assert status == 0
    assert out.split()[1] in ("good", "bad")


@pytest.mark.parametrize("layout", ["splits", "files", "one file"])
def test_the_limit_of_training_holds_for_dev_data_too(call, model, tmp_path, layout):
    texts = "text,label\n" + "".join(f"{word} soup {n},{word}\n" for n in range(50) for word in ("good", "bad"))
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text(texts)
    data = {
        "splits": ["--data", str(tmp_path)],
        "files": ["--data", str(tmp_path / "train.csv"), "--dev", str(tmp_path / "dev.csv")],
        "one file": ["--data", str(tmp_path / "train.csv")],
    }[layout]
    status, _, err = call("train", "classifier", *data, "--limit", "6", "--encoder", model, "--epochs", "1",
                          "--out", str(tmp_path / "trained"))  # fmt: skip
    assert status == 0, err
    assert "of 6 dev texts" in err


def test_python_dash_m_runs_the_same_command():
    done = subprocess.run([sys.executable, "-m", "rationales", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("rationales 0.")
