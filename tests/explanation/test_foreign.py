"""The explanations of Captum, SHAP and Inseq, and rationales in the layout of ERASER.

`fixtures/inseq_*.json` were written by Inseq 0.7.1 from tiny random models; `fixtures/shap.json` holds what SHAP 0.51
returned for a tiny random classifier (its arrays as lists, rounded), with the classifier's own outputs.
"""

import base64
import gzip
import json
import math
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from captum.attr import LayerIntegratedGradients
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BatchEncoding, PreTrainedTokenizerFast

from rationales.errors import FileFormatError, InputError
from rationales.explanation import Explanations, Scores, Selection, Target, Token
from rationales.explanation.eraser import document_ids, read_annotations, read_documents
from rationales.explanation.foreign import from_captum, from_eraser, from_inseq, from_shap, tokens_of
from rationales.explanation.types import Explanation
from rationales.explanation.views import word_tokens

FIXTURES = Path(__file__).parent / "fixtures"
GOOD = Target(1, "good", 0.75)


def spans(explanation: Explanation) -> list[tuple[str, int, int, int]]:
    return [(token.text, token.segment, token.start, token.end) for token in explanation.tokens]


def assert_covers(explanations: Iterable[Explanation]) -> None:
    """Each content token is the piece of its text that it claims to be, and has no space around it."""
    for explanation in explanations:
        for token in explanation.tokens:
            if not token.special:
                assert token.text == explanation.texts[token.segment][token.start : token.end] == token.text.strip()


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


# Inseq


def inseq_array(text: str) -> np.ndarray:
    return safetensors.torch.load(base64.b64decode(text))["attribution"].numpy()


def test_inseq_prompts_grow_with_what_was_written() -> None:
    path = FIXTURES / "inseq_decoder.json"
    found = from_inseq(path)
    assert [one.texts for one in found] == [("the café was",), ("the café was co",)]
    assert [(one.id, one.target.index, one.target.label) for one in found] == [("0-9", 307, "co"), ("0-10", 286, "ld")]
    assert spans(found[1]) == [
        ("the", 0, 0, 3),
        ("", 0, 4, 4),  # a space by itself
        ("c", 0, 4, 5),
        ("a", 0, 5, 6),
        ("f", 0, 6, 7),
        ("é", 0, 7, 8),  # two bytes, two tokens
        ("é", 0, 7, 8),
        ("wa", 0, 9, 11),
        ("s", 0, 11, 12),
        ("co", 0, 13, 15),
    ]
    assert_covers(found)
    stored = json.loads(path.read_text("utf-8"))["attributes"]["sequence_attributions"][0]["attributes"]
    raw = inseq_array(stored["target_attributions"])
    for column, one in enumerate(found):
        assert isinstance(one.body, Scores)
        np.testing.assert_array_equal(one.body.values, raw[: 9 + column, column])
        assert one.target.score == inseq_array(stored["step_scores"]["probability"])[column]
        assert one.checks == {"entropy": inseq_array(stored["step_scores"]["entropy"])[column]}
        assert (one.provenance.method, one.provenance.model) == ("inseq:occlusion", "tiny-decoder")
        assert one.provenance.params == {}  # there was nothing to aggregate


def test_inseq_pairs_have_the_source_and_what_was_written() -> None:
    path = FIXTURES / "inseq_pair.json"
    found = from_inseq(path, id="run 3/")
    assert [one.texts for one in found[2:5]] == [("a warm room", "f"), ("a warm room", "fin"), ("a warm room", "fine")]
    assert [one.id for one in found[4:]] == ["run 3/0-5", "run 3/1-1", "run 3/1-2"]
    assert [one.target.label for one in found] == ["▁", "f", "in", "e", "</s>", "a", "</s>"]
    assert spans(found[-1]) == [
        ("", 0, 0, 0),
        ("t", 0, 0, 1),
        ("e", 0, 1, 2),
        ("a", 0, 2, 3),
        ("</s>", -1, 0, 0),
        ("<pad>", -1, 0, 0),
        ("a", 1, 0, 1),
    ]
    assert_covers(found)
    stored = json.loads(path.read_text("utf-8"))["attributes"]["sequence_attributions"][1]["attributes"]
    raw = np.concatenate([inseq_array(stored["source_attributions"]), inseq_array(stored["target_attributions"])])
    for how, expected in {None: np.linalg.norm(raw, axis=-1), "sum": raw.sum(-1), "mean": raw.mean(-1)}.items():
        one = from_inseq(path, aggregate=how)[-1]
        assert isinstance(one.body, Scores)
        np.testing.assert_allclose(one.body.values, expected[:7, 1], rtol=1e-6)
        assert one.provenance.params == {"aggregate": how or "l2"}


def test_inseq_files_in_its_other_forms(tmp_path: Path) -> None:
    path = FIXTURES / "inseq_pair.json"
    expected = from_inseq(path)

    def primitive(value: Any) -> Any:  # what save(use_primitives=True) writes
        if isinstance(value, dict):
            return {name: primitive(inner) for name, inner in value.get("attributes", value).items()}
        return [primitive(inner) for inner in value] if isinstance(value, list) else value

    zipped, plain = tmp_path / "a.json.gz", tmp_path / "b.json"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    plain.write_text(json.dumps(primitive(json.loads(path.read_text("utf-8")))), "utf-8")
    for file in (zipped, str(plain)):
        found = from_inseq(file)
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        assert [one.target for one in found] == [one.target for one in expected]


def named(*tokens: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(token=token, id=number) for number, token in enumerate(tokens)]


class MultiDimensionalFeatureAttributionSequenceOutput(SimpleNamespace):
    """Called as Inseq's class for layers and heads is."""


def test_inseq_live_attention_is_the_mean_over_layers_and_heads() -> None:
    attention = torch.rand(3, 1, 2, 4, generator=torch.Generator().manual_seed(0))
    attention[2] = float("nan")
    sequence = MultiDimensionalFeatureAttributionSequenceOutput(
        source=named("good", "Ġday"),
        target=named("good", "Ġday", "Ġ##"),
        source_attributions=None,
        target_attributions=attention,
        step_scores={},
    )
    [one] = from_inseq(SimpleNamespace(sequence_attributions=[sequence], info={"attribution_method": "attention"}))
    assert isinstance(one.body, Scores)
    np.testing.assert_allclose(one.body.values, attention[:2, 0].mean((-1, -2)), rtol=1e-6)
    assert one.provenance.params == {"aggregate": "mean"}
    assert (one.texts, one.target.label, one.provenance.method) == (("good day",), "##", "inseq:attention")
    assert math.isnan(one.target.score)


@pytest.mark.parametrize("with_target", [True, False])
def test_inseq_part_of_a_target(with_target: bool) -> None:
    """Inseq asked to start at 2 says so in its info, but stores 1 in the sequence when it attributes one step more."""
    nan = math.nan
    sequence = SimpleNamespace(
        source=named("▁thé", "<0xE5>", "<0xA5>", "<0xBD>", "</s>"),
        target=named("<pad>", "fr_XX", "▁tea", "s", "</s>"),
        source_attributions=np.arange(10.0).reshape(5, 2),
        target_attributions=np.array([[1, 2], [3, 4], [nan, 5], [nan, nan]]) if with_target else None,
        step_scores=None,
        attr_pos_start=1,
    )
    output = SimpleNamespace(sequence_attributions=[sequence], info={"attr_pos_start": 2})
    found = from_inseq(output, special=["fr_XX"], method="mine", model="m")
    assert [(one.id, one.target.label) for one in found] == [("0-2", "tea"), ("0-3", "s")]
    assert found[1].texts == (("thé好", "tea") if with_target else ("thé好",))
    assert spans(found[1])[:5] == [
        ("thé好"[:3], 0, 0, 3),
        *[("好", 0, 3, 4)] * 3,
        ("</s>", -1, 0, 0),
    ]
    assert [token.special for token in found[1].tokens[5:]] == ([True, True, False] if with_target else [])
    assert isinstance(found[1].body, Scores)
    assert found[1].body.values.tolist() == [1, 3, 5, 7, 9] + ([2, 4, 5] if with_target else [])
    assert (found[0].provenance.method, found[0].provenance.model) == ("mine", "m")


@pytest.mark.parametrize(
    ("tokens", "given", "text"),
    [
        (["un", "##friend", "##ly", "waiter", "[SEP]"], "unfriendly waiter", "unfriendly waiter"),
        (["ä½", "ł", "å¥½"], "你好", "你好"),  # bytes, and no space to tell
        (["cold", "soup"], "Cold soup", "cold soup"),
        (["Ġhi", "å¥"], " hi\ufffd", " hi\ufffd"),  # cut off inside a character
        (["▁", "▁a", "[UNK]"], "", " a[UNK]"),
        (["½", "Ġa"], "", "\ufffd a"),  # begins inside a character
    ],
)
def test_inseq_texts_are_spelt_by_the_marks_of_the_tokenizer(tokens: list[str], given: str, text: str) -> None:
    scored = np.array([[1.0]] * len(tokens) + [[math.nan]])
    sequence = {"source": [{"token": t, "id": 0} for t in tokens], "target_attributions": scored}
    sequence["target"] = [*sequence["source"], {"token": "x", "id": 7}]
    [one] = from_inseq({"sequence_attributions": [sequence], "info": {"input_texts": [given]}})
    assert one.texts == (text,)
    assert_covers([one])
    assert one.target.index == 7


def test_inseq_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file at"):
        from_inseq(tmp_path / "none.json")
    for content in (b"not json", b"\xff\xfe", b"\x1f\x8bnot gzip"):
        (tmp_path / "bad.json").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"bad\.json is not a file that Inseq saved"):
            from_inseq(tmp_path / "bad.json")
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(FileFormatError, match="with sequence_attributions"):
        from_inseq(tmp_path / "other.json")
    sequence: dict[str, Any] = {"source": [], "target": [{"token": "a", "id": 0}]}
    with pytest.raises(FileFormatError, match=r"sequence 0 .* no attributions"):
        from_inseq({"sequence_attributions": [sequence]})
    with pytest.raises(FileFormatError, match="neither float32 nor float16"):
        from_inseq({"sequence_attributions": [sequence | {"target_attributions": "AAAA"}]})
    with pytest.raises(FileFormatError, match="has 1 tokens, but scores for more"):
        from_inseq({"sequence_attributions": [sequence | {"target_attributions": [[1.0], [2.0]]}]})


# ERASER


def jsonl(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def evidence(docid: str, start: int, end: int) -> dict[str, Any]:
    return {
        "docid": docid,
        "start_token": start,
        "end_token": end,
        "start_sentence": -1,
        "end_sentence": -1,
        "text": "",
    }


@pytest.fixture
def review(tmp_path: Path) -> Path:
    """A set with one document per file, whose tokens are ended by spaces only."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "r1").write_text("the soup  was cold .\n\n fine\u00a0view ,\u2028 though \n", "utf-8")
    return tmp_path


def test_documents_of_a_directory(review: Path) -> None:
    for path in (review, str(review / "docs")):
        documents = read_documents(path)
        assert list(documents) == ["r1"]
        document = documents["r1"]
        assert document.tokens == ("the", "soup", "was", "cold", ".", "fine\u00a0view", ",\u2028", "though")
        assert document.sentences == ((0, 5), (5, 8))
        assert document.text == " ".join(document.tokens)
        assert [document.text[start:end] for start, end in document.spans] == list(document.tokens)
        assert document.text[slice(*document.characters(1, 4))] == "soup was cold"
    (review / "docs" / "r2").write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match="r2 is not UTF-8 text"):
        read_documents(review)["r2"]
    (review / "secret").write_text("x")
    assert "../secret" not in documents
    with pytest.raises(KeyError):
        documents["../secret"]
    with pytest.raises(InputError, match=r"tokens \[7, 9\) do not lie in document 'r1' of 8 tokens"):
        document.characters(7, 9)


def test_documents_of_a_file(tmp_path: Path) -> None:
    jsonl(tmp_path / "docs.jsonl", {"docid": 7, "document": "a  b\nc"}, {"docid": "8", "document": "d"})
    documents = read_documents(tmp_path)
    assert len(documents) == 2
    assert documents["7"].tokens == ("a", "", "b", "c")  # there the benchmark counts what lies between two spaces
    (tmp_path / "docs").mkdir()
    with pytest.raises(InputError, match=r"both docs.jsonl and docs/"):
        read_documents(tmp_path)
    assert list(read_documents(tmp_path / "docs.jsonl")) == ["7", "8"]
    jsonl(tmp_path / "bad.jsonl", {"docid": "a", "document": "x"}, {"docid": "b", "text": "x"})
    with pytest.raises(FileFormatError, match=r"line 2: a docid and a document are wanted, got docid, text"):
        read_documents(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match="no documents at"):
        read_documents(tmp_path / "nowhere")


def test_annotations_give_line_numbers_and_report_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n[2]\n{"a": \n\xff\n{"a": 3}\n')
    bad: list[tuple[int, str]] = []
    found = list(read_annotations(path, on_error=lambda row, reason: bad.append((row, reason))))
    assert found == [(1, {"a": 1}), (6, {"a": 3})]
    assert [row for row, _ in bad] == [3, 4, 5]
    assert bad[0][1] == "a JSON object is wanted, got list"
    with pytest.raises(FileFormatError, match=r"a\.jsonl, line 3: a JSON object is wanted, got list"):
        list(read_annotations(path))
    with pytest.raises(InputError, match=r"no file at .*none\.jsonl: a JSONL file is wanted"):
        list(read_annotations(tmp_path / "none.jsonl"))


def test_human_rationales_are_the_union_of_the_evidence(review: Path) -> None:
    path = jsonl(
        review / "val.jsonl",
        {
            "annotation_id": "r1",
            "query": "Is it good?",
            "classification": "NEG",
            "evidences": [[evidence("r1", 1, 2), evidence("r1", 3, 4)], [evidence("r1", 3, 5)]],
        },
        {"annotation_id": "r1", "query": "Is it good?", "classification": "POS", "evidences": []},
    )
    first, second = from_eraser(path, review, labels=["NEG", "POS"])
    assert isinstance(first.body, Selection)
    assert isinstance(second.body, Selection)
    assert np.flatnonzero(first.body.keep).tolist() == [1, 3, 4]
    assert not second.body.keep.any()
    assert (first.provenance.method, first.target.index, second.target.index) == ("human", 0, 1)
    [asked, _] = from_eraser(path, review, queries={"r1": "Is it good?"})
    assert asked.texts == ("Is it good?", *first.texts)
    assert {token.segment for token in asked.tokens} == {1}
    assert asked.target.index == -1


def prediction(**fields: Any) -> dict[str, Any]:
    scored = {"NEG": 0.75, "POS": 0.25}
    return {"annotation_id": "r1", "classification": "NEG", "classification_scores": scored} | fields


def test_predicted_rationales_hard_and_soft(review: Path) -> None:
    soft = [0.0, 0.5, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0]
    hard = [{"start_token": 1, "end_token": 2}, {"start_token": 3, "end_token": 4}]
    rationale = {"docid": "r1", "hard_rationale_predictions": hard, "soft_rationale_predictions": soft}
    path = jsonl(review / "out.jsonl", prediction(rationales=[rationale]))
    [scored] = from_eraser(path, review, method="ours", model="m")
    [kept] = from_eraser(path, review / "docs", method="ours", body="selection")
    assert isinstance(scored.body, Scores)
    assert isinstance(kept.body, Selection)
    assert scored.body.values.tolist() == soft
    assert np.flatnonzero(kept.body.keep).tolist() == [1, 3]
    assert scored.target == Target(-1, "NEG", 0.75)
    assert (scored.provenance.method, scored.provenance.model) == ("ours", "m")
    del rationale["soft_rationale_predictions"]
    [kept_alone] = from_eraser(jsonl(path, prediction(rationales=[rationale])), review, method="ours")
    assert isinstance(kept_alone.body, Selection)
    with pytest.raises(FileFormatError, match=r"line 1: soft_rationale_predictions are wanted for 'r1'"):
        list(from_eraser(path, review, method="ours", body="scores"))


def test_pairs_are_premise_first_and_whole(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "docs.jsonl",
        {"docid": "4_premise", "document": "two dogs run"},
        {"docid": "4_hypothesis", "document": "dogs sleep"},
    )
    documents = read_documents(tmp_path)
    path = jsonl(
        tmp_path / "val.jsonl",
        {"annotation_id": "4", "evidences": [[evidence("4_hypothesis", 1, 2)]], "classification": "c"},
        {"annotation_id": "4", "evidences": [], "docids": None, "classification": "c"},
        {"annotation_id": "4", "rationales": [{"docid": "4_premise", "soft_rationale_predictions": [1, 2, 3]}]},
    )
    found = list(from_eraser(path, documents, method="x"))
    assert [one.texts for one in found] == [("two dogs run", "dogs sleep")] * 3
    assert isinstance(found[0].body, Selection)
    assert isinstance(found[2].body, Scores)
    assert found[0].body.keep.tolist() == [False] * 4 + [True]
    assert found[2].body.values.tolist() == [1, 2, 3, 0, 0]
    assert document_ids({"docids": ["4_hypothesis", "4_premise"]}, documents) == ("4_premise", "4_hypothesis")


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ({"id": 1}, FileFormatError, "annotation_id with evidences .* got id"),
        ({"annotation_id": "x", "evidences": []}, FileFormatError, "no document 'x'"),
        ({"annotation_id": "x", "evidences": [[evidence("r2", 0, 1)]]}, FileFormatError, "no document 'r2'"),
        ({"annotation_id": "x", "evidences": [evidence("r1", 0, 1)]}, FileFormatError, "evidences must be groups"),
        (
            {"annotation_id": "x", "evidences": [[evidence("r1", 7, 9)]]},
            FileFormatError,
            r"\[7, 9\) .* 'r1' of 8 tokens",
        ),
        (prediction(rationales=[{"docid": "r1"}]), FileFormatError, "hard_rationale_predictions are wanted for 'r1'"),
        (prediction(rationales=["r1"]), FileFormatError, "not in the layout of ERASER"),
        (
            prediction(rationales=[{"docid": "r1", "soft_rationale_predictions": [1.0, 2.0]}]),
            FileFormatError,
            "2 soft predictions for 'r1' of 8 tokens",
        ),
        (prediction(classification="MIXED", rationales=[]), InputError, "'MIXED' is none of the labels NEG, POS"),
    ],
)
def test_eraser_says_what_is_wrong(review: Path, line: dict[str, Any], error: type[Exception], message: str) -> None:
    path = jsonl(review / "out.jsonl", line)
    labels = ["NEG", "POS"] if "classification" in line else []
    with pytest.raises(error, match=rf"out\.jsonl, line 1: .*{message}"):
        list(from_eraser(path, review, method="ours", labels=labels))


def test_eraser_wants_a_method_a_query_and_a_known_body(review: Path) -> None:
    path = jsonl(review / "out.jsonl", prediction(rationales=[{"docid": "r1", "hard_rationale_predictions": []}]))
    with pytest.raises(InputError, match="method="):
        list(from_eraser(path, review))
    with pytest.raises(InputError, match="no query for annotation 'r1' among the 0 given"):
        list(from_eraser(path, review, method="ours", queries={}))
    with pytest.raises(InputError, match="body must be scores or selection, got 'soft'"):
        list(from_eraser(path, review, method="ours", body="soft"))  # type: ignore[arg-type]


def test_rationales_stream_into_a_file(review: Path, tmp_path: Path) -> None:
    path = jsonl(review / "val.jsonl", *[{"annotation_id": "r1", "evidences": [[evidence("r1", 0, 2)]]}] * 3)
    Explanations(from_eraser(path, review)).save(tmp_path / "people.parquet")
    read = Explanations.load(tmp_path / "people.parquet")
    assert [one.words().body.keep[:3].tolist() for one in read] == [[True, True, False]] * 3


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
