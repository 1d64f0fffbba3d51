"""The contract that every metric keeps, and the guard and the decorator that see to it."""

import inspect
import re

import numpy as np
import pytest

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation.types import BODIES, Explanation, Provenance, Scores, Selection, Sentence, Target
from rationales.explanation.views import word_tokens
from rationales.metrics import auroc, jaccard, metric, metrics, sufficiency, token_f1
from rationales.metrics.base import sized


def per_word(size: int, body, name: str = "x") -> Explanation:
    """Of `size` one-letter words."""
    texts = (" ".join("w" * size),)
    return Explanation(name, texts, word_tokens(texts), Target(0, "no"), body, Provenance("test"))


def marks(flags: str, name: str = "x") -> Explanation:
    """A selection: "x" is kept."""
    return per_word(len(flags), Selection([flag == "x" for flag in flags]), name)


def scores(*values: float) -> Explanation:
    return per_word(len(values), Scores(values))


# ---------------------------------------------------------------------------------------------------------------------
# Every metric


@pytest.mark.parametrize("name", metrics)
def test_every_metric_says_what_it_is(name):
    one = metrics[name]
    assert one.name == name
    assert one.best in ("high", "low")
    assert one.bodies
    assert set(one.bodies) <= set(BODIES.values())
    assert set(one.needs) <= {"model", "gold", "other"}
    assert one.gold in ("selection", "alignment")
    first, _, rest = inspect.getdoc(one).partition("\n")
    assert first.endswith((".", "?"))
    assert re.search(r"\b(19|20)\d\d\b|[=Σ∑]", rest), f"{name}: neither a citation nor an equation"
    assert all(option.help for option in one.options), f"{name}: an option without help"
    third = "other" if "other" in one.needs else "gold"
    assert list(inspect.signature(one).parameters)[:3] == ["model", "explanations", third]


def test_sizes_replace_scores_only_if_wanted():
    given = scores(-2, 1)
    assert sized(given, True).body.values.tolist() == [2, 1]
    assert sized(given, False) is given
    assert sized(marks("x."), True).body.keep.tolist() == [True, False]


# ---------------------------------------------------------------------------------------------------------------------
# The guard


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auroc(None, [marks("x.")], [marks("x.")]), r"auroc takes scores, got a selection .*token_f1"),
        (
            lambda: token_f1(None, [per_word(1, Sentence("so"))], [marks("x")]),
            r"a selection, scores or an alignment, got a sentence",
        ),
        (lambda: token_f1(None, [marks("x")]), r"compares with the explanations of people; pass them as `gold`"),
        (lambda: token_f1(None, [marks("x")], []), r"1 explanations but 0 in `gold`"),
        (lambda: token_f1(None, [marks("x")], [marks("x", "y")]), r"place 0 .*id 'x' but `gold` has 'y'"),
        (lambda: token_f1(None, [marks("x")], [marks("xx")]), r"texts \('w',\) but `gold` has \('w w',\)"),
        (lambda: token_f1(None, [marks("x")], [Example("x", ("w",))]), r"`gold` must hold explanations, got Example"),
        (lambda: token_f1(None, marks("x"), [marks("x")]), r"must be a sequence of explanations, got Explanation"),
        (lambda: token_f1(None, [None], [None]), r"`explanations` must hold explanations, got NoneType at place 0"),
        (lambda: token_f1(None, [marks("x")], [marks("x")], k=3), r"'k'; call it as .*fraction=None, pool='sum', abs"),
        (lambda: token_f1(None), r"'explanations'; call it as token_f1\(model, explanations, gold, \*"),
        (lambda: jaccard(None, [marks("x")]), r"jaccard compares with a second set of explanations; .* `other`"),
        (lambda: jaccard(None, [marks("x")], gold=[]), r"'gold'; call it as jaccard\(model, explanations, other, \*"),
        (lambda: sufficiency(None, [scores(1)]), r"sufficiency asks the model that was explained"),
        (
            lambda: sufficiency("m", [per_word(1, Sentence("so"))]),
            r"scores or a selection, got a sentence",
        ),
    ],
)
def test_the_guard_says_what_was_given_and_what_to_do(call, message):
    with pytest.raises(InputError, match=message):
        call()


# ---------------------------------------------------------------------------------------------------------------------
# The decorator


@pytest.fixture
def registry(monkeypatch):
    """The registry, restored after the test."""
    monkeypatch.setattr(metrics, "_objects", dict(metrics._objects))
    return metrics


def test_a_metric_of_ones_own(registry):
    @metric("length", best="low", bodies=(Selection,), needs=("model",))
    def length(model, explanations, gold=None, *, power: int = 1):
        """How long."""
        return np.array([e.body.keep.sum() ** power for e in explanations])

    assert registry["length"] is length
    assert repr(length) == "<metric length, best low>"
    assert (length.family, length.__doc__, length.options[0].type) == (__name__, "How long.", int)
    values = length("a model", [marks("xx."), marks("...")], power=2)
    assert values.dtype == np.float64
    assert list(values) == [4, 0]
    with pytest.raises(InputError, match=r"length takes a selection, got scores .*explanation\.top\(fraction=0\.2\)"):
        length("a model", [scores(1, 2)])
    with pytest.raises(InputError, match="asks the model"):
        length(None, [marks("x")])
    with pytest.raises(InputError, match="a second metric called 'length'"):
        metric("length", best="low", bodies=(Selection,))(length.function)


def test_a_metric_must_give_a_number_for_each(registry):
    @metric("mean_length", best="low", bodies=(Selection,))
    def mean_length(model, explanations, gold=None):
        return np.mean([e.body.keep.sum() for e in explanations])

    with pytest.raises(InputError, match=r"shape \(\) for 2 explanations"):
        mean_length(None, [marks("x"), marks("x")])


@pytest.mark.parametrize(
    "function",
    [
        lambda explanations, gold=None: None,
        lambda model, explanations, other=None: None,
        lambda model, explanations, gold=None, fraction=0.2: None,
        lambda model, explanations, gold=None, *, fraction: None,
        lambda model, explanations, gold=None, **options: None,
    ],
)
def test_a_metric_must_have_the_common_signature(registry, function):
    with pytest.raises(InputError, match="must be a function"):
        metric("odd", best="high", bodies=(Scores,))(function)
    assert "odd" not in registry
