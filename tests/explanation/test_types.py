"""The types: what they accept, what they refuse and in which words, and that nobody can change them."""

import pickle
from typing import Any

import numpy as np
import pytest

from rationales.errors import InputError
from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Sentence, Target, Token

CLS, SEP = Token("[CLS]", -1, 0, 0), Token("[SEP]", -1, 0, 0)
PAIR = ("so good", "not bad at all")
TOKENS = (
    *(CLS, Token("so", 0, 0, 2), Token("good", 0, 3, 7), SEP),
    *(Token("not", 1, 0, 3), Token("bad", 1, 4, 7), Token("at", 1, 8, 10), SEP),
)


def explanation(body: Any, **changes: Any) -> Explanation:
    fields: dict[str, Any] = {
        "id": "a",
        "texts": PAIR,
        "tokens": TOKENS,
        "target": Target(1, "positive", 0.9),
        "body": body,
        "provenance": Provenance("random", {"seed": 3}),
        "checks": {"completeness_error": 0.25},
    }
    return Explanation(**fields | changes)


def test_a_token_knows_whether_it_is_special() -> None:
    assert CLS.special
    assert not TOKENS[1].special


@pytest.mark.parametrize(("segment", "start", "end"), [(-2, 0, 1), (0, -1, 1), (0, 3, 2)])
def test_tokens_are_spans(segment: int, start: int, end: int) -> None:
    with pytest.raises(InputError, match=r"not a token: 'x' in segment"):
        explanation(Sentence("why"), tokens=(Token("x", segment, start, end),))


def test_tokens_lie_in_their_texts() -> None:
    with pytest.raises(InputError, match=r"text 2, but there are 2 \(from 0 on\)"):
        explanation(Scores([1.0]), tokens=(Token("x", 2, 0, 1),))
    with pytest.raises(InputError, match="ends behind its text of 7 characters"):
        explanation(Scores([1.0]), tokens=(Token("x", 0, 6, 8),))
    assert explanation(Scores([1.0]), tokens=[Token("d", 0, 6, 7)]).tokens == (Token("d", 0, 6, 7),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scores(3.0), r"scores must have 1 dimension\(s\), got shape \(\)"),
        (lambda: Scores([[1.0, 2.0]]), r"got shape \(1, 2\)"),
        (lambda: Scores(["high", "low"]), r"scores must be an array of numbers, got an array of <U4"),
        (lambda: Scores([None]), "array of object"),
        (lambda: Alignment([[1.0, 2.0], [3.0]]), "an alignment must be an array of numbers: .*inhomogeneous"),
        (lambda: Scores([1.0, 2.0], [0.1]), "1 standard errors for 2 scores"),
        (lambda: Selection([[True]]), r"a selection must have 1 dimension\(s\)"),
        (lambda: Selection(["false"]), "a selection must be an array of numbers"),
        (lambda: Alignment([1.0]), r"an alignment must have 2 dimension\(s\)"),
        (lambda: Alignment(np.ones((2, 3)), np.ones((3, 2))), r"kept cells of shape \(3, 2\) for weights .*\(2, 3\)"),
        (lambda: Sentence("why", [1.0]), r"a sentence's steps must have 2 dimension\(s\)"),
        (lambda: Sentence(None), "text must be a string, got None"),
    ],
)
def test_a_body_refuses_what_has_the_wrong_shape_or_type(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_body_fits_its_tokens() -> None:
    for body in (Scores(np.ones(7)), Selection(np.ones(9))):
        with pytest.raises(InputError, match=r"of shape \(\d,\) for tokens that want \(8,\) \(explanation 'a'\)"):
            explanation(body)
    explanation(Alignment(np.zeros((2, 3))))  # special tokens take no part
    with pytest.raises(InputError, match=r"alignment of shape \(3, 2\) for tokens that want \(2, 3\)"):
        explanation(Alignment(np.zeros((3, 2))))
    with pytest.raises(InputError, match=r"for tokens that want \(8,\)"):
        explanation(Sentence("why")).with_body(Scores([]))
    assert explanation(Sentence("why")).with_body(Scores(np.ones(8))).id == "a"


def test_an_explanation_refuses_fields_of_other_types() -> None:
    with pytest.raises(InputError, match="texts must be a tuple of strings, one per text; got 'so good'"):
        explanation(Sentence("why"), texts="so good")
    with pytest.raises(InputError, match="id must be a string, got 7"):
        explanation(Sentence("why"), id=7)
    with pytest.raises(InputError, match="not a token: None in segment 0"):
        explanation(Sentence("why"), tokens=(Token(None, 0, 0, 1),))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="label must be a string, got 1"):
        Target(1, 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="method, model and version must be strings, got None"):
        Provenance("lime", model=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a body must be one of scores, selection, alignment, sentence, got list"):
        explanation([1.0] * 8)


def test_arrays_are_copies_that_nobody_can_write_to() -> None:
    values = np.ones(8, dtype=np.float32)
    body = Scores(values, values)
    values[0] = 5
    assert body.values.dtype == np.float64
    assert body.values[0] == 1
    assert body.standard_error is not None
    arrays = [body.values, body.standard_error, Selection([1, 0]).keep, Alignment([[1]], [[1]]).keep]
    arrays += [Alignment([[1]]).weights, Sentence("why", [[1]]).steps]
    for array in arrays:
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert Selection([1, 0]).keep.dtype == np.bool_


def test_nothing_can_be_assigned() -> None:
    whole = explanation(Scores(np.ones(8)))
    for thing, name in ((whole, "id"), (whole.body, "values"), (whole.target, "score"), (TOKENS[0], "text")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    for mapping in (whole.checks, whole.provenance.params):
        with pytest.raises(TypeError):
            mapping["new"] = 1  # type: ignore[index]


def test_content_is_what_is_not_special() -> None:
    assert explanation(Sentence("why")).content.tolist() == [False, True, True, False, True, True, True, False]


def test_numbers_of_numpy_become_pythons() -> None:
    target = Target(np.int64(1), "positive", np.float32(0.5))  # type: ignore[arg-type]
    assert (type(target.index), type(target.score)) == (int, float)
    made = Provenance("lime", {"width": np.float64(0.5)}, seed=np.int64(4))  # type: ignore[arg-type]
    assert (type(made.params["width"]), type(made.seed)) == (float, int)


def test_parameters_are_what_json_can_hold() -> None:
    made = Provenance("lime", {"bins": [0.1, [1, None]], "by": {"x": [True]}})
    assert made.params == {"bins": (0.1, (1, None)), "by": {"x": (True,)}}
    assert made == Provenance("lime", {"bins": (0.1, (1, None)), "by": {"x": (True,)}})
    for bad in ({"a": {1, 2}}, {"a": object()}, {1: "a"}, {"a": {"$float": "NaN"}}):
        with pytest.raises(InputError, match=r"a parameter must be None, .* got .* of type"):
            Provenance("lime", bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="fit a signed integer of 64 bits, got 9223372036854775808"):
        Provenance("lime", seed=2**63)


def test_worker_processes_can_be_sent_explanations() -> None:
    whole = explanation(Scores(np.arange(8.0)))
    other = pickle.loads(pickle.dumps(whole))
    assert (other.id, other.texts, other.tokens, other.target) == (whole.id, whole.texts, whole.tokens, whole.target)
    assert (other.provenance, other.checks) == (whole.provenance, whole.checks)
    assert other.body.values.tolist() == list(range(8))
