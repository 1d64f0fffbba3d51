"""What Hypothesis draws: texts of any characters, scores of any numbers; the same in every run."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from rationales.explanation import Alignment, Explanation, Provenance, Scores, Target, Token
from rationales.explanation.views import word_tokens


def bounded(examples: int) -> settings:
    """So many examples, always the same, however long they take."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


AWKWARD = (
    *("", " ", "\0", "\ufeff", "\u202e", "\u2028", "\x1b[31m", "\x85", "\r", "\n", "\r\n", "\t", '"', "'", ",", ";"),
    *(
        "<script>alert(1)</script>",
        "[bold]",
        "[/]",
        "\\",
        "[CLS]",
        "[SEP]",
        "[UNK]",
        "##ly",
        "👩‍👩‍👧‍👦",
        "e\u0301\u0302",
        "ﬁ",
    ),
    *("İ", "ß", "ǆ", "שלום", "مرحبا", "好的", "ไทย", "good", "soup", "unfriendly", "  ", "nan", "\U0010ffff", "\ufffe"),
)

any_text = st.one_of(
    st.text(max_size=12),
    st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=3)), max_size=6).map("".join),
    st.lists(st.sampled_from(AWKWARD), max_size=6).map(" ".join),
)
"""Any Unicode text, often with what programs stumble over."""

written_text = any_text.filter(str.strip)
"""Any text that is more than white space."""

broken_text = st.tuples(st.text(max_size=3), st.characters(categories=["Cs"]), st.text(max_size=3)).map("".join)
"""Texts with half of a surrogate pair, which no file in UTF-8 can hold."""

any_number = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, -1e308])
)

any_score = st.one_of(st.floats(-1e100, 1e100), st.sampled_from([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]))
"""Numbers that can be added up: of larger ones nothing but overflow is to be expected."""


@st.composite
def any_explanations(draw: st.DrawFn, numbers: st.SearchStrategy[float] = any_number) -> Explanation:
    """An explanation of one text or two by scores of words, with a special token before them."""
    texts = tuple(draw(st.lists(any_text, min_size=1, max_size=2)))
    tokens = (Token("[CLS]", -1, 0, 0), *word_tokens(texts))
    values = draw(st.lists(numbers, min_size=len(tokens), max_size=len(tokens)))
    label = draw(any_text)
    target = Target(draw(st.integers(-1, 2)), label, draw(any_number))
    made = Provenance(draw(any_text), {"any": draw(any_text), "number": draw(any_number)}, draw(any_text))
    return Explanation(
        draw(any_text), texts, tokens, target, Scores(np.array(values)), made, {"check": draw(any_number)}
    )


any_keep = st.sampled_from([0.0, 0.2, 0.7, 1.0])
"""The share of the links that are kept."""


@st.composite
def any_links(draw: st.DrawFn, numbers: st.SearchStrategy[float] = any_number) -> Explanation:
    """An explanation of two texts by links of their words, of which some may be kept."""
    texts = draw(any_text), draw(any_text)
    tokens = word_tokens(texts)
    first, second = (sum(token.segment == side for token in tokens) for side in (0, 1))
    size = first * second
    weights = np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(first, second)
    keep = None
    if draw(st.booleans()):
        keep = np.random.default_rng(draw(st.integers(0, 99))).random((first, second)) < draw(any_keep)
    made = Provenance("any")
    return Explanation(draw(any_text), texts, tokens, Target(0, ""), Alignment(weights, keep), made)
