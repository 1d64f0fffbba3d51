"""Texts as they may come from outside, for tests that feed them to everything."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Sentence, Target
from rationales.explanation.views import word_tokens

HOSTILE = (
    "<script>window.ran = true</script>",
    "</script><script>window.ran = true</script>",
    "</style></title></textarea></template>",
    "<!-- a comment",
    "--> ]]> <![CDATA[ <?php",
    "<img src=x onerror='window.ran = true'>",
    '" onmouseover="window.ran = true" x=\'',
    "javascript:window.ran=true",
    "&lt;b&gt; &amp;amp; &#60; &nosuch; &",
    "{{ 7 * 7 }} {% raw %} ${7*7} %s",
    "\x00 NUL \x07 \x1b[31m \x7f \x9b",
    "\r\n\t \x0b \x0c \x85 \u2028 \u2029 lines",
    "\ud800 half of a pair \udfff",
    "\u202egnorw \u2066 isolated \u200f \u061c",
    "e\u0301 n\u0303 Z̴̡͉a̷l̶g̸o",
    "\u200b \u200c \u200d \ufeff",
    "كان الحساء رائعا",
    "好的汤 ทดสอบ",
    "👩\u200d🔬 🏳️\u200d🌈",
    "\ufffe \uffff \U0010ffff",
    "",
    " ",
)
LETTERS = st.characters(codec=None, exclude_categories=())
TEXTS = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(LETTERS, max_size=20)), max_size=4).map(" ".join)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)

fed = settings(max_examples=150, deadline=None, database=None, derandomize=True)


@st.composite
def explanations(draw: st.DrawFn, texts: tuple[str, ...] | None = None, kind: str = "") -> Explanation:
    """An explanation of any kind, or of this, every string and every number of which may be anything."""
    texts = texts or draw(st.lists(TEXTS, min_size=1, max_size=2).map(tuple))
    tokens = word_tokens(texts)
    rows, columns = (sum(token.segment == side for token in tokens) for side in (0, 1))

    def numbers(*shape: int) -> np.ndarray:
        given = draw(st.lists(NUMBERS, min_size=1, max_size=8))
        return np.resize(np.array(given), shape)

    kind = kind or draw(st.sampled_from(["scores", "selection", "alignment", "sentence"]))
    match kind:
        case "scores":
            body = Scores(numbers(len(tokens)))
        case "selection":
            body = Selection(np.resize(draw(st.lists(st.booleans(), min_size=1, max_size=5)), len(tokens)))
        case "alignment":
            body = Alignment(numbers(rows, columns), numbers(rows, columns) > 0 if draw(st.booleans()) else None)
        case _:
            text = draw(TEXTS)
            body = Sentence(text, numbers(len(text.split()), 2) if draw(st.booleans()) else None)
    target = Target(draw(st.integers(-1, 2)), draw(TEXTS), draw(NUMBERS))
    return Explanation(draw(TEXTS), texts, tokens, target, body, Provenance(draw(TEXTS), {}, draw(TEXTS)))
