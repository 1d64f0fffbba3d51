"""What is given as a model and is none, or not the one it seems to be: said before anything is computed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import FNetConfig, FNetForSequenceClassification, dynamic_module_utils

from rationales import evaluate, explain
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.explainers import explainers
from rationales.models import Attentive, Model, TransformersClassifier, load
from rationales.train.classifier import Config, train
from tiny import PAIRS, SIZE, STACK, TEXTS, classifier, network, pairs, singles, tokenizer


@pytest.fixture
def copied(model_directory, tmp_path):
    """A copy of the model to damage."""
    return Path(shutil.copytree(model_directory, tmp_path / "model"))


def change(file: Path, **fields) -> None:
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, **fields}))


def without(directory: Path, part: str) -> None:
    weights = {name: tensor.contiguous() for name, tensor in network("bert").state_dict().items() if part not in name}
    save_file(weights, directory / "model.safetensors", {"format": "pt"})


def pickled(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    torch.save(network("bert").state_dict(), directory / "pytorch_model.bin")


def cut(file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:size])


DAMAGE = {
    "no config": (lambda d: (d / "config.json").unlink(), "it holds no config.json; give a directory that"),
    "a config that is no JSON": (lambda d: (d / "config.json").write_text("{"), "not a valid JSON file"),
    "a config of nonsense": (lambda d: change(d / "config.json", hidden_size="x"), "hidden_size"),
    "a config without sense": (lambda d: change(d / "config.json", num_attention_heads=0), "no classifier could be"),
    "an unknown type": (lambda d: change(d / "config.json", model_type="nosuch"), "model type `nosuch`"),
    "no weights": (lambda d: (d / "model.safetensors").unlink(), "no file named model.safetensors"),
    "empty weights": (lambda d: cut(d / "model.safetensors", 0), "its weights are damaged: .* header too small"),
    "weights cut in the header": (lambda d: cut(d / "model.safetensors", 500), "its weights are damaged"),
    "weights cut at the end": (lambda d: cut(d / "model.safetensors", -9), "its weights are damaged: .* not fully"),
    "pickled weights": (pickled, r"in pytorch_model.bin, a pickle, which could run code\. Save them as safetensors"),
    "no layer on top": (lambda d: without(d, "classifier"), "it lacks 2 of its weights, such as classifier.bias"),
    "a layer less": (lambda d: without(d, "layer.1"), r"it lacks 16 of its weights, such as bert\.encoder\.layer\.1"),
    "weights of another shape": (
        lambda d: change(d / "config.json", hidden_size=32),
        r"config and its weights do not go together; bert\S+ should be \[32\] and is \[16\]",
    ),
    "labels that are not as many": (
        lambda d: change(d / "config.json", id2label={"0": "a", "1": "b"}, label2id={"a": 0, "b": 1}),
        r"classifier.bias should be \[2\] and is \[3\]",
    ),
    "no tokenizer": (lambda d: [file.unlink() for file in d.glob("tokenizer*")], "a model but no tokenizer"),
    "a tokenizer that is no JSON": (lambda d: (d / "tokenizer.json").write_text("{"), "the tokenizer of .* be read"),
    "a tokenizer without content": (lambda d: (d / "tokenizer.json").write_text("{}"), "the tokenizer of .* be read"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_model_is_refused(refused, copied, damage, message):
    damage(copied)
    with pytest.raises(ModelError, match=message):
        load(copied)
    assert str(copied) in refused("explain", "-m", copied, "--method", "random", "good soup")


def test_what_is_no_model(refused, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("text\ngood\n")
    for path, message in (
        (tmp_path / "nowhere", "there is no directory"),
        (tmp_path / "data", "it holds no config.json"),
        (tmp_path / "data" / "rows.csv", "it is a file; give the directory of the model"),
    ):
        assert message in refused("explain", "-m", path, "--method", "random", "good soup")
        training = ("train", "classifier", "--data", "planted-reviews", "--limit", "20", "--out", tmp_path / "out")
        assert message in refused(*training, "--encoder", path)


def test_a_tokenizer_that_is_not_the_models():
    small = network("bert")
    small.set_input_embeddings(torch.nn.Embedding(20, 16))
    with pytest.raises(ModelError, match=r"token with the number \d+, and .* knows only 20 tokens; give the tokenizer"):
        explain(small, "the waiter was friendly", "random", tokenizer=tokenizer())


def test_labels_that_several_classes_share_get_their_number(copied):
    change(copied / "config.json", id2label={"0": "bad", "1": "good", "2": "bad"}, label2id={"bad": 2, "good": 1})
    model = load(copied)
    assert model.labels == ("bad (0)", "good", "bad (2)")
    first, last = (explain(model, TEXTS, "leave_one_out", target=target) for target in (0, "bad (2)"))
    assert [one.target.index for one in last] == [2] * len(TEXTS)
    with pytest.raises(InputError, match=r"no label 'bad'; it has bad \(0\), good, bad \(2\)"):
        explain(model, TEXTS, "random", target="bad")
    ours, theirs = (evaluate(model, found, "comprehensiveness")[0].values for found in (first, last))
    assert not np.allclose(ours, theirs)  # by its label alone, an explanation of the one would count for the other


@pytest.mark.parametrize("target", ["nope", "", "LABEL_3", 3, -1, 10**30, True, 0.5, [0]])
def test_a_label_that_the_model_does_not_have(model_directory, target):
    with pytest.raises(InputError, match=r"no label|0 … 2|whole numbers|targets are numbers|a target is a label"):
        explain(model_directory, TEXTS, "random", target=target)


@pytest.mark.parametrize("target", ["nope", "", "3", "-1", "1" + "0" * 30])
def test_the_command_names_the_labels_that_there_are(refused, model_directory, target):
    line = refused("explain", "-m", model_directory, "--method", "random", "--target", target, "good soup")
    assert "LABEL_0, LABEL_1, LABEL_2" in line or "targets are numbers" in line


# ---------------------------------------------------------------------------------------------------------------------
# Code in the model's directory


def with_code(directory: Path, trace: Path, where: str) -> None:
    """A model with a module that leaves a trace if it is run."""
    (directory / "own.py").write_text(
        f"from pathlib import Path\nPath({str(trace)!r}).write_text('run')\n"
        "from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class OwnForSequenceClassification(BertForSequenceClassification):\n    config_class = OwnConfig\n"
        "class OwnTokenizer(PreTrainedTokenizerFast):\n    pass\n"
    )
    classes = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnForSequenceClassification"}
    if where == "a type of its own":
        change(directory / "config.json", model_type="own", auto_map=classes)
    elif where == "a known type":
        change(directory / "config.json", auto_map=classes)
    else:
        change(directory / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "own.OwnTokenizer"]})


@pytest.mark.parametrize("where", ["a type of its own", "a known type"])
def test_code_of_a_model_is_not_run(refused, copied, tmp_path, where):
    trace = tmp_path / "trace"
    with_code(copied, trace, where)
    with pytest.raises(ModelError, match="brings code of its own, which is not run unless you trust it"):
        load(copied)
    line = refused("explain", "-m", copied, "--method", "random", "good soup")
    assert f"TransformersClassifier.from_pretrained('{copied}', trust_remote_code=True)" in line
    training = ("train", "classifier", "--data", "planted-reviews", "--limit", "20", "--out", tmp_path / "out")
    if where == "a type of its own":
        assert "brings code of its own" in refused(*training, "--encoder", copied)
    assert not trace.exists()


def test_code_of_a_tokenizer_is_not_run(copied, tmp_path):
    with_code(copied, tmp_path / "trace", "the tokenizer")
    [found] = explain(copied, "good soup", "random")
    assert [token.text for token in found.tokens] == ["[CLS]", "good", "soup", "[SEP]"]
    assert not (tmp_path / "trace").exists()


def test_code_that_is_trusted_is_run(copied, tmp_path, monkeypatch):
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    with_code(copied, tmp_path / "trace", "a type of its own")
    model = TransformersClassifier.from_pretrained(copied, trust_remote_code=True)
    assert type(model.model).__name__ == "OwnForSequenceClassification"
    assert (tmp_path / "trace").read_text() == "run"


# ---------------------------------------------------------------------------------------------------------------------
# Models that cannot do what a method needs


def fnet() -> TransformersClassifier:
    """Mixes tokens by Fourier transforms: no attention, and no way to tell it what is padding."""
    size = {name: value for name, value in STACK.items() if name != "num_attention_heads"}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = FNetForSequenceClassification(FNetConfig(**SIZE, **size, num_labels=3)).eval()
    return TransformersClassifier(net, tokenizer())


class BlackBox:
    """Nothing but a `Model`."""

    def __init__(self, model: TransformersClassifier) -> None:
        self.name, self.labels, self.regression = "box", model.labels, model.regression
        self.max_length, self.budget = model.max_length, model.budget
        for part in ("encode", "logits", "probabilities", "erase", "borrowed"):
            setattr(self, part, getattr(model, part))


BY_ATTENTION = sorted(name for name, method in explainers.items() if method.needs is Attentive)


@pytest.mark.parametrize("method", BY_ATTENTION)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (fnet, "FNetForSequenceClassification has no attention to read"),
        (lambda: classifier("deberta"), "computes attention in its own way"),
        (lambda: classifier("bart"), "with an encoder and answers with a decoder"),
        (lambda: BlackBox(classifier("bert")), "needs an Attentive model; BlackBox has no"),
    ],
    ids=["fnet", "deberta", "bart", "black box"],
)
def test_without_attention_the_error_names_the_methods_that_work(make, message, method):
    model = make()
    with pytest.raises(MissingCapability, match=message) as caught:
        explain(model, "good soup", method)
    named = str(caught.value).partition("Methods that work on it: ")[2].split(", ")
    assert set(named) == {
        name for name, cls in explainers.items() if isinstance(model, cls.needs) and name not in BY_ATTENTION
    }
    assert "leave_one_out" in named
    for name in named:
        [found] = explain(model, "good soup", name)
        assert np.isfinite(found.body.values).all()


def test_the_command_names_them_too(refused, tmp_path):
    classifier("deberta").save_pretrained(tmp_path / "deberta")
    line = refused("explain", "-m", tmp_path / "deberta", "--method", "attention", "good soup")
    assert "Methods that work on it: backselect" in line


def test_a_model_that_does_not_know_padding_gets_none():
    model = fnet()
    assert isinstance(model, Model)
    for method in ("gradient", "leave_one_out"):
        for alone, among in zip(TEXTS, explain(model, TEXTS, method), strict=True):
            [found] = explain(model, alone, method)
            np.testing.assert_allclose(found.body.values, among.body.values, atol=1e-5)
            assert found.target.score == pytest.approx(among.target.score, abs=1e-5)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("integrated_gradients", {"tolerance": float("inf")}),
        ("lime", {"width": float("nan")}),
        ("lime", {"ridge": float("inf")}),
        ("smoothgrad", {"noise": float("nan")}),
        ("attention_rollout", {"residual": float("nan")}),
    ],
)
def test_options_are_numbers(refused, model_directory, method, options):
    [(name, value)] = options.items()
    with pytest.raises(InputError, match=f"{name} must be a finite number"):
        explainers[method](**options)
    line = refused("explain", "-m", model_directory, "--method", method, f"--{name}", value, "good soup")
    assert f"{name} must be a finite number" in line


# ---------------------------------------------------------------------------------------------------------------------
# Pairs and single texts


def named(labels: tuple[str, ...] = ("a", "b", "c"), **fields) -> TransformersClassifier:
    net = network("bert")
    net.config.id2label = dict(enumerate(labels))
    for name, value in fields.items():
        setattr(net.config, name, value)
    return TransformersClassifier(net, tokenizer(), name="mine")


@pytest.mark.parametrize(
    "model",
    [
        lambda: named(("entailment", "neutral", "contradiction")),
        lambda: named(finetuning_task="mnli"),
        lambda: named(texts_per_example=2),
    ],
    ids=["labels", "task", "training"],
)
def test_single_texts_for_a_model_of_pairs(model):
    own = model()
    with pytest.warns(UserWarning, match="mine was trained on pairs of texts, and some of these texts are single"):
        found = explain(own, TEXTS, "random")
    assert len(found) == len(TEXTS)
    explain(own, TEXTS, "random")  # told once
    assert len(explain(model(), PAIRS, "random")) == len(PAIRS)


@pytest.mark.parametrize("model", [lambda: named(finetuning_task="sst2"), lambda: named(texts_per_example=1)])
def test_pairs_for_a_model_of_single_texts(model):
    with pytest.warns(UserWarning, match="mine was trained on single texts, and some of these are pairs"):
        found = explain(model(), [*TEXTS, PAIRS[0]], "random")
    assert [len(one.texts) for one in found] == [1] * len(TEXTS) + [2]
    assert len(explain(model(), TEXTS, "random")) == len(TEXTS)


def test_a_model_that_does_not_say_reads_what_it_is_given():
    assert len(explain(named(), [*TEXTS, *PAIRS], "random")) == len(TEXTS) + len(PAIRS)


@pytest.mark.parametrize(("rows", "others", "what"), [(singles, PAIRS, "single texts"), (pairs, TEXTS, "pairs of")])
def test_what_we_trained_says_what_it_was_trained_on(call, model_directory, tmp_path, rows, others, what):
    data = [replace(example, label=place % 2) for place, example in enumerate(rows() * 4)]
    out = train(Config(out=tmp_path / "out", encoder=str(model_directory), epochs=1), data, data)
    with pytest.warns(UserWarning, match=f"was trained on {what}"):
        explain(out, others, "random")
    texts = [others[0]] if isinstance(others[0], str) else [others[0][0], "--pair", others[0][1]]
    status, _, err = call("explain", "-m", out, "--method", "random", *texts)
    assert status == 0
    assert err.startswith(f"warning: {out} was trained on {what}")
