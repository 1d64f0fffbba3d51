"""Classifiers of rationales alone, with tiny models."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from explained import DECIDING, LABELS, deciding, scored, write
from sklearn.metrics import f1_score
from test_classifier import BAD, GOOD, toy

from rationales.data import Dataset, Example, load
from rationales.errors import DataError, InputError
from rationales.explanation import Explanations, Scores
from rationales.models import TransformersClassifier
from rationales.train import classifier as plain
from rationales.train import fresh, fresh_rationales
from rationales.train.fresh import train
from rationales.train.fresh_rationales import rationale


def test_a_classifier_learns_from_rationales_alone(config: Any) -> None:
    data = [toy(160), toy(40, seed=1), toy(40, seed=2)]
    saved = Explanations(deciding(example) for part in data for example in part)
    found = train(config(epochs=4, ratio=0.1), *data, explanations=saved, labels=LABELS)
    assert found.dev.mean == 1.0
    assert found.test is not None
    assert found.test.mean == 1.0
    assert found.test.std == 0.0
    model = TransformersClassifier.from_pretrained(found.models[2], device="cpu")
    assert model.labels == LABELS
    with torch.no_grad():
        assert model.logits(model.encode([Example("x", ("awful",)), Example("y", ("great",))])).argmax(-1).tolist() == [
            0,
            1,
        ]
    summary = json.loads((found.out / "fresh.json").read_text())
    assert summary["explanations"]["method"] == "hand"
    assert summary["texts"] == {"train": 160, "dev": 40, "test": 40}
    assert 0.1 < summary["share"]["train"] < 0.4  # one word of three to seven
    assert "rationale" in (found.out / "README.md").read_text()


def test_without_the_words_that_decide_nothing_is_learned(config: Any) -> None:
    """So the classifier sees nothing but the rationale."""
    data = [toy(80), toy(40, seed=1)]
    saved = [replace(each, body=Scores(-each.body.values)) for part in data for each in map(deciding, part)]
    found = train(config(epochs=3, ratio=0.1, seeds=(1,)), *data, explanations=saved)
    assert found.dev.mean < 0.8
    assert found.dev.std is None
    assert found.test is None


def test_figures_are_the_macro_f1_of_the_models(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    dev = toy(30, seed=1)[:25]
    found = train(config(ratio=0.3), toy(16), dev, model=model, method="leave_one_out", labels=LABELS, progress=True)
    assert "leave_one_out of dev texts" in capsys.readouterr().err
    kept = Explanations.load(found.out / "explanations" / "dev.parquet")
    cut = [Example(each.id, rationale(each, 0.3)) for each in kept]
    for seed, directory in found.models.items():
        again = TransformersClassifier.from_pretrained(directory, device="cpu")
        with torch.no_grad():
            predicted = again.logits(again.encode(cut)).argmax(-1).tolist()
        wanted = f1_score([example.label for example in dev], predicted, average="macro", zero_division=0)
        assert found.dev.seeds[seed] == pytest.approx(wanted)
        agreed = [label == each.target.index for label, each in zip(predicted, kept, strict=True)]
        assert found.agreement["dev"].seeds[seed] == pytest.approx(statistics.mean(agreed))
    assert found.dev.mean == pytest.approx(statistics.mean(found.dev.seeds.values()))
    assert found.dev.std == pytest.approx(statistics.stdev(found.dev.seeds.values()))


def test_the_best_words_first(config: Any, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By `order`, in the texts that are learned from, whosever the explanations are."""
    learned: list[list[tuple[str, ...]]] = []
    usual = plain.fine_tune

    def noted(recipe: str, own: Any, objective: Any, training: Any, *others: Any) -> Path:
        learned.append([example.texts for example in training])
        return usual(recipe, own, objective, training, *others)

    monkeypatch.setattr(plain, "fine_tune", noted)
    data = toy(8), toy(4, seed=1)
    sources: dict[str, Any] = {"explanations": [deciding(each) for part in data for each in part]}
    for place, options in enumerate((sources, {"model": model, "method": "leave_one_out"})):
        out = tmp_path / str(place)
        train(config(order="score", ratio=0.6, seeds=(1,), out=out), *data, **options)
    first = [text.split()[0] for (text,) in learned[0]]
    assert set(first) <= DECIDING
    kept = Explanations.load(tmp_path / "1" / "explanations" / "train.parquet")
    assert learned[1] == [rationale(each, 0.6, "score") for each in kept]
    assert learned[1] != [rationale(each, 0.6, "text") for each in kept]


def test_texts_are_cut_when_figures_are_made(config: Any) -> None:
    """At `max_length`, as in training: what comes behind it says the contrary."""

    def told(examples: list[Example], rest: int) -> list[Example]:
        words = [" ".join([(BAD, GOOD)[each.label][0], *[(GOOD, BAD)[each.label][0]] * rest]) for each in examples]
        return [replace(each, texts=(text,)) for each, text in zip(examples, words, strict=True)]

    data = told(toy(80), 0), told(toy(8, seed=1), 20)
    saved = [scored(each.texts, [1.0] * len(each.texts[0].split()), id=each.id) for part in data for each in part]
    with pytest.warns(UserWarning, match="dev data: 8 of 8 texts were longer than 3 tokens"):
        found = train(config(epochs=4, ratio=1.0, seeds=(1,), max_length=3), *data, explanations=saved)
    assert found.dev.mean == 1.0
    whole = TransformersClassifier.from_pretrained(found.models[1], device="cpu", max_length=64)
    with torch.no_grad():
        predicted = whole.logits(whole.encode(data[1])).argmax(-1).tolist()
    assert predicted != [each.label for each in data[1]]


def test_a_model_is_loaded_once_and_where_accelerate_says(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[str, Any]] = []
    usual = TransformersClassifier.from_pretrained

    def noted(source: Any, **options: Any) -> TransformersClassifier:
        loaded.append((Path(source).name, options["device"]))
        return usual(source, **options)

    monkeypatch.setattr(TransformersClassifier, "from_pretrained", noted)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    cpu = torch.device("cpu")
    tests = {"near": toy(4, seed=2), "far": toy(4, seed=3)}
    train(config(), toy(8), toy(4, seed=1), tests, model=model, method="random")
    assert loaded == [("model", cpu), ("seed-1", cpu), ("seed-2", cpu)]


def test_a_live_model_stays_where_it_is(config: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = []
    usual = fresh.load

    def noted(*sources: Any, device: Any = None) -> Any:
        wanted.append(device)
        return usual(*sources, device=device)

    monkeypatch.setattr(fresh, "load", noted)
    live = TransformersClassifier.from_pretrained(model, device="cpu")
    train(config(seeds=(1,)), toy(8), toy(4, seed=1), model=live.model, tokenizer=live.tokenizer, method="random")
    assert wanted == [None]


def test_all_data_are_read_once(config: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that what is to be said of them is said once, too."""
    training = toy(16)
    saved = [deciding(each) for part in (training, toy(4, seed=1), toy(6, seed=2), toy(8, seed=3)) for each in part]
    training[3] = replace(training[3], label=None)
    others = [iter(toy(4, seed=1)), {"near": iter(toy(6, seed=2)), "far": iter(toy(8, seed=3))}]
    with pytest.warns(UserWarning, match="1 of 16 training examples have no label") as said:
        train(config(seeds=(1,)), iter(training), *others, explanations=saved, labels=LABELS)
    assert len(said) == 1
    files = [load(write(tmp_path / f"{size}.jsonl", toy(size, seed=size))) for size in (16, 8, 6, 4)]
    saved = [deciding(each) for file in files for each in file]
    read: list[str] = []
    usual = Dataset.__iter__
    monkeypatch.setattr(Dataset, "__iter__", lambda self: read.append(self.name) or usual(self))
    options = config(seeds=(1,), out=tmp_path / "again")
    train(options, files[0], files[1], {"near": files[2], "far": files[3]}, explanations=saved)
    assert read == ["16", "8", "6", "4"]


def test_the_explained_class(config: Any, model: str, tmp_path: Path) -> None:
    """The predicted one everywhere, or the gold one in training texts."""
    wrong = [replace(example, label=1 - example.label) for example in toy(16)]
    for target, other in (("predicted", True), ("gold", False)):
        options = config(target=target, out=tmp_path / target, seeds=(1,))
        train(options, wrong, wrong, model=model, method="random", labels=LABELS)
        kept = {
            split: Explanations.load(options.out / "explanations" / f"{split}.parquet") for split in ("train", "dev")
        }
        differs = [each.target.index != example.label for each, example in zip(kept["train"], wrong, strict=True)]
        assert set(differs) == {other}
        assert [each.target.index for each in kept["dev"]] == [1 - example.label for example in wrong]


def test_gold_classes_are_explained_in_every_part(config: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_rationales, "PART", 4)
    labels = [0, 0, 0, 1, 1, 1, 1, 0, 0, 1]
    data = [replace(each, label=label) for each, label in zip(toy(10), labels, strict=True)]
    found = train(config(target="gold", seeds=(1,)), data, toy(4, seed=1), model=model, method="random", labels=LABELS)
    kept = Explanations.load(found.out / "explanations" / "train.parquet")
    assert [each.target.index for each in kept] == labels


def test_a_gold_class_that_the_model_does_not_know(config: Any, model: str, tmp_path: Path) -> None:
    strange = [replace(example, label=("red", "blue")[example.label]) for example in toy(16)]
    with pytest.raises(InputError, match=r"the label 'red' of '0-0' is none of .*negative, positive"):
        train(config(target="gold", out=tmp_path / "strange"), strange, strange, model=model, method="random")


def test_the_method_is_told_where_none_was_given(config: Any, model: str) -> None:
    heard: dict[Any, list[str]] = {None: [], "integrated_gradients": []}
    data = toy(16), toy(8, seed=1)
    for method, lines in heard.items():
        train(config(seeds=(1,)), *data, model=model, method=method, tell=lines.append)
    told = "the rationales are made by integrated_gradients, since no method was given (--method)"
    assert heard[None] == [told, *heard["integrated_gradients"]]


def test_pairs(config: Any) -> None:
    data = [
        [replace(each, texts=(each.texts[0], "it was here")) for each in toy(size, seed=size)] for size in (160, 40)
    ]
    saved = [deciding(each) for part in data for each in part]
    found = train(config(epochs=4, ratio=0.1, seeds=(1,), head_learning_rate=2e-2), *data, explanations=saved)
    assert found.dev.mean > 0.9


def test_long_texts_are_pointed_out(config: Any, model: str) -> None:
    long = [replace(each, texts=(f"{each.texts[0]} " * 30,)) for each in toy(8)]
    with pytest.warns(UserWarning, match="train data: 8 of 8 texts were longer than 64 tokens"):
        train(config(ratio=0.05, seeds=(1,)), long, toy(8, seed=1), model=model, method="random")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.0}, "above 0 and up to 1; got 0.0"),
        ({"ratio": 1.1}, "above 0 and up to 1; got 1.1"),
        ({"ratio": float("nan")}, "above 0 and up to 1"),
        ({"order": "random"}, "order must be one of text, score"),
        ({"target": "all"}, "target must be one of predicted, gold"),
        ({"seeds": ()}, "seeds must be different numbers from 0 up, got none"),
        ({"seeds": (1, 1)}, "seeds must be different"),
        ({"seeds": (1, 2**70)}, "seeds must be at most"),
        ({"seed": 3}, r"give seeds=\(3,\), not seed"),
    ],
)
def test_options_that_cannot_be(config: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        config(**options)


def test_data_and_sources_that_cannot_be(config: Any, model: str) -> None:
    data = toy(8), toy(8, seed=1)
    numbers = [replace(example, label=example.label / 2) for example in toy(8)]
    with pytest.raises(InputError, match="fresh tells classes apart; these labels are numbers"):
        train(config(), numbers, numbers, model=model)
    with pytest.raises(DataError, match="test example '0-0' has label 7"):
        train(config(), *data, [replace(toy(1)[0], label=7)], model=model)
    for sources in ({}, {"model": model, "explanations": [deciding(data[0][0])]}):
        with pytest.raises(InputError, match="Give either a model to explain, or explanations"):
            train(config(), *data, **sources)
    with pytest.raises(InputError, match="a method and a target are for explaining a model"):
        train(config(), *data, explanations=[deciding(data[0][0])], method="random")
    with pytest.raises(InputError, match="7 of 8 train texts are not among"):
        train(config(), *data, explanations=[deciding(data[0][0])])
    with pytest.raises(InputError, match="does not score"):
        train(config(metric="pearson"), *data, model=model)
    assert not (config().out / "seed-1").exists()
