"""Texts that nobody thinks of: each gets an explanation that is as it should be, or an error that says why not."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

import numpy as np
import pytest

from rationales import evaluate, explain
from rationales.data import Example
from rationales.errors import InputError
from rationales.explainers import explainers
from rationales.explanation import Explanation, Explanations, Scores
from rationales.metrics import metrics
from rationales.models.shortening import FAR, shortened
from rationales.report import coloured, plain
from tiny import PIECES, classifier, tokenizer

BY_MODEL = sorted(name for name, own in metrics.items() if own.needs == ("model",) and Scores in own.bodies)
TEXTS = {
    "empty": "",
    "white space": " \n\t\u00a0\u3000 ",
    "one token": "good",
    "unknown tokens": "zzz qqq xxx",
    "emoji": "good 👩‍👩‍👧‍👦 soup 🍜🏳️‍🌈👍🏽",
    "right to left": "שלום good مرحبا",
    "combining": "e\u0301 a\u0300\u0301\u0302 soup\u0301 ñ",
    "NUL": "go\0od \0 soup",
    "overriding direction": "\u202egood\u202c soup",
    "markup": "<script>alert(1)</script> [bold]good[/bold]",
    "special tokens": "[CLS] good [SEP] [MASK] [PAD]",
    "byte order mark": "\ufeffgood soup",
}


@pytest.fixture(scope="module")
def model():
    return classifier("bert")


def check(found: Explanation, text: str) -> None:
    """Finite scores, one per token; tokens that lie in the text."""
    assert found.texts == (text,)
    assert np.isfinite(found.body.values).all()
    for token in found.tokens:
        assert token.special or text[token.start : token.end] == token.text


@pytest.mark.parametrize("method", sorted(explainers))
def test_every_method_explains_every_text_alone_and_among_others(model, method):
    together = explain(model, list(TEXTS.values()), method)
    for found, text in zip(together, TEXTS.values(), strict=True):
        check(found, text)
        [alone] = explain(model, text, method)
        assert alone.tokens == found.tokens
        np.testing.assert_allclose(alone.body.values, found.body.values, atol=2e-4)


@pytest.mark.parametrize("name", ["empty", "white space"])
def test_a_text_without_words_has_nothing_to_mark(model, name):
    [found] = explain(model, TEXTS[name], "leave_one_out")
    assert not found.content.any()
    assert found.target.label in model.labels
    for measured in evaluate(model, [found], BY_MODEL):
        assert np.isnan(measured.values).all(), measured.metric
        assert (measured.aggregate.count, measured.aggregate.undefined) == (0, 1)


def test_a_text_of_one_token_is_its_own_reason(model):
    [found] = explain(model, "good", "leave_one_out")
    assert found.content.sum() == 1
    for measured in evaluate(model, [found], BY_MODEL):
        assert np.isfinite(measured.values).all(), measured.metric


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_text_can_be_saved_shown_and_measured(model, text, tmp_path):
    found = explain(model, [text], "gradient", out=tmp_path / "found.parquet")
    found.to_jsonl(tmp_path / "found.jsonl")
    [back] = Explanations.from_jsonl(tmp_path / "found.jsonl")
    assert back.texts == found[0].texts == (text,)
    for shown in (plain(back), coloured(back).plain):
        assert not set("\0\u202e\u202c\ufeff") & set(shown)
    for measured in evaluate(model, found, ["comprehensiveness", "sufficiency", "decision_flip"]):
        assert measured.values.shape == (1,)


def test_the_command_refuses_what_is_no_text_and_takes_the_rest(call, refused, model_directory, tmp_path):
    explains = ("explain", "-m", model_directory, "--method", "random")
    assert "text 0 is empty" in refused(*explains, "")
    assert "text 1 is empty" in refused(*explains, "good", TEXTS["white space"])
    assert "second text is empty" in refused(*explains, "good", "--pair", "")
    assert "standard input holds no text" in refused(*explains, stdin=" \n\n")
    assert "is not Unicode" in refused(*explains, "lone \udcff byte")
    rows = tmp_path / "rows.jsonl"
    texts = [text for text in TEXTS.values() if text.strip()]
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    status, out, err = call(*explains, "--json", "--data", rows)
    assert (status, err) == (0, "")
    assert [json.loads(line)["texts"] for line in out.splitlines()] == [[text] for text in texts]


def test_models_without_special_tokens_say_that_there_is_nothing_to_read():
    for method in ("random", "integrated_gradients"):
        with pytest.raises(InputError, match=r"the text '1' has no tokens.*leave it out"):
            explain(classifier("llama"), ["good", " "], method)


# ---------------------------------------------------------------------------------------------------------------------
# 100,000 words


@pytest.mark.parametrize("method", sorted(explainers))
def test_a_hundred_thousand_words_are_cut_with_a_warning(model, method):
    text = "good soup " * 50_000
    with pytest.warns(UserWarning, match="1 of 1 texts were longer than 64 tokens and were cut at the end"):
        [found] = explain(model, text, method)
    check(found, text)
    assert len(found.tokens) == 64


def test_a_pair_of_a_hundred_thousand_words_each_takes_no_longer(model):
    text = "good soup " * 50_000
    began = time.monotonic()
    with pytest.warns(UserWarning, match="cut at the end"):
        [found] = explain(model, (text, text), "random")
    assert time.monotonic() - began < 20  # combining the cut pieces would take hours
    assert [sum(token.segment == side for token in found.tokens) for side in (0, 1)] == [30, 31]


@pytest.mark.parametrize("most", [9, 16, 63])
@pytest.mark.parametrize("words", [(300, 300), (301, 300), (300, 301), (3, 700), (700, 3), (700, 30), (1, 1)])
def test_long_pairs_are_cut_as_the_tokenizer_cuts_them(most, words):
    plain = [piece for piece in PIECES if piece.isalpha()]
    draw = np.random.default_rng(most)
    pair = tuple(" ".join(draw.choice([*plain, "unfriendly", "zzz"], size)) for size in words)
    assert sum(words) < 5 or max(map(len, pair)) > FAR * most
    batch = classifier("bert", max_length=most).encode([Example("0", pair)], warn=False)
    wanted = tokenizer()([pair[0]], [pair[1]], truncation="longest_first", max_length=most)
    assert batch.ids.tolist() == wanted["input_ids"]
    assert batch.sources[0].cut == (sum(words) > 5)


class LooksAhead:
    """A tokenizer that gives the last words of a text another number than those in its midst."""

    def __init__(self, last: int) -> None:
        self.last = last

    def encode(self, text, add_special_tokens):
        offsets = [match.span() for match in re.finditer(r"\S+", text)]
        numbers = [int(place >= len(offsets) - self.last) for place in range(len(offsets))]
        return Encoded(ids=numbers, offsets=offsets)


@dataclass
class Encoded:
    ids: list[int]
    offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)


@pytest.mark.parametrize(("last", "left"), [(0, 6), (1, 12), (7, 24), (95, 100)])
def test_a_cut_that_would_change_the_first_tokens_is_put_further(last, left):
    text = "word " * 100
    first, second = shortened(LooksAhead(last), (text, "short"), 5)
    assert (len(first.split()), second) == (left, "short")


def test_the_command_cuts_them_too(call, model_directory, tmp_path):
    rows = tmp_path / "rows.txt"
    rows.write_text("good soup " * 50_000 + "\n")
    status, out, err = call("explain", "-m", model_directory, "--method", "gradient", "--data", rows)
    assert status == 0
    assert err == "warning: 1 of 1 texts were longer than 64 tokens and were cut at the end\n"
    assert out.startswith("[rows-1] LABEL_")
