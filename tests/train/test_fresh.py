"""`rationales train fresh`: which words stay, and classifiers of nothing else, with tiny models."""

from __future__ import annotations

import io
import json
import re
import shutil
import statistics
import sys
import warnings
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from test_classifier import BAD, GOOD, toy
from transformers import BertConfig, BertModel

from rationales.cli import main
from rationales.data import Dataset, Example, load
from rationales.errors import DataError, InputError, ModelError
from rationales.explainers import LeaveOneOut, Random
from rationales.explanation import (
    Alignment,
    Explanation,
    Explanations,
    Provenance,
    Scores,
    Selection,
    Target,
    Token,
    write_jsonl,
)
from rationales.explanation.views import word_tokens
from rationales.models import TransformersClassifier
from rationales.train import classifier as plain
from rationales.train import fresh, fresh_rationales
from rationales.train.checkpoint import Run
from rationales.train.fresh import Config, train
from rationales.train.fresh_measuring import places
from rationales.train.fresh_rationales import Saved, rationale, read_file
from tiny import SIZE, STACK, tokenizer

LABELS = ("negative", "positive")
DECIDING = {*GOOD, *BAD}


def scored(texts: str | tuple[str, ...], values: list[float], tokens: Any = None, **options: Any) -> Explanation:
    """Scores of words, unless other tokens are given."""
    texts = (texts,) if isinstance(texts, str) else texts
    options = {"id": "a", "target": Target(0, "bad", 0.9), "method": "hand", "params": {}, "model": "m", **options}
    return Explanation(
        options["id"],
        texts,
        tuple(word_tokens(texts) if tokens is None else tokens),
        options["target"],
        Scores(np.array(values, dtype=float)),
        Provenance(options["method"], options["params"], options["model"], None, "0"),
    )


def deciding(example: Example, **options: Any) -> Explanation:
    """The word that decides has the highest score."""
    return scored(
        example.texts,
        [1.0 if word in DECIDING else 0.0 for text in example.texts for word in text.split()],
        id=example.id,
        **options,
    )


# Which words stay


def test_pieces_are_summed_and_words_stand_in_the_order_of_the_text() -> None:
    pieces = [Token("[CLS]", -1, 0, 0), *word_tokens(("so ",)), Token("un", 0, 3, 5), Token("##friendly", 0, 5, 13)]
    pieces += [Token("staff", 0, 14, 19), Token("here", 0, 20, 24), Token("[SEP]", -1, 0, 0)]
    explanation = scored("so unfriendly staff here", [9, 0.5, 0.4, 0.4, 0.6, -1, 9], pieces)
    assert rationale(explanation, 0.25) == ("unfriendly",)  # 0.8, though no piece is as high as "staff"
    assert rationale(explanation, 0.5) == ("unfriendly staff",)
    assert rationale(explanation, 0.75) == ("so unfriendly staff",)
    assert rationale(explanation, 0.75, "score") == ("unfriendly staff so",)
    assert rationale(explanation, 1.0) == explanation.texts


@pytest.mark.parametrize(
    ("ratio", "size", "kept"), [(0.1, 30, 3), (0.1, 31, 4), (0.2, 5, 1), (0.2, 6, 2), (0.01, 9, 1), (1.0, 7, 7)]
)
def test_the_share_is_rounded_up(ratio: float, size: int, kept: int) -> None:
    explanation = scored(" ".join(f"w{number}" for number in range(size)), list(range(size)))
    assert len(rationale(explanation, ratio)[0].split()) == kept


def test_ties_go_to_the_earlier_word() -> None:
    assert rationale(scored("a b c d", [1, 1, 1, 1]), 0.5) == ("a b",)


def test_words_that_were_cut_off_do_not_count() -> None:
    """They would score 0, which is more than -1."""
    seen = word_tokens(("a b c d",))
    explanation = scored("a b c d e f g h i j k l", [-1, -2, -3, -4], seen)
    assert rationale(explanation, 0.5) == ("a b",)


def test_characters_of_a_script_without_spaces_stay_together() -> None:
    explanation = scored("好的湯 good", [3, 2, 0, 1])
    assert rationale(explanation, 0.5) == ("好的",)
    assert rationale(explanation, 0.75) == ("好的 good",)


def test_a_pair_is_ranked_as_one_and_no_side_is_left_empty() -> None:
    pair = ("the soup was tasty", "food was good")
    explanation = scored(pair, [1, 9, 2, 8, 7, 0, 6])
    assert rationale(explanation, 0.5) == ("soup tasty", "food good")
    assert rationale(explanation, 0.5, "score") == ("soup tasty", "food good")
    assert rationale(explanation, 0.25) == ("soup tasty", "food")  # the best of a side that has none among the best
    assert rationale(scored(pair, [1, 9, 2, 8, -7, 0, -6]), 0.2) == ("soup tasty", "was")


def test_a_selection_stays_as_it_is() -> None:
    text = "the soup, was very tasty"
    tokens = [Token("the", 0, 0, 3), Token("soup", 0, 4, 8), Token(",", 0, 8, 9), Token("was", 0, 10, 13)]
    tokens += [Token("very", 0, 14, 18), Token("tasty", 0, 19, 24)]
    explanation = scored(text, [0] * 6, tokens)

    def kept(*places: int) -> tuple[str, ...]:
        keep = np.isin(np.arange(6), places)
        return rationale(explanation.with_body(Selection(keep)), 0.2)

    assert kept(1, 4, 5) == ("soup very tasty",)
    assert kept(1, 2) == ("soup,",)
    assert kept(2) == (",",)
    assert kept(0, 1, 2, 3, 4, 5) == (text,)
    assert kept() == ("the",)


def test_what_cannot_be_ranked() -> None:
    with pytest.raises(InputError, match="'a' are NaN"):
        rationale(scored("a b", [1, np.nan]), 0.5)
    pair = scored(("a b", "c"), [0, 0, 0])
    with pytest.raises(InputError, match="of the kind alignment"):
        rationale(pair.with_body(Alignment(np.zeros((2, 1)))), 0.5)


def test_saved_explanations_are_found_by_id_and_texts_or_by_texts() -> None:
    first, again = Example("0", ("the good food",)), Example("1", ("the good food",))
    saved = [scored(first.texts, [0, 1, 0], id="0"), scored(again.texts, [0, 0, 1], id="1")]
    found = Saved.read([*saved, saved[0]], 0.2, "text")
    other = replace(first, id="elsewhere")
    assert found.rationales({"train": [again, first], "dev": [other]}).texts == {
        "train": [("food",), ("good",)],
        "dev": [("good",)],
    }
    saved[1] = replace(saved[1], target=Target(1, "good", 0.9))
    found = Saved.read(saved, 0.2, "text")
    targets = found.rationales({"train": [again, first], "dev": [other]}).targets
    assert {split: [target.label for target in some] for split, some in targets.items()} == {
        "train": ["good", "bad"],
        "dev": ["bad"],
    }
    with pytest.raises(
        InputError, match=r"1 of 2 test texts are not among the explanations, such as '7'; .*--split test"
    ):
        found.rationales({"test": [first, Example("7", ("the bad food",))]})


MADE: dict[str, Any] = {"params": {"samples": 50, "layers": [1, 2], "at": float("nan"), "seed": 1}, "model": "m"}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"method": "lime", "params": {"steps": 3}}, r"has method 'lime' instead of 'hand'; give those of one method"),
        ({"params": {**MADE["params"], "samples": 9}}, r"that of 'b' has samples 9 instead of 50; .*the same settings"),
        ({"params": {**MADE["params"], "layers": (1,)}}, r"has layers \[1\] instead of \[1, 2\];"),
        ({"params": {}}, "has samples None instead of 50, layers None"),
        (
            {"params": {**MADE["params"], "more": 1}, "model": "n"},
            "has model 'n' instead of 'm', more 1 instead of None",
        ),
    ],
)
def test_explanations_of_several_kinds_are_refused(tmp_path: Path, other: dict[str, Any], message: str) -> None:
    one, another = scored("good food", [1, 0], **MADE), scored("bad food", [1, 0], id="b", **{**MADE, **other})
    with pytest.raises(InputError, match=message):
        Saved.read([one, another], 0.2, "text")
    Explanations([one]).save(tmp_path / "one.parquet")
    with pytest.raises(InputError, match=message):
        Saved.read([*Explanations.load(tmp_path / "one.parquet"), another], 0.2, "text")


def test_explanations_of_one_kind_are_taken_together(tmp_path: Path) -> None:
    """Whatever their seed and version, out of files or not, and also where nothing is known of how they were made."""
    one = scored("good food", [1, 0], **MADE)
    Explanations([one]).save(tmp_path / "one.parquet")
    write_jsonl([one], tmp_path / "one.jsonl")
    other = scored("bad food", [1, 0], **{**MADE, "params": {**MADE["params"], "seed": 2}, "model": "./m/"})
    other = replace(other, provenance=replace(other.provenance, seed=2, version="9"))
    saved = [one, *read_file(tmp_path / "one.parquet"), *read_file(tmp_path / "one.jsonl"), other]
    assert Saved.read(saved, 0.2, "text").rationales({"train": [Example("7", ("bad food",))]}).texts["train"] == [
        ("bad",)
    ]
    human = [scored(text, [1, 0], method="human", model="") for text in ("good food", "bad food")]
    Saved.read(human, 0.2, "text")


def test_a_text_that_is_explained_twice_differently_is_refused() -> None:
    one = scored("good food", [1, 0])
    with pytest.raises(InputError, match="'a' is explained for bad and for good"):
        Saved.read([one, replace(one, target=Target(1, "good", 0.1))], 0.5, "text")
    with pytest.raises(InputError, match=r"'a' is explained twice, with different scores, .* be 'good' or 'food'"):
        Saved.read([one, replace(one, body=Scores(np.array([0.1, 0.2])))], 0.5, "text")
    Saved.read([one, replace(one, body=Scores(np.array([0.2, 0.1])))], 0.5, "text")  # the same words


@pytest.mark.parametrize(
    ("explained", "names", "wanted"),
    [
        (("bad", "good"), ("good", "bad"), {"bad": 1, "good": 0}),
        (("BAD", "Good"), ("good", "bad"), {"BAD": 1, "Good": 0}),
        (("B", "b"), ("b", "B"), {"B": 1, "b": 0}),
        (("LABEL_0", "LABEL_1"), ("neg", "pos"), {"LABEL_0": 0, "LABEL_1": 1}),  # a model that knows no names
        (("LABEL_1", "LABEL_2"), ("neg", "pos"), {"LABEL_1": 1}),
        (("LABEL_0", "LABEL_1"), ("LABEL_1", "LABEL_0"), {"LABEL_0": 1, "LABEL_1": 0}),
        (("LABEL_0", "good"), ("bad", "good"), {"good": 1}),
        (("bad", "good"), ("0", "1"), {"bad": 0, "good": 1}),  # data that only count
        (("LABEL_0", "LABEL_1"), ("0", "1"), {"LABEL_0": 0, "LABEL_1": 1}),
        (("1", "2"), ("0", "1"), {"1": 1}),  # ratings are names
        (("LABEL_0", "LABEL_1"), ("1", "2"), {}),
        (("bad", "good"), ("1", "2"), {}),
        (("bad", "mixed"), ("bad", "good"), {"bad": 0}),
        (("red", ""), ("bad", "good"), {}),
    ],
)
def test_what_is_explained_is_found_among_the_classes_of_the_data(
    explained: tuple[str, ...], names: tuple[str, ...], wanted: dict[str, int]
) -> None:
    assert places([Target(index, label) for index, label in enumerate(explained)], names) == wanted


# Classifiers of them


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("encoder")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(**SIZE, **STACK)).save_pretrained(directory)
    tokenizer().save_pretrained(directory)
    return str(directory)


@pytest.fixture(scope="module")
def model(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A classifier of the toy texts."""
    config = plain.Config(
        tmp_path_factory.mktemp("model") / "model", encoder=encoder, epochs=4, batch_size=8, learning_rate=1e-2
    )
    return str(plain.train(config, toy(160), toy(40, seed=1), labels=LABELS))


@pytest.fixture
def config(encoder: str, tmp_path: Path) -> Any:
    def make(**options: Any) -> Config:
        usual = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2, "seeds": (1, 2), "out": tmp_path / "out"}
        return Config(encoder=encoder, **{**usual, **options})

    return make


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


def test_a_rationale_can_spell_out_what_it_was_made_for(config: Any) -> None:
    """The first word says which class is explained, which is no better than a guess: macro-F1 is that of the guess."""

    def told(examples: list[Example]) -> tuple[list[Example], list[Explanation]]:
        said = [place // 2 % 2 for place in range(len(examples))]
        texts = [("good" if one else "bad", *each.texts[0].split()) for one, each in zip(said, examples, strict=True)]
        examples = [replace(each, texts=(" ".join(some),)) for each, some in zip(examples, texts, strict=True)]
        return examples, [
            scored(each.texts, [1.0, *[0.0] * (len(some) - 1)], id=each.id, target=Target(one, LABELS[one], 0.9))
            for each, some, one in zip(examples, texts, said, strict=True)
        ]

    parts = [toy(size, seed=seed) for seed, size in enumerate((160, 40, 40))]
    data, saved = zip(*map(told, parts), strict=True)
    # the labels of training texts are what is explained, so that this is what is learned
    training = [replace(each, label=made.target.index) for each, made in zip(data[0], saved[0], strict=True)]
    usual = config(epochs=4, ratio=0.1, seeds=(1,))
    found = train(usual, training, data[1], {"far": data[2]}, explanations=chain(*saved), labels=LABELS)
    assert {split: figures.mean for split, figures in found.agreement.items()} == {"dev": 1.0, "far": 1.0}
    assert found.tests["far"].mean < 0.75
    summary = json.loads((found.out / "fresh.json").read_text())
    assert summary["agreement"]["far"] == {"seeds": {"1": 1.0}, "mean": 1.0, "std": None}


def test_agreement_is_told_where_classes_are_called_otherwise(config: Any) -> None:
    """And where that cannot be, it is said why, once."""
    data = toy(16), toy(8, seed=1), {"near": toy(6, seed=2), "far": toy(4, seed=3)}
    wrong = {"1-0", "1-3", "1-5"}  # so that agreement is not accuracy
    heard: dict[tuple[str, str], list[str]] = {}
    found = {}
    for names in (LABELS, ("NEGATIVE", "Positive"), ("LABEL_0", "LABEL_1"), ("red", "blue")):
        heard[names] = []
        saved = []
        for each in chain(data[0], data[1], *data[2].values()):
            index = each.label ^ (each.id in wrong)
            saved.append(deciding(each, target=Target(index, names[index], 0.9)))
        options = {"explanations": saved, "labels": LABELS, "tell": heard[names].append}
        found[names] = train(config(seeds=(1,)), *data, **options).agreement
    usual = found.pop(LABELS)
    assert usual.keys() == {"dev", "near", "far"}
    assert found.pop(("red", "blue")) == {}
    assert [some == usual for some in found.values()] == [True, True]
    told = "agreement is left out of dev, near, far: the class that is explained, such as 'blue', is none of the data's"
    assert [line for line in heard.pop(("red", "blue")) if "agreement" in line] == [f"{told} (negative, positive)"]
    assert not any("agreement" in line for lines in heard.values() for line in lines)


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
    whole = TransformersClassifier.from_pretrained(found.models[1], device="cpu")
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


def test_a_run_that_was_stopped_explains_nothing_twice(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = toy(20), toy(10, seed=1)
    monkeypatch.setattr(fresh_rationales, "PART", 8)
    usual, explained = LeaveOneOut.__call__, []

    def stopped(self: Any, model: Any, batch: Any, targets: Any = None) -> Explanations:
        if len(explained) == 2:
            raise KeyboardInterrupt
        explained.append(len(batch))
        return usual(self, model, batch, targets)

    with monkeypatch.context() as patch:
        patch.setattr(LeaveOneOut, "__call__", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(1,)), *data, model=model, method="leave_one_out")
    assert explained == [8, 8]

    def counted(self: Any, model: Any, batch: Any, targets: Any = None) -> Explanations:
        explained.append(len(batch))
        return usual(self, model, batch, targets)

    monkeypatch.setattr(LeaveOneOut, "__call__", counted)
    first = train(config(seeds=(1,)), *data, model=model, method="leave_one_out")
    assert explained == [8, 8, 4, 8, 2]
    kept = Explanations.load(first.out / "explanations" / "train.parquet")
    assert [each.id for each in kept] == [example.id for example in data[0]]
    assert not (first.out / "explanations" / "train").exists()

    more = train(config(seeds=(1, 2)), *data, model=model, method="leave_one_out")  # a seed is added
    assert len(explained) == 5
    assert more.dev.seeds[1] == first.dev.seeds[1]
    whole = train(config(seeds=(1, 2), out=tmp_path / "whole"), *data, model=model, method="leave_one_out")
    assert whole.dev == more.dev


def test_other_explanations_are_not_taken_for_these(config: Any, model: str, encoder: str, tmp_path: Path) -> None:
    data = toy(16), toy(8, seed=1)
    usual = config(seeds=(1,))
    train(usual, *data, model=model, method=Random(seed=1))
    with pytest.raises(InputError, match="other explanations of the train texts: params differ"):
        train(usual, *data, model=model, method=Random(seed=2))
    with pytest.raises(InputError, match="train texts: method, params differ"):
        train(usual, *data, model=model, method="leave_one_out")
    with pytest.raises(InputError, match="dev texts: texts differ"):
        train(usual, data[0], toy(8, seed=3), model=model, method=Random(seed=1))
    other = plain.train(plain.Config(tmp_path / "other", encoder=encoder, epochs=1, seed=5), *data)
    with pytest.raises(InputError, match="train texts: model differ"):
        train(usual, *data, model=str(other), method=Random(seed=1))
    with pytest.raises(InputError, match=r"holds another run, with .*ratio 0\.2 instead of 0\.9"):
        train(config(seeds=(1,), ratio=0.9), *data, model=model, method=Random(seed=1))
    anew = train(replace(usual, overwrite=True), *data, model=model, method=Random(seed=2))
    kept = Explanations.load(anew.out / "explanations" / "train.parquet")
    assert kept[0].provenance.seed == 2


def test_explanations_of_a_model_that_cuts_elsewhere_are_not_taken_for_these(config: Any, model: str) -> None:
    """Also where the texts whose logits are compared are too short to be cut."""
    long = [replace(each, texts=(f"{each.texts[0]} " * 6,)) for each in toy(4, seed=7)]
    data = [*toy(8), *long], toy(8, seed=1)
    usual = config(seeds=(1,), ratio=0.1)
    train(usual, *data, model=model, method="random")
    other = TransformersClassifier.from_pretrained(model, device="cpu", max_length=12)
    with pytest.raises(InputError, match="other explanations of the train texts: max_length differ"):
        train(usual, *data, model=other, method="random")


def entries(directory: Path) -> dict[str, bytes]:
    """All files below, by their names."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def test_overwriting_leaves_nothing_old_that_a_run_made(
    config: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing goes before the new models are there, nor anything that no run made."""
    data = toy(16), toy(8, seed=1)
    out = config().out

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    train(config(seeds=(1, 3, 5)), *data, {"far": toy(4, seed=2)}, model=model, method="random")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "publish", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(7,)), *data, model=model, method="random")
    foreign = ("notes.txt", "seed-8/config.json", "seed-9/rationales.json", "seed-x/config.json",
               "explanations/mine.json", "explanations/mine.parquet")  # fmt: skip
    for name in foreign:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(json.dumps({"run": {"recipe": "classifier", "config": {"seed": 9}}}))
    shutil.copytree(out / "seed-3", out / "seed-10")
    copied = {name: content for name, content in entries(out).items() if name.startswith("seed-10/")}

    before = entries(out)
    saved = [deciding(each) for part in data for each in part]
    anew = config(seeds=(1, 2), overwrite=True)
    for bad in (saved[1:], [replace(saved[0], body=Scores(saved[0].body.values * np.nan)), *saved[1:]]):
        with pytest.raises(InputError, match=r"'0-0'"):
            train(anew, *data, explanations=bad)
    with pytest.raises(ModelError):
        train(replace(anew, encoder="./nowhere"), *data, explanations=saved)
    assert entries(out) == before

    def heard(_: str) -> None:
        now = entries(out)
        assert all(now[name] == before[name] for name in before if not re.match(r"seed-[12]/", name))

    train(anew, *data, explanations=saved, labels=LABELS, tell=heard)
    after = entries(out)
    left = {name for name in after if not re.match(r"seed-[12]/", name)}
    assert left == {*foreign, *copied, "fresh.json", "README.md"}
    assert all(after[name] == before[name] for name in (*foreign, *copied))
    assert not any((out / name).exists() for name in ("seed-3", "seed-7", "explanations/train"))
    assert json.loads(after["fresh.json"])["config"]["seeds"] == [1, 2]


def test_overwriting_leaves_what_is_described_and_what_was_given(config: Any, model: str) -> None:
    data = toy(16), toy(8, seed=1)
    out = config().out
    train(config(seeds=(1, 3)), *data, {"far": toy(4, seed=2)}, model=model, method="random")
    train(config(seeds=(2,), overwrite=True), *data, model=str(out / "seed-3"), method="random")
    assert {each.name for each in out.iterdir()} == {"seed-2", "seed-3", "explanations", "fresh.json", "README.md"}
    files = [out / "explanations" / f"{split}.parquet" for split in ("train", "dev")]
    assert {each.name for each in (out / "explanations").glob("*.parquet")} == {"train.parquet", "dev.parquet"}
    train(config(seeds=(2,), overwrite=True), *data, explanations=files)
    assert all(file.exists() and file.with_suffix(".json").exists() for file in files)
    assert not (out / "seed-3").exists()


@pytest.mark.parametrize("content", ["years of work", '{"macro_f1": 0.9}', "[1]"])
@pytest.mark.parametrize("name", ["README.md", "fresh.json"])
def test_files_that_are_not_ours_are_not_touched(
    config: Any, model: str, tmp_path: Path, name: str, content: str
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / name).write_text(content)
    for sources in ({"model": model, "method": "random"}, {"explanations": map(deciding, toy(16))}):
        with pytest.raises(InputError, match=r"foreign is not empty and holds no run\. .*overwrite"):
            train(config(seeds=(1,), out=foreign), toy(16), toy(16), **sources)
    assert [(file.name, file.read_text()) for file in foreign.iterdir()] == [(name, content)]


def test_explanations_that_no_run_made_are_not_taken(config: Any, model: str) -> None:
    file = config().out / "explanations" / "train.parquet"
    Explanations(map(deciding, toy(16))).save(file)
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"train\.parquet is there, but nothing says what"):
        train(config(seeds=(1,)), toy(16), toy(8, seed=1), model=model, method="random")
    assert file.read_bytes() == before


def test_a_run_that_was_stopped_in_its_first_epoch_goes_on(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is finished is given back, or another seed is added to it."""
    saved = [deciding(each) for each in toy(16)]

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(plain, "gathered", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config(seeds=(1,)), toy(16), toy(16), explanations=saved)
    assert [entry.name for entry in config().out.iterdir()] == ["seed-1"]
    first = train(config(seeds=(1,)), toy(16), toy(16), explanations=saved)
    assert train(config(seeds=(1, 2)), toy(16), toy(16), explanations=saved).dev.seeds[1] == first.dev.seeds[1]


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


# The command


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rationales", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def write(path: Path, examples: list[Example], labelled: bool = True) -> str:
    rows = [{"text": each.texts[0], **({"label": LABELS[each.label]} if labelled else {})} for each in examples]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    for split, size in (("train", 24), ("dev", 8), ("test", 10)):
        write(tmp_path / "data" / f"{split}.jsonl", toy(size, seed=size))
    return str(tmp_path / "data")


def test_the_command_from_a_model(call: Any, data: str, model: str, encoder: str, tmp_path: Path) -> None:
    out = tmp_path / "fresh"
    command = ("train", "fresh", "--data", data, "--model", model, "--method", "lime:samples=8", "--encoder", encoder,
               "--seeds", "3,4", "--epochs", "1", "--ratio", "0.4", "--order", "score", "--out", str(out))  # fmt: skip
    status, printed, err = call(*command)
    assert status == 0, err
    assert printed.strip() == str(out / "fresh.json")
    assert "seed 4 (2 of 2): dev macro-F1" in err
    assert re.search(r"^test macro-F1 \d\.\d{4} ± .*, agreement with what is explained \d\.\d{4} ± ", err, re.MULTILINE)
    assert "expect texts that were cut down to their rationale" in err
    found = json.loads((out / "fresh.json").read_text())
    assert found["config"]["ratio"] == 0.4
    assert found["config"]["seeds"] == [3, 4]
    assert found["explanations"]["method"] == "lime"
    assert found["explanations"]["params"]["samples"] == 8
    assert found["labels"] == list(LABELS)
    assert found["macro_f1"].keys() == {"dev", "test"}
    for figures in found["macro_f1"].values():
        assert figures["seeds"].keys() == {"3", "4"}
        assert figures["mean"] == pytest.approx(statistics.mean(figures["seeds"].values()))
        assert figures["std"] == pytest.approx(statistics.stdev(figures["seeds"].values()))
    status, again, err = call(*command)
    assert (status, again) == (0, printed)
    for seed in (3, 4):
        assert f"seed-{seed}: finished before; nothing was trained" in err
    status, shown, err = call("explain", "--model", str(out / "seed-3"), "--method", "gradient", "tasty")
    assert status == 0, err
    assert shown.split()[1] in LABELS


def test_the_command_from_files(call: Any, data: str, encoder: str, tmp_path: Path) -> None:
    files = []
    for split in ("train", "dev", "test"):
        kept = Explanations(map(deciding, load(data, split=split)))
        files.append(str(tmp_path / f"{split}.parquet"))
        kept.save(files[-1])
        if split == "test":
            files[-1] = str(tmp_path / "test.jsonl")
            write_jsonl(kept, files[-1])
    start = ("train", "fresh", "--data", data, "--encoder", encoder, "--seeds", "1", "--epochs", "1",
             "--out", str(tmp_path / "fresh"))  # fmt: skip
    status, _, err = call(*start, *(word for file in files[:2] for word in ("--explanations", file)))
    assert status != 0
    assert "10 of 10 test texts are not among the explanations" in err
    status, _, err = call(*start, *(word for file in files for word in ("--explanations", file)))
    assert status == 0, err
    found = json.loads((tmp_path / "fresh" / "fresh.json").read_text())
    assert found["explanations"]["method"] == "hand"
    assert not (tmp_path / "fresh" / "explanations").exists()


def test_several_sets_are_measured_on(call: Any, data: str, model: str, encoder: str, tmp_path: Path) -> None:
    near, far = (write(tmp_path / f"{name}.jsonl", toy(size, seed=size)) for name, size in (("near", 6), ("far", 8)))
    command = ("train", "fresh", "--data", data, "-m", model, "--method", "random", "--encoder", encoder,
               "--seeds", "1", "--epochs", "1", "--out", str(tmp_path / "fresh"))  # fmt: skip
    status, out, err = call(*command, "--test", near, "--test", far)
    assert status == 0, err
    assert "far macro-F1" in err
    found = json.loads(Path(out.strip()).read_text())
    assert found["macro_f1"].keys() == {"dev", "near", "far"}
    assert (found["texts"]["near"], found["texts"]["far"]) == (6, 8)
    for name in ("dev", "a b", ""):
        with pytest.raises(InputError, match=f"cannot be called '{name}'"):
            train(
                Config(tmp_path / "more"), load(data, split="train"), load(data, split="dev"), {name: []}, model=model
            )


def test_a_test_split_without_labels_is_left_out(
    call: Any, data: str, model: str, encoder: str, tmp_path: Path
) -> None:
    write(Path(data) / "test.jsonl", toy(6, seed=9), labelled=False)
    status, out, err = call("train", "fresh", "--data", data, "-m", model, "--method", "random", "--encoder", encoder,
                            "--seeds", "1", "--epochs", "1", "--out", str(tmp_path / "fresh"))  # fmt: skip
    assert status == 0, err
    assert "the test split has no labels" in err
    assert json.loads(Path(out.strip()).read_text())["macro_f1"].keys() == {"dev"}


def test_help_and_wrong_commands(call: Any, data: str, model: str, tmp_path: Path) -> None:
    status, out, _ = call("train", "fresh", "--help")
    assert status == 0
    for word in ("rationales train fresh --data", "--explanations", "--ratio", "--seeds", "--label-column", "cut down"):
        assert word in out
    assert "--seed " not in out
    for options, message in (
        ((), "Give either --model to explain, or --explanations FILE"),
        (("--model", model, "--explanations", "a.parquet"), "Give either --model"),
        (("--explanations", "a.txt"), "end in .parquet or .jsonl"),
        (("--explanations", "nowhere.parquet"), "nowhere.parquet"),
        (("--model", model, "--ratio", "0"), "above 0 and up to 1; got 0.0"),
        (("--model", model, "--seeds", "1,x"), "--seeds must be a number, got 'x'"),
        (("--model", model, "--method", "limes"), "did you mean 'lime'?"),
        (("--model", model, "--method", "lime:steps=3"), "lime has no option --steps"),
    ):
        status, _, err = call("train", "fresh", "--data", data, *options, "--out", str(tmp_path / "fresh"))
        assert status != 0
        assert message in err
