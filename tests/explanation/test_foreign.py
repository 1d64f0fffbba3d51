"""The explanations of Captum and SHAP.

`fixtures/shap.json` holds what SHAP 0.51 returned for a tiny random classifier (its arrays as lists, rounded), with the
classifier's own outputs.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from token_checks import assert_covers, spans
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BatchEncoding, PreTrainedTokenizerFast

from rationales.errors import InputError
from rationales.explanation import Explanations, Scores, Target, Token, from_captum, from_inseq, from_shap
from rationales.explanation.foreign import tokens_of
from rationales.explanation.views import word_tokens

FIXTURES = Path(__file__).parent / "fixtures"
GOOD = Target(1, "good", 0.75)


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerFast:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cold", "soup", "warm", "room", "un", "##friend", "##ly", "waiter"]
    core = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.fixture(scope="module")
def byte_level() -> PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=270, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator(["warm room warm room"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core)


# Tokens of an encoding


def test_tokens_of_a_pair_keep_their_text(words: PreTrainedTokenizerFast) -> None:
    texts = ("unfriendly waiter", "cold  soup")
    tokens = tokens_of(words(*texts), texts)
    assert [(t.text, t.segment, t.start, t.end) for t in tokens] == [
        ("[CLS]", -1, 0, 0),
        ("un", 0, 0, 2),
        ("friend", 0, 2, 8),
        ("ly", 0, 8, 10),
        ("waiter", 0, 11, 17),
        ("[SEP]", -1, 0, 0),
        ("cold", 1, 0, 4),
        ("soup", 1, 6, 10),
        ("[SEP]", -1, 0, 0),
    ]


@pytest.mark.parametrize("side", ["left", "right"])
def test_tokens_of_a_padded_row_leave_the_padding_out(words: PreTrainedTokenizerFast, side: str) -> None:
    texts = ["cold soup", "warm room unfriendly waiter"]
    batch = words(texts, padding=True, padding_side=side, return_tensors="pt")
    alone = tokens_of(words(texts[0]), texts[0])
    assert tokens_of(batch, texts[0], row=0) == alone
    assert len(alone) < batch["input_ids"].shape[1]


def test_byte_pieces_lie_on_whole_characters_without_the_space(byte_level: PreTrainedTokenizerFast) -> None:
    text = "warm é room"
    tokens = tokens_of(byte_level([text]), text)
    assert {text[token.start : token.end] for token in tokens} >= {"é"}
    assert all(token.text == token.text.strip() for token in tokens)


def test_tokens_of_says_what_is_wrong(words: PreTrainedTokenizerFast) -> None:
    with pytest.raises(InputError, match="no row 2 in an encoding of 1"):
        tokens_of(words("cold soup"), "cold soup", row=2)
    with pytest.raises(InputError, match="texts given are"):
        tokens_of(words("cold soup", "warm room"), "cold soup")
    with pytest.raises(InputError, match="fast tokenizer"):
        tokens_of(BatchEncoding({"input_ids": [[1]]}), "cold soup")


# Captum


class Bag(torch.nn.Module):
    """The sum of the products of neighbouring embeddings, per class: enough for attributions to differ."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.embed = torch.nn.Embedding(12, 4)
        self.embed.weight.data = torch.randn(12, 4, generator=generator)
        self.weight = torch.randn(4, 2, generator=generator)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.embed(ids)
        return (vectors[:, 1:] * vectors[:, :-1]).sum(1) @ self.weight


def test_captum_integrated_gradients_enter_with_their_tokens(words: PreTrainedTokenizerFast) -> None:
    model, text = Bag(), "unfriendly waiter"
    encoding = words(text, return_tensors="pt")
    method = LayerIntegratedGradients(model, model.embed)
    baseline = torch.zeros_like(encoding["input_ids"])
    attributions, delta = method.attribute(
        encoding["input_ids"], baseline, target=1, n_steps=20, return_convergence_delta=True
    )
    explanation = from_captum(
        attributions,
        texts=text,
        tokens=tokens_of(encoding, text),
        target=GOOD,
        method="captum:integrated_gradients",
        params={"steps": 20},
        checks={"completeness_error": float(delta)},
    )
    assert isinstance(explanation.body, Scores)
    np.testing.assert_allclose(explanation.body.values, attributions[0].sum(-1).detach(), rtol=1e-6)
    change = (model(encoding["input_ids"]) - model(baseline))[0, 1].item()
    assert explanation.body.values.sum() == pytest.approx(change, rel=1e-4)
    assert explanation.provenance.params == {"steps": 20, "aggregate": "sum"}
    assert [token.text for token in explanation.words().tokens] == ["unfriendly", "waiter"]


VALUES = np.array([[3.0, 4.0], [-1.0, 0.0], [0.0, 2.0]])
THREE = word_tokens(("a b c",))


def scores(attributions: Any, **options: Any) -> list[float]:
    explanation = from_captum(
        attributions, **{"texts": "a b c", "tokens": THREE, "target": GOOD, "method": "x"} | options
    )
    assert isinstance(explanation.body, Scores)
    return explanation.body.values.tolist()


def test_captum_shapes_and_aggregates() -> None:
    assert scores(VALUES) == scores(VALUES[None]) == scores((torch.tensor(VALUES),)) == [7.0, -1.0, 2.0]
    assert scores(VALUES, aggregate="l2") == [5.0, 1.0, 2.0]
    assert scores(VALUES, aggregate="mean") == [3.5, -0.5, 1.0]
    assert scores([1, -2, 3], aggregate="l2") == scores([[1, -2, 3]]) == [1.0, -2.0, 3.0]
    assert scores(torch.tensor([1.5, 2.0, 3.0], dtype=torch.bfloat16, requires_grad=True)) == [1.5, 2.0, 3.0]
    assert scores([[1.0, 2.0]], texts="a", tokens=THREE[:1]) == [3.0]  # one token of two dimensions


def test_captum_rows_with_padding_on_either_side() -> None:
    assert scores([9.0, 9.0, 1.0, 2.0, 3.0], keep=torch.tensor([0, 0, 1, 1, 1])) == [1.0, 2.0, 3.0]
    assert scores(np.vstack([VALUES, VALUES]), keep=[True] * 3 + [False] * 3) == [7.0, -1.0, 2.0]


def test_captum_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"14 attributions, of shape \(14, 2\), for 3 tokens"):
        scores(np.zeros((14, 2)))
    with pytest.raises(InputError, match=r"4 attributions, of shape \(4,\), for 2 values of keep"):
        scores(np.zeros(4), keep=[1, 1])
    with pytest.raises(InputError, match="tuple of 2"):
        scores((VALUES, VALUES))
    with pytest.raises(InputError, match="2 attributions"):
        scores(np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match="aggregate must be sum, l2 or mean, got 'max'"):
        scores(VALUES, aggregate="max")
    with pytest.raises(InputError, match="numbers of one shape"):
        scores([[1.0], [2.0, 3.0]])


# SHAP


@pytest.fixture(scope="module")
def shap_file() -> dict[str, Any]:
    return json.loads((FIXTURES / "shap.json").read_text("utf-8"))


@pytest.fixture
def shapley(shap_file: dict[str, Any]) -> SimpleNamespace:
    """The attributes of a `shap.Explanation` of texts, in the types that SHAP gives them."""
    values = np.empty(len(shap_file["values"]), dtype=object)
    values[:] = [np.array(row) for row in shap_file["values"]]
    return SimpleNamespace(
        values=values,
        data=tuple(np.array(row, dtype=object) for row in shap_file["data"]),
        base_values=np.array(shap_file["base_values"]),
        output_names=[np.str_(name) for name in shap_file["output_names"]],
    )


def test_shap_explains_the_largest_output(shapley: SimpleNamespace, shap_file: dict[str, Any]) -> None:
    found = from_shap(shapley, texts=shap_file["texts"], outputs=shap_file["outputs"], model="tiny")
    assert [one.texts for one in found] == [(text,) for text in shap_file["texts"]]
    assert_covers(found)
    for row, one in enumerate(found):
        outputs = shap_file["outputs"][row]
        assert one.target.index == int(np.argmax(outputs))
        assert one.target.label == shap_file["output_names"][one.target.index]
        assert one.target.score == pytest.approx(max(outputs), abs=1e-4)
        assert one.checks["base_value"] == shap_file["base_values"][row][one.target.index]
        assert one.checks["additivity_error"] < 1e-4
        assert isinstance(one.body, Scores)
        assert one.body.values.tolist() == [value[one.target.index] for value in shap_file["values"][row]]
    assert found[0].tokens[0].special
    assert found[0].tokens[-1].special
    assert spans(found[1])[1:4] == [("a", 0, 0, 1), ("wa", 0, 2, 4), ("r", 0, 4, 5)]
    assert [one.id for one in from_shap(shapley, ids=["x", "y"])] == ["x", "y"]


def test_shap_by_name_by_number_and_cut(shapley: SimpleNamespace, shap_file: dict[str, Any]) -> None:
    named, numbered = from_shap(shapley, output="good"), from_shap(shapley, output=1)
    assert [one.target for one in named] == [one.target for one in numbered]
    assert [(one.target.index, one.target.label) for one in named] == [(1, "good")] * 2

    # What explanation[:, :, "good"] and explanation[0] of SHAP return
    cut = SimpleNamespace(**vars(shapley))
    cut.values = np.empty(2, dtype=object)
    cut.values[:] = [row[:, 1] for row in shapley.values]
    cut.base_values, cut.output_names = shapley.base_values[:, 1], np.str_("good")
    labels = shap_file["output_names"]
    assert [one.target for one in from_shap(cut, labels=labels)] == [one.target for one in named]
    assert [one.target.index for one in from_shap(cut)] == [-1, -1]
    one_row = SimpleNamespace(
        values=shapley.values[0], data=shapley.data[0], base_values=shapley.base_values[0], output_names=labels
    )
    [single] = from_shap(one_row, output="good", outputs=shap_file["outputs"][0])
    assert single.target == named[0].target
    assert single.tokens == named[0].tokens
    assert single.checks["additivity_error"] < 1e-4


def test_shap_of_one_number_and_rows_of_one_length() -> None:
    shapley = SimpleNamespace(
        values=np.array([[0.0, 1.0, 2.0], [0.0, 4.0, 8.0]]),
        data=(np.array(["", "cold ", "soup"], dtype=object), np.array(["", "warm ", "room"], dtype=object)),
        base_values=np.array([0.5, 0.25]),
        output_names=None,
    )
    found = from_shap(shapley, outputs=[3.5, 12.5])
    assert [one.target.score for one in found] == [3.5, 12.25]
    assert [one.checks["additivity_error"] for one in found] == [0.0, 0.25]
    assert spans(found[1]) == [("", -1, 0, 0), ("warm", 0, 0, 4), ("room", 0, 5, 9)]


def test_shap_finds_white_space_that_it_lost() -> None:
    shapley = SimpleNamespace(
        values=np.zeros((1, 2)), data=[["warm ", "room"]], base_values=np.zeros(1), output_names=None
    )
    [found] = from_shap(shapley, texts=["\n warm room "])
    assert spans(found) == [("warm", 0, 2, 6), ("room", 0, 7, 11)]
    assert_covers([found])


def test_shap_pieces_inside_characters_and_pairs_need_tokens(words: PreTrainedTokenizerFast) -> None:
    repeated = SimpleNamespace(values=np.zeros((1, 3)), data=[["é", "é", " a"]], base_values=0.0, output_names=None)
    with pytest.raises(InputError, match="spell 'éé a', the text is"):
        from_shap(repeated, texts=["é a"])
    tokens = [Token("é", 0, 0, 1), Token("é", 0, 0, 1), Token("a", 0, 2, 3)]
    [found] = from_shap(repeated, texts=["é a"], tokens=[tokens])
    assert list(found.tokens) == tokens

    pair = ("cold soup", "warm room")
    pieces = ["", "cold ", "soup", "[SEP]", "warm ", "room", ""]
    joined = SimpleNamespace(values=np.zeros((1, 7)), data=[pieces], base_values=0.0, output_names=None)
    [found] = from_shap(joined, texts=[pair], tokens=[tokens_of(words(*pair), pair)])
    assert found.texts == pair
    assert [token.segment for token in found.tokens] == [-1, 0, 0, -1, 1, 1, -1]


def test_shap_says_what_is_wrong(shapley: SimpleNamespace, shap_file: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no output is called 'great'; there are bad, good, mixed"):
        from_shap(shapley, output="great")
    with pytest.raises(InputError, match="no output 3; there are 3"):
        from_shap(shapley, output=3)
    with pytest.raises(InputError, match="1 texts for an explanation of 2 rows"):
        from_shap(shapley, texts=["a warm room"])
    with pytest.raises(InputError, match="give both"):
        from_shap(shapley, tokens=[THREE, THREE])
    with pytest.raises(InputError, match=r"scores of shape \(26,\) for tokens that want \(3,\)"):
        from_shap(shapley, texts=shap_file["texts"], tokens=[THREE, THREE])
    with pytest.raises(InputError, match="none of the labels negative, positive"):
        from_shap(shapley, labels=["negative", "positive"])
    shapley.output_names = ["bad", "good"]
    with pytest.raises(InputError, match="2 output names for 3 outputs"):
        from_shap(shapley)
    shapley.data = shapley.data[::-1]
    with pytest.raises(InputError, match=r"SHAP values of shape \(26, 3\) for 10 pieces"):
        from_shap(shapley)


# All


def test_all_of_them_go_through_a_file(
    tmp_path: Path, shapley: SimpleNamespace, words: PreTrainedTokenizerFast
) -> None:
    tokens = tokens_of(words("cold soup"), "cold soup")
    captum = from_captum(torch.ones(1, 4, 3), texts="cold soup", tokens=tokens, target=GOOD, method="captum", id="c")
    made = Explanations([captum, *from_shap(shapley), *from_inseq(FIXTURES / "inseq_pair.json")])
    made.save(tmp_path / "made.parquet")
    read = Explanations.load(tmp_path / "made.parquet")
    assert [one.tokens for one in read] == [one.tokens for one in made]
    assert [one.texts for one in read] == [one.texts for one in made]
    assert [one.provenance for one in read] == [one.provenance for one in made]
