"""What a reader sees of flipped texts."""

from __future__ import annotations

import sys

import pytest
from by_words import ByWords

from rationales.attack import attack
from rationales.attack.shown import CONTEXT, pieces
from rationales.cli import main
from rationales.data import Example

WEIGHTS = {"fine": 1.0, "It": -3.0, "not": -2.0}


def flipped(*texts):
    (outcome,) = attack(ByWords(WEIGHTS, max_length=200), [Example("7", texts, "good")]).outcomes["by-words"]
    assert outcome.status == "flipped"
    return outcome


def shown(outcome, segment=0):
    return "".join(piece.text for piece in pieces(outcome, segment))


def test_edits_stand_in_their_place_old_and_new():
    outcome = flipped("So it isn't bad: fine fine fine fine It's me")
    assert shown(outcome) == "So it [isn't → is not] bad: fine fine fine fine [It's → It is] me"
    assert [piece.text for piece in pieces(outcome, 0) if piece.changed] == ["[isn't → is not]", "[It's → It is]"]


def test_each_text_of_a_pair_has_its_own_edits():
    outcome = flipped("fine", "It's me")
    assert [shown(outcome, segment) for segment in (0, 1)] == ["fine", "[It's → It is] me"]


def test_of_a_long_text_what_is_near_an_edit_is_shown():
    words = " ".join(f"word{number}" for number in range(40))
    outcome = flipped(f"{words} isn't {words} fine fine fine fine It's {words}")
    before, first, between, second, after = (piece.text for piece in pieces(outcome, 0))
    assert (first, second) == ("[isn't → is not]", "[It's → It is]")
    assert before.startswith("… word")
    assert before.endswith("word38 word39 ")
    assert between.startswith(" word0 word1 ")
    assert between.endswith(" word39 fine fine fine fine ")
    assert between.count(" … ") == 1
    assert after.startswith(" word0 word1 ")
    assert after.endswith(" …")
    for part, times in ((before, 1), (between, 2), (after, 1)):
        assert 0.8 * CONTEXT * times < len(part) <= CONTEXT * times + 3
        assert set(part.split()) <= {*words.split(), "fine", "…"}


def test_writing_without_spaces_is_cut_too():
    outcome = flipped("字" * 99 + " It's fine " + "字" * 99)
    assert shown(outcome) == f"… {'字' * (CONTEXT - 1)} [It's → It is] fine …"


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """What the command prints of four texts, of which the first model flips all and the second none."""
    models = {"one": ByWords(WEIGHTS), "two": ByWords({"fine": 1.0})}
    monkeypatch.setattr("rationales.models.load", lambda name, **_: models[name])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("text,label\n" + "It's fine \x1b[31m,good\n" * 4)

    def run(*arguments):
        given = ("attack", "-m", "one", "-m", "two", "--data", "pairs.csv", *arguments)
        monkeypatch.setattr(sys, "argv", ["rationales", *given])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out

    return run


def test_some_flipped_texts_follow_the_table(printed):
    out = printed()
    assert out.index("McNemar") < out.index("one: 3 of 4 flipped texts")
    first, *lines = out[out.index("one: ") :].splitlines()
    assert first == "one: 3 of 4 flipped texts"
    assert [line.partition("] ")[2] for line in lines[::2]] == ["good 0.731 → bad (good 0.119)"] * 3
    assert lines[1::2] == ["  [It's → It is] fine \ufffd[31m"] * 3
    assert "two: " not in out


@pytest.mark.parametrize(("show", "times"), [("0", 0), ("1", 1), ("99", 4)])
def test_as_many_as_were_asked_for(printed, show, times):
    assert printed("--show", show).count("[It's → It is]") == times


def test_json_has_no_texts_behind_it(printed):
    assert printed("--json").count("\n") == 1
