"""Which words of a text stay, and explanations that somebody saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import scored

from rationales.data import Example
from rationales.errors import InputError
from rationales.explanation import Alignment, Explanations, Scores, Selection, Target, Token, write_jsonl
from rationales.explanation.views import word_tokens
from rationales.train.fresh_rationales import Saved, rationale, read_file


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
        InputError, match=r"1 of 2 test texts are not among the explanations, such as '7'; .*with --split where"
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
