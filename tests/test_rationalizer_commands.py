"""Rationalizers, as a user trains, explains, compares and shows them."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path

import pytest
import torch

import rationales
from rationales.cli import main
from rationales.cli.train import listed
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError, MissingCapability, ModelError, QualityWarning
from rationales.explainers import Own
from rationales.explanation import Explanations, Selection
from rationales.models import Rationalizer, TransformersClassifier
from rationales.registry import summary
from rationales.train import classifier as recipe
from rationales.train import da, diffmask, esim, fresh, regex
from rationales.train.rationalizers import attention, rationalizers, rnp, train
from tiny import classifier

TEXT = "The soup was bland, but the waiter was lovely."
SIZE = ["--hidden", "16", "--vector-size", "8", "--batch-size", "8", "--learning-rate", "0.01", "--sparsity", "0.4"]


def planted(path: Path, size: int = 48) -> Path:
    """Planted reviews as a file of a user, words people marked left out."""
    rows = [json.dumps({"text": each.texts[0], "label": REVIEW_LABELS[each.label]}) for each in reviews(size, seed=0)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command; (exit status, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rationales", *arguments])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QualityWarning)  # two epochs are too few to choose well
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rationalizer that has seen a little, and chooses some tokens but not all."""
    config = rnp.Config(
        tmp_path_factory.mktemp("run") / "rnp", hidden=16, vector_size=8, batch_size=8, epochs=2, learning_rate=0.01,
        sparsity=0.4,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        return train("rnp", config, reviews(48, seed=0), reviews(12, seed=1), labels=REVIEW_LABELS)


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("classifier")
    classifier("bert").save_pretrained(directory)
    return str(directory)


def test_the_list_of_recipes_is_true():
    known = {name: summary(game.Config) for name, game in rationalizers.items()}
    modules = (recipe, da, diffmask, esim, fresh, regex)
    others = {module.__name__.rpartition(".")[2]: summary(module.Config) for module in modules}
    assert {**others, **known} == listed()


@pytest.mark.parametrize("name", list(rationalizers))
def test_every_variant_has_its_options_and_an_example(call, name):
    status, out, _ = call("train", name, "--help")
    assert status == 0
    assert f"rationales train {name} --data" in out
    assert summary(rationalizers[name].Config) in " ".join(out.split())
    for option in ("--sparsity", "--encoder-learning-rate", "--label-column", "--epochs"):
        assert option in out


@pytest.mark.parametrize("name", ["rnp", "ver"])
def test_train_explain_compare_and_report(call, tmp_path, name):
    data, out = planted(tmp_path / "reviews.jsonl"), tmp_path / "model"
    status, printed, err = call("train", name, "--data", str(data), "--epochs", "2", *SIZE, "--out", str(out))
    assert status == 0, err
    assert printed.strip() == str(out)
    assert "best dev score" in err
    assert f"try it: rationales explain --model {out}" in err

    status, printed, err = call("explain", "--model", str(out), TEXT)
    assert status == 0, err
    head, text, chosen = printed.strip().splitlines()
    assert head.split()[1] in REVIEW_LABELS
    assert head.endswith(f"· {name}")
    assert text == TEXT
    assert chosen.strip() == "(nothing)" or all(part.strip() in TEXT for part in chosen.split("…"))

    found, compared = tmp_path / "own.parquet", tmp_path / "compared"
    given = ("--model", str(out), "--data", str(data), "--limit", "12")
    assert call("explain", *given, "--out", str(found))[0] == 0
    assert all(isinstance(each.body, Selection) for each in Explanations.load(found))
    status, printed, err = call("compare", *given, "--method", "gradient", "--method", "own", "--out", str(compared))
    assert status == 0, err
    assert "own: selections are erased as a whole" in printed
    for source in (found, compared):
        status, page, err = call("report", str(source))
        assert status == 0, err
        drawn = Path(page.strip()).read_text(encoding="utf-8")
        assert '<mark class="kept">' in drawn


def test_own_is_compared_by_what_selections_can_be_measured_by(model, plain_model, tmp_path):
    found = rationales.compare({"ours": str(model)}, [TEXT, "Good soup."], out=tmp_path / "compared")
    rows = {standing.method: standing for standing in found.summary.standings}
    assert rows["own"].figures["comprehensiveness"].count == 2
    assert rows["own"].figures["decision_flip"].count == 0
    assert rows["own"].curves is None
    assert "own" not in found.summary.agreements[0].methods
    assert "Rationalizer has no readout, tap" in rows["attention"].failure
    assert not {name for name in rows if rows[name].failure} - {"attention", "scaled_attention", "attention_rollout"}
    other = rationales.compare(plain_model, ["good soup", "bad soup"], ["own", "gradient"])
    (row,) = (standing for standing in other.summary.standings if standing.method == "own")
    assert "does not explain itself" in row.failure
    assert "own" not in {standing.method for standing in rationales.compare(plain_model, ["good"]).summary.standings}


def test_a_selector_that_chooses_nothing_or_all_is_compared_too(model):
    for bias in ((9e3, -9e3), (-9e3, 9e3)):
        own = Rationalizer.from_pretrained(model, device="cpu")
        with torch.no_grad():
            own.networks.selector.head[-1].bias.copy_(torch.tensor(bias))
        found = rationales.compare(own, [TEXT, "Soup."], ["own", "leave_one_out"])
        (row,) = (standing for standing in found.summary.standings if standing.method == "own")
        assert row.figures["sufficiency" if bias[1] > 0 else "comprehensiveness"].mean == 0.0


def test_by_default_a_model_that_can_explains_itself(model, plain_model):
    for method in (None, "own", Own()):
        (found,) = rationales.explain(str(model), TEXT, method)
        assert found.provenance.method == "rnp"
        assert isinstance(found.body, Selection)
    (found,) = rationales.explain(plain_model, TEXT)
    assert found.provenance.method == "integrated_gradients"


@pytest.mark.parametrize("method", ["gradient", "leave_one_out", "integrated_gradients", "deeplift", "kernel_shap"])
def test_other_methods_explain_it_too(model, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # a choice jumps, and no sum of slopes follows it
        (found,) = rationales.explain(str(model), TEXT, method)
    assert found.provenance.method == method
    assert found.content.sum() == 11


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--method", "attention"],
            "needs an Attentive model; Rationalizer has no readout, tap. Methods that work on it",
        ),
        (["--target", "good"], "explains what it predicts and nothing else; leave out the target"),
        (["--method", "own:seed=1"], "own has no option --seed; its options: none"),
        (["--steps", "7"], "own has no option --steps"),
        (["--max-length", "0"], "max_length must be at least 1"),
        (["--device", "banana"], "device 'banana' cannot be used"),
    ],
)
def test_what_a_rationalizer_cannot_do_is_said_in_a_line(call, model, arguments, message):
    status, out, err = call("explain", "--model", str(model), *arguments, TEXT)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err


def test_a_classifier_does_not_explain_itself(call, plain_model):
    status, _, err = call("explain", "--model", plain_model, "--method", "own", TEXT)
    assert status == 2
    assert f"{plain_model} does not explain itself; rationales train rnp makes a model that does" in err
    assert "integrated_gradients" in err
    with pytest.raises(MissingCapability, match="does not explain itself"):
        rationales.explain(plain_model, TEXT, "own")


def test_the_config_of_a_directory_says_what_is_loaded(model, plain_model):
    assert isinstance(rationales.load_model(plain_model), TransformersClassifier)
    loaded = rationales.load_model(model, device="cpu", max_length=3)
    assert isinstance(loaded, Rationalizer)
    assert loaded.max_length == 3
    with pytest.warns(UserWarning, match="1 of 1 texts were longer than 3 tokens"):
        (found,) = rationales.explain(loaded, TEXT)
    assert len(found.tokens) == 3
    with pytest.raises(InputError, match="keeps its own tokenizer"):
        rationales.load_model(model, loaded.tokenizer)
    with pytest.raises(ModelError, match=r"holds a rationalizer, not a classifier; rationales\.load_model reads it"):
        TransformersClassifier.from_pretrained(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: config.pop("architecture"), "its config.json is damaged: KeyError('architecture')"),
        (lambda config: config.pop("method"), "its config.json is damaged: KeyError('method')"),
        (lambda config: config["architecture"].pop("labels"), "'labels'"),
        (lambda config: config["architecture"].update(depth=3), "unexpected keyword argument 'depth'"),
        (lambda config: config["architecture"].update(hidden=12), "size mismatch"),
    ],
)
def test_a_damaged_config(call, model, tmp_path, change, message):
    copy = shutil.copytree(model, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    change(config)
    (copy / "config.json").write_text(json.dumps(config))
    status, _, err = call("explain", "--model", str(copy), TEXT)
    assert status == 2
    assert err.startswith(f"error: no rationalizer could be loaded from {copy}")
    assert message in err
    (copy / "config.json").write_text("{")
    status, _, err = call("explain", "--model", str(copy), TEXT)
    assert status == 2
    assert "could be loaded from" in err
    assert "JSON" in err


def test_training_data_and_encoders_that_cannot_be_used(call, tmp_path, model, plain_model):
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("text,label\n" + "".join(f"soup {n},{n}.5\n" for n in range(20)))
    out = ("--out", str(tmp_path / "model"))
    status, _, err = call("train", "rnp", "--data", str(numbers), *out)
    assert status == 2
    assert "a rationalizer tells classes apart; these labels are numbers" in err
    data = str(planted(tmp_path / "reviews.jsonl"))
    for options, message in (
        (("--encoder", "./nowhere"), "no pretrained model could be loaded from ./nowhere: there is no directory"),
        (("--encoder", str(model)), f"{model} holds a rationalizer, not a pretrained model"),
        (("--encoder", plain_model), f"max_length must lie in 1 … 64 for {plain_model}, got 256"),
        (("--encoder-learning-rate", "0"), "encoder_learning_rate must be above 0, got 0.0"),
        (("--predictor-rate", "0"), "predictor_rate must be above 0, got 0.0"),
        (("--pooling", "first"), "pooling by the first token needs an encoder of Transformers"),
        (("--vectors", "nowhere.txt"), "nowhere.txt"),
    ):
        status, _, err = call("train", "rnp", "--data", data, *options, *out)
        assert status == 2, options
        assert err.splitlines()[-1].startswith("error: ")
        assert message in err
    assert not (tmp_path / "model").exists()
    status, _, err = call("train", "rpn", "--data", data)
    assert status == 2
    assert "No such command 'rpn'" in err


def test_an_encoder_that_does_not_know_where_its_tokens_stand(tmp_path, plain_model, monkeypatch):
    monkeypatch.setattr(
        "rationales.train.rationalizers.training.load_tokenizer", lambda _: type("Slow", (), {"is_fast": False})()
    )
    with pytest.raises(MissingCapability, match="Slow does not tell which characters a token covers"):
        train("rnp", rnp.Config(tmp_path / "m", encoder=plain_model), reviews(8), reviews(8), labels=REVIEW_LABELS)


def test_a_first_token_that_says_something_of_its_own_is_no_summary(tmp_path):
    encoder = tmp_path / "decoder"
    classifier("gpt2").save_pretrained(encoder)
    config = rnp.Config(tmp_path / "m", encoder=str(encoder), pooling="first", max_length=32)
    with pytest.raises(InputError, match=f"texts do not begin with a special token for {encoder}"):
        train("rnp", config, reviews(8), reviews(8), labels=REVIEW_LABELS)


def test_attention_has_its_own_way_of_pooling(tmp_path, plain_model):
    with pytest.raises(InputError, match="attention pools by its weights"):
        attention.Config(tmp_path / "m", encoder=plain_model, pooling="first")


def test_encoders_and_predictors_learn_at_their_own_rates(tmp_path, plain_model, monkeypatch):
    rates: dict[str, float] = {}

    def fit(_settings, _run, _accelerator, objective, _lengths, *, rate, **_: object) -> None:
        rates.update({name: rate(name) for name, _ in objective.named_parameters()})

    monkeypatch.setattr("rationales.train.rationalizers.training.fit", fit)
    monkeypatch.setattr("rationales.train.rationalizers.training._check_choice", lambda *_: None)  # nothing was trained
    small = {"max_length": 64, "batch_size": 8, "hidden": 16, "vector_size": 8}
    for encoder in (plain_model, ""):
        rates.clear()
        config = rnp.Config(tmp_path / "m", encoder=encoder, predictor_rate=0.5, **small)
        train("rnp", config, reviews(8), reviews(8), labels=REVIEW_LABELS)
        for player, share in (("selector", 1), ("predictor", 0.5)):
            own = {name: rate for name, rate in rates.items() if f".{player}." in name}
            inside = {rate for name, rate in own.items() if ".head." not in name}
            assert inside == {share * (1e-5 if encoder else 1e-4)}
            assert {rate for name, rate in own.items() if ".head." in name} == {share * 1e-4}
