"""The explanations of Inseq. `fixtures/inseq_*.json` were written by Inseq 0.7.1 from tiny random models."""

import base64
import gzip
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from token_checks import assert_covers, spans

from rationales.errors import FileFormatError, InputError
from rationales.explanation import Scores, from_inseq

FIXTURES = Path(__file__).parent / "fixtures"


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
