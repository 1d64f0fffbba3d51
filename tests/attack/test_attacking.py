"""Data and models in, files out; stopping and going on."""

from __future__ import annotations

import json
import math

import pytest
from by_words import ByWords

import tiny
from rationales.attack import Search, attack
from rationales.attack.attacking import SIZE
from rationales.data import Example
from rationales.errors import FileFormatError, InputError

WEIGHTS = {"fine": 1.0, "It's": 1.0, "It": -3.0}


def many(number=SIZE + 10):
    texts = ("It's fine", "fine", "bad but we don't")
    return [Example(str(each), (texts[each % 3],), "good") for each in range(number)]


def test_the_results_hold_every_text(tmp_path):
    out = tmp_path / "attack"
    found = attack({"a": ByWords(WEIGHTS), "b": ByWords({"fine": 1.0})}, many(4), out=out, command="the command")
    content = json.loads((out / "results.json").read_text())
    assert content["command"] == "the command"
    assert content["search"]["max_edits"] == 5
    assert [each["model"] for each in content["models"]] == ["a", "b"]
    assert [each["flipped"] for each in content["models"]] == [2, 0]
    outcome = content["models"][0]["outcomes"][0]
    assert outcome["texts"] == ["It's fine"]
    assert outcome["attacked"] == ["It is fine"]
    assert outcome["edits"][0]["changes"] == [{"segment": 0, "start": 0, "end": 4, "old": "It's", "new": "It is"}]
    assert outcome["probability"] == found.outcomes["a"][0].probability


def test_a_finished_attack_asks_for_the_originals_only(tmp_path):
    first = attack(ByWords(WEIGHTS), many(), out=tmp_path / "out")
    model = ByWords(WEIGHTS)
    again = attack(model, many(), out=tmp_path / "out")
    assert again == first
    assert len(model.asked) == len(many())


class Stopped(Exception):
    pass


class StopsLater(ByWords):
    """Is stopped in the middle of the second part."""

    def encode(self, examples, *, warn=True):
        if any(int(each.id) >= SIZE and each.texts[0].startswith("It is") for each in examples):
            raise Stopped
        return super().encode(examples, warn=warn)


def test_a_stopped_attack_goes_on_and_gives_the_same(tmp_path):
    whole = attack(ByWords(WEIGHTS), many())
    with pytest.raises(Stopped):
        attack(StopsLater(WEIGHTS), many(), out=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/parts/by-words").iterdir()] == ["00000.json"]
    assert not (tmp_path / "out/results.json").exists()
    model = ByWords(WEIGHTS)
    assert attack(model, many(), out=tmp_path / "out") == whole
    assert model.asked.count(("It is fine",)) == sum(each.texts == ("It's fine",) for each in many()[SIZE:])


def test_another_model_other_options_or_other_texts_are_attacked_anew(tmp_path):
    attack(ByWords(WEIGHTS), many(5), out=tmp_path / "out")
    for model, examples, search in (
        (ByWords({**WEIGHTS, "It's": 1.1}), many(5), Search()),
        (ByWords({**WEIGHTS, "It's": 1.1}), many(5), Search(max_edits=1)),
        (ByWords({**WEIGHTS, "It's": 1.1}), many(4), Search(max_edits=1)),
    ):
        found = attack(model, examples, search, out=tmp_path / "out")
        assert ("It is fine",) in model.asked
        assert found == attack(model, examples, search)


def test_models_that_are_sure_are_told_apart(tmp_path):
    sure, as_sure = ByWords({"fine": 15.0}), ByWords({"It's": 20.0, "It": -20.0})
    assert attack(sure, many(1), out=tmp_path / "out").figures[0].flipped == 0
    assert attack(as_sure, many(1), out=tmp_path / "out").figures[0].flipped == 1


def test_an_attack_on_other_texts_is_not_put_in_its_place(tmp_path):
    out = tmp_path / "out"
    attack({"a": ByWords(WEIGHTS)}, many(), out=out)
    before = {path: path.read_bytes() for path in out.rglob("*.json")}
    model = ByWords(WEIGHTS)
    others = [Example("0", ("It's good",), "good"), Example("1", ("fine", "fine"), "good")]
    with pytest.raises(
        InputError, match=r"out holds an attack on other texts, such as \"It's fine\"; give another dir"
    ):
        attack({"b": model}, others, out=out)
    assert {path: path.read_bytes() for path in out.rglob("*.json")} == before
    assert model.asked == []


def test_more_texts_and_fewer_go_on_from_what_is_there(tmp_path):
    for number in (SIZE + 2, 3, SIZE + 10):
        found = attack(ByWords(WEIGHTS), many(number), out=tmp_path / "out")
        assert found == attack(ByWords(WEIGHTS), many(number))


def test_other_directories_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no attack to go on with"):
        attack(ByWords(WEIGHTS), many(1), out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "attack.json").write_text('{"format": 99}')
    with pytest.raises(FileFormatError, match="not of an attack that this version can read"):
        attack(ByWords(WEIGHTS), many(1), out=tmp_path)


def test_probabilities_that_are_not_numbers_come_back(tmp_path):
    for _ in range(2):
        found = attack(ByWords({"fine": math.nan}), many(1), out=tmp_path / "out")
        assert math.isnan(found.outcomes["by-words"][0].probability)
        assert found.outcomes["by-words"][0].status == "wrong"


def test_data_that_cannot_be_attacked():
    model = ByWords(WEIGHTS)
    with pytest.raises(InputError, match="there are no texts to attack"):
        attack(model, [])
    with pytest.raises(InputError, match=r"none of the 2 texts has a label.*--label-column"):
        attack(model, ["fine", "bad"])
    with pytest.raises(InputError, match=r"'x' has the label 'great', which by-words does not know.*bad, good"):
        attack(model, [Example("x", ("fine",), "great")])
    with pytest.warns(UserWarning, match="1 of 2 texts have no label and are left out"):
        assert attack(model, [*many(1), Example("y", ("fine",))]).figures[0].texts == 1


def test_models_that_cannot_be_attacked():
    with pytest.raises(InputError, match=r"predicts a number.*needs a classifier"):
        attack(tiny.classifier(labels=1), many(1))
    with pytest.raises(InputError, match="no model to attack"):
        attack([], many(1))
    with pytest.raises(InputError, match="different names, got by-words, by-words"):
        attack([ByWords(WEIGHTS), ByWords({})], many(1))


def test_labels_may_be_numbers_or_differ_in_capitals():
    model = ByWords(WEIGHTS)
    examples = [Example("0", ("fine",), 1), Example("1", ("fine",), "GOOD"), Example("2", ("fine",), 0)]
    assert [each.status for each in attack(model, examples).outcomes["by-words"]] == ["no_edits", "no_edits", "wrong"]
