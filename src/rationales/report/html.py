"""An explanation as HTML: the one renderer, for the page, for notebooks and for `to_html`.

Words, not pieces, are shown. A mark has one of five strengths by its share of the largest score. Direction is told by
more than colour: what speaks for the target is bold with a solid underline, what speaks against it has a dashed one.
The number is in the mark's title, and a sentence that only screen readers speak names the strongest words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from rationales.explanation import Alignment, Explanation, Scores, Selection, Sentence, Token
from rationales.explanation.types import FloatArray
from rationales.explanation.views import kept_spans, token_scores, word_spans
from rationales.report import matrix, two_lines
from rationales.report.figures import counted, number, signed
from rationales.report.links import Links, links_of
from rationales.report.safe import escaped
from rationales.report.strength import level, shares

LONG = 3000
"""Characters from which on a text gets a window of its own, to be scrolled by mouse or keyboard."""
MOST_WORDS = 2000
"""Of a longer text only the beginning is drawn, so that one of a whole book does not stop the page."""
ROOM = 640
"""Pixels for a picture of links in a notebook."""
NAMED = 6
"""So many of the strongest words on either side are named for screen readers."""


class Mark(NamedTuple):
    """Characters [start, end) of a text, the class that styles them, and the number in their tooltip."""

    start: int
    end: int
    style: str
    number: str = ""


def highlights(explanation: Explanation, room: int = ROOM) -> Markup:
    """The texts of an explanation with its reason marked in them, drawn as links, listed, or in words.

    Pictures of links are at most `room` pixels wide; a narrower place shrinks them.
    """
    texts = explanation.texts
    match explanation.body:
        case Scores():
            with np.errstate(all="ignore"):  # scores may be infinite, and infinities may meet
                words = explanation.words()
            values = token_scores(words)
            return Markup(_spoken(_directions(words.tokens, values)) + _texts(texts, _scored(words.tokens, values)))
        case Selection():
            spans = kept_spans(explanation)
            kept = [texts[segment][start:end] for segment, start, end in spans]
            return Markup(_spoken(_named("Marked", kept)) + _texts(texts, _kept(spans)))
        case Alignment():
            return Markup(_aligned(links_of(explanation), room))
        case Sentence() as body:
            return Markup(_texts(texts, {})) + _sentence(body, explanation.target.index)


# What is marked, by the number of the text

Marks = dict[int, list[Mark]]


def _scored(tokens: Sequence[Token], values: FloatArray) -> Marks:
    marks: Marks = {}
    for token, value, share in zip(tokens, values.tolist(), shares(values).tolist(), strict=True):
        if share:
            marks.setdefault(token.segment, []).append(Mark(token.start, token.end, level(share), signed(value)))
    return marks


def _kept(spans: Iterable[tuple[int, int, int]]) -> Marks:
    marks: Marks = {}
    for segment, start, end in spans:
        marks.setdefault(segment, []).append(Mark(start, end, "kept"))
    return marks


# What only screen readers say. Here and below strings are put together from what is escaped: a page has millions.


def _spoken(said: str) -> str:
    return f'<p class="unseen">{said or "No word stands out."}</p>'


def _directions(tokens: Sequence[Token], values: FloatArray) -> str:
    found = shares(values)
    ranked = np.argsort(-np.abs(found), kind="stable").tolist()
    speak_for = _named("For", [tokens[place].text for place in ranked if found[place] > 0])
    against = _named("Against", [tokens[place].text for place in ranked if found[place] < 0])
    return " ".join(filter(None, (speak_for, against)))


def _named(what: str, words: Sequence[str]) -> str:
    if not words:
        return ""
    named = ", ".join([f"<bdi>{escaped(word)}</bdi>" for word in words[:NAMED]])
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return f"{what}: {named}{more}."


# What is seen


def _texts(texts: Sequence[str], marks: Marks) -> str:
    paragraphs = []
    for segment, text in enumerate(texts):
        window = (
            ' class="text long" tabindex="0" role="group" aria-label="Text"' if len(text) > LONG else ' class="text"'
        )
        drawn = _text(text, marks.get(segment, []), *_end(text))
        paragraphs.append(f'<p dir="auto"{window}>{drawn}</p>')
    return "".join(paragraphs)


def _end(text: str) -> tuple[int, int]:
    """Where the drawn part of a text ends, and how many words come behind it."""
    spans = word_spans(text)
    if len(spans) <= MOST_WORDS:
        return len(text), 0
    return spans[MOST_WORDS - 1][1], len(spans) - MOST_WORDS


def _text(text: str, marks: Sequence[Mark], end: int, left_out: int) -> str:
    pieces = [*_pieces(text, marks, end)]
    if left_out:
        pieces.append(f' <span class="aside">… and {counted(left_out, "more word")}, not drawn</span>')
    return "".join(pieces)


def _pieces(text: str, marks: Iterable[Mark], end: int) -> Iterator[str]:
    last = 0
    for mark in marks:
        if mark.start >= end:
            break
        title = f' title="{mark.number}"' if mark.number else ""
        yield escaped(text[last : mark.start])
        yield f'<mark class="{mark.style}"{title}>{escaped(text[mark.start : min(mark.end, end)])}</mark>'
        last = mark.end
    yield escaped(text[last:end])


# Links between two texts


def _aligned(links: Links, room: int) -> str:
    """Two lines, how good they are, and a matrix; a list of the strongest where either would be too large to read."""
    drawn = two_lines.picture(links, room) if two_lines.fits(links) else _texts(links.texts, _linked(links))
    beneath = "".join([f'<p class="aside">{escaped(line)}</p>' for line in links.beneath])
    return drawn + beneath + (matrix.folded(links, room) if matrix.fits(links) else _listed(links))


def _linked(links: Links) -> Marks:
    """Where links end in the texts: of links that meet or overlap, the stronger one is marked."""
    marks: Marks = {}
    for pair, (*_, figure), share in zip(links.pairs, links.said, links.strengths(), strict=True):
        for segment, (start, end) in enumerate((pair.first, pair.second)):
            own = marks.setdefault(segment, [])
            if all(end <= mark.start or mark.end <= start for mark in own):
                own.append(Mark(start, end, links.style(share), figure))
    return {segment: sorted(own) for segment, own in marks.items()}


def _listed(links: Links) -> str:
    """The links that are drawn, strongest first."""
    items = []
    for said, share in zip(links.said, links.strengths(), strict=True):
        first, second, figure = map(escaped, said)
        link = f'<mark class="{links.style(share)}"><bdi>{first}</bdi> – <bdi>{second}</bdi></mark>'
        items.append(f'<li>{link} <span class="aside">{figure}</span></li>')
    return f'<ol class="strongest">{"".join(items)}</ol>' if items else ""


def _sentence(body: Sentence, index: int) -> Markup:
    said = Markup('<blockquote class="sentence" dir="auto">{}</blockquote>').format(escaped(body.text))
    if body.steps is None or not body.steps.size or not 0 <= index < body.steps.shape[1]:
        return said
    words = body.text.split()
    names = words if len(words) == len(body.steps) else [""] * len(body.steps)
    items = Markup("").join(
        Markup('<li><bdi>{}</bdi> <span class="aside">{}</span></li>').format(escaped(name), number(value, 2))
        for name, value in zip(names, _after_each_word(body.steps, index), strict=True)
    )
    what = "The output" if body.steps.shape[1] == 1 else "The probability of the label"
    return said + Markup('<p class="aside">{} after each word:</p><ol class="steps">{}</ol>').format(what, items)


def _after_each_word(steps: FloatArray, index: int) -> list[float]:
    """The probability of a class from its logits [n, C]; the output itself where there is only one."""
    if steps.shape[1] == 1:
        return [float(value) for value in steps[:, 0]]
    with np.errstate(all="ignore"):
        grown = np.exp(steps - steps.max(axis=1, keepdims=True))
        return [float(value) for value in grown[:, index] / grown.sum(axis=1)]
