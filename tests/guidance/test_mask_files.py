"""Masks from files, and the command that takes them."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pytest

from rationales.data.example import Example
from rationales.errors import DataError, InputError
from rationales.explanation.types import Token
from rationales.guidance import MaskGuide
from tiny import coattentive, pair_classifier

PAIR = Example("a", ("rude staff", "they hated it"))
TOKENS = tuple(
    Token(text[start:end], side, start, end)
    for side, (text, spans) in enumerate(
        [(PAIR.texts[0], [(0, 4), (5, 10)]), (PAIR.texts[1], [(0, 4), (5, 8), (8, 10), (11, 13)])]
    )
    for start, end in spans
)


@pytest.fixture
def written(tmp_path):
    def write(content: object) -> str:
        path = tmp_path / "mask.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def test_links_of_a_single_pair(written):
    guide = MaskGuide.read(written({"links": [[0, 1], [1, 2]]}))
    assert guide(PAIR, TOKENS).tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]


def test_masks_go_by_the_ids_of_pairs(written):
    guide = MaskGuide.read(written([{"id": 7, "links": []}, {"id": "a", "factors": [[0, 0.5, 1], [1, 1, 0.25]]}]))
    assert guide(PAIR, TOKENS).tolist() == [[0, 0.5, 0.5, 1], [1, 1, 1, 0.25]]
    assert not guide(Example("7", PAIR.texts), TOKENS).any()


def test_a_pair_without_a_mask_is_not_guided_and_that_is_said_once(written):
    guide = MaskGuide.read(written([{"id": "b", "links": []}]))
    with pytest.warns(UserWarning, match="not guided; the first is 'a'"):
        assert guide(PAIR, TOKENS).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert guide(PAIR, TOKENS).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ([], "an object, or a list"),
        (3, "an object, or a list"),
        ([3], "row 0: a mask is an object"),
        ({}, "either links or factors"),
        ({"links": [], "factors": [[1]]}, "either links or factors"),
        ({"link": [], "factors": [[1]]}, "no 'link'; it has id, links, factors"),
        ({"links": [[0]]}, "pairs of word numbers"),
        ({"links": [[0, -1]]}, "pairs of word numbers"),
        ({"links": [[0, True]]}, "pairs of word numbers"),
        ({"links": 5}, "pairs of word numbers"),
        ({"factors": [[0.5], [1, 1]]}, "all of one length"),
        ({"factors": [["x"]]}, "rows of numbers"),
        ({"factors": [0.5]}, "rows of numbers"),
        ({"factors": [[1.5]]}, "from 0, no link, to 1"),
        ([{"id": "a", "links": []}, {"links": []}], "row 1: this mask has no id"),
        ([{"id": "a", "links": []}, {"id": "a", "links": []}], "row 1: this mask is the second one for 'a'"),
    ],
)
def test_damaged_files_say_what_is_wrong(written, content, message):
    path = written(content)
    with pytest.raises(DataError, match=message) as error:
        MaskGuide.read(path)
    assert path in str(error.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: .*No such file"):
        MaskGuide.read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ({"links": [[0, 3]]}, "links word 3 of the second text, which has 3 words"),
        ({"links": [[2, 0]]}, "links word 2 of the first text, which has 2 words"),
        ({"factors": [[1, 1]]}, r"shape \[1, 2\], and its texts have 2 and 3 words"),
    ],
)
def test_masks_of_other_texts_are_refused(written, mask, message):
    guide = MaskGuide.read(written(mask))
    with pytest.raises(InputError, match=message):
        guide(PAIR, TOKENS)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    directory = tmp_path_factory.mktemp("model")
    pair_classifier("da").save_pretrained(directory)
    return str(directory)


COMMAND = ("explain", "--method", "leave_one_out", "--json", "rude staff", "--pair", "they hated it")


def test_the_command_predicts_under_guidance(call, model, written):
    status, out, err = call(*COMMAND, "-m", model, "--target", "a", "--alignment", written({"links": [[0, 1]]}))
    assert status == 0, err
    own = coattentive("da")
    own.guide = lambda example, tokens: np.array([[0, 1, 0], [0, 0, 0]])
    wanted = own.probabilities(own.logits(own.encode([Example("0", ("rude staff", "they hated it"))])))[0, 0].item()
    assert json.loads(out)["target"]["score"] == pytest.approx(wanted, abs=1e-6)
    plain = json.loads(call(*COMMAND, "-m", model, "--target", "a")[1])["target"]["score"]
    assert plain != pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("given", ["--data", "text"])
def test_the_command_refuses_a_mask_that_does_not_fit(call, model, written, tmp_path, given):
    mask = written({"links": [[0, 7]]})
    if given == "text":
        status, _, err = call(*COMMAND, "-m", model, "--alignment", mask)
        assert "links word 7 of the second text, which has 3 words" in err
    else:
        data = tmp_path / "pairs.csv"
        data.write_text("premise,hypothesis\nrude staff,bad\nbad soup,bad\n", encoding="utf-8")
        status, _, err = call("explain", "-m", model, "--data", str(data), "--alignment", mask)
        assert "has no id, which goes with one pair" in err
    assert status == 2


def test_the_command_needs_spacy_for_roles(call, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    status, _, err = call(*COMMAND, "-m", model, "--alignment", "roles")
    assert status == 2
    assert "rationales[guidance]" in err


def test_a_guided_model_is_explained_by_its_links_and_says_so(call, model, written):
    mask = written({"links": [[0, 1]]})
    status, out, err = call(
        "explain", "--json", "rude staff", "--pair", "they hated it", "-m", model, "--alignment", mask
    )
    assert status == 0, err
    found = json.loads(out)
    assert found["provenance"]["method"] == "arec"
    assert found["checks"]["guided"] == 1
    free = json.loads(call(*COMMAND, "-m", model)[1])
    assert "guided" not in free["checks"]


def test_the_command_says_what_the_option_takes(call, model):
    status, _, err = call(*COMMAND, "-m", model, "--alignment", "rols")
    assert status == 2
    assert "there is no file rols; --alignment is a JSON file with masks, or the word roles" in err


def test_compare_is_guided_too(call, model, written, tmp_path):
    data = tmp_path / "pairs.csv"
    data.write_text("id,premise,hypothesis\n1,rude staff,bad\n2,bad soup,so bad\n", encoding="utf-8")
    mask = written([{"id": "1", "links": []}, {"id": "2", "links": []}])
    scores = {}
    for name, options in (("free", ()), ("guided", ("--alignment", mask))):
        status, out, err = call(
            *("compare", "-m", model, "--data", str(data), "--method", "coattention", "--metric", "aorc", "--json"),
            *("--no-page", "--out", str(tmp_path / name), *options),
        )
        assert status == 0, err
        rows = json.loads(out)["standings"]
        scores[name] = next(row for row in rows if row["method"] == "coattention")["figures"]["aorc"]["mean"]
    assert scores["free"] > 0
    assert scores["guided"] == pytest.approx(0, abs=1e-5)  # nothing is left that could be taken away
