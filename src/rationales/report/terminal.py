"""Explanations as coloured text for a terminal, or as plain text for a pipe.

Words, not pieces, have scores; of a selection its own tokens are shown. Direction is told by more than colour: words
that speak for the target are bold, words that speak against it are underlined.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np
from rich.style import Style
from rich.text import Text

from rationales.explanation import Alignment, Explanation, Scores, Selection, Sentence
from rationales.explanation.views import kept_spans, word_tokens

FOR, AGAINST = (46, 125, 50), (198, 40, 40)
SHOWN = 0.1
"""Words with less than this share of the largest score stay unmarked."""


def printable(text: str) -> str:
    """Control characters, which could steer a terminal, become visible; line breaks become spaces.

    Each character becomes one character, so that offsets stay what they are.
    """
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character in "\n\r\t\u2028\u2029":
        return " "
    controls = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in "\u200c\u200d"
    return "\ufffd" if controls else character


def headline(explanation: Explanation) -> str:
    """What is explained and by which method, in one line."""
    target = explanation.target
    score = "" if np.isnan(target.score) else f" {target.score:.3f}"
    label = printable(target.label) or "no label"
    return f"[{printable(explanation.id)}] {label}{score} · {printable(explanation.provenance.method)}"


def coloured(explanation: Explanation) -> Text:
    """The texts with their words coloured by score, for a terminal."""
    out = Text().append(headline(explanation) + "\n", style="dim")
    words = explanation.words()
    styles = _styles(explanation, words)
    for segment, text in enumerate(words.texts):
        line = Text(printable(text))
        for place, start, end, style in styles:
            if place == segment:
                line.stylize(style, start, end)
        out.append_text(line).append("\n")
    for extra in _lines(words):
        out.append(extra + "\n")
    return out


def _styles(explanation: Explanation, words: Explanation) -> list[tuple[int, int, int, Style]]:
    """What is marked and how: segment, start, end, style."""
    match words.body:
        case Scores(values=values):
            largest = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
            styles = [_style(share) for share in np.clip(values / largest, -1, 1).tolist()]
            return [
                (token.segment, token.start, token.end, style)
                for token, style in zip(words.tokens, styles, strict=True)
                if style is not None
            ]
        case Selection():
            style = _style(1.0)
            assert style is not None
            return [(*span, style) for span in kept_spans(explanation)]
        case _:
            return []


def _style(share: float) -> Style | None:
    if not abs(share) >= SHOWN:
        return None
    red, green, blue = (round(255 - abs(share) * (255 - part)) for part in (FOR if share > 0 else AGAINST))
    ink = "white" if abs(share) > 0.6 else "black"
    return Style(color=ink, bgcolor=f"rgb({red},{green},{blue})", bold=share > 0, underline=share < 0)


def plain(explanation: Explanation, most: int = 10) -> str:
    """The texts, and below them the words with the largest scores, for a pipe or a file."""
    words = explanation.words()
    texts = [printable(text) for text in words.texts]
    return "\n".join([headline(explanation), *texts, *_listed(explanation, words, most), *_lines(words)])


def _listed(explanation: Explanation, words: Explanation, most: int) -> Iterator[str]:
    match words.body:
        case Scores(values=values):
            for place in np.argsort(-np.abs(values), kind="stable")[:most]:
                yield f"  {values[place]:+.4f}  {printable(words.tokens[place].text)}"
        case Selection():
            chosen = (printable(words.texts[part][start:end]) for part, start, end in kept_spans(explanation))
            yield f"  {' … '.join(chosen) or '(nothing)'}"


def _lines(words: Explanation) -> Iterator[str]:
    """What is not a mark on the text: links between two texts, a sentence."""
    match words.body:
        case Alignment(weights=weights, keep=keep):
            tokens = word_tokens(words.texts)
            left, right = ([token for token in tokens if token.segment == side] for side in (0, 1))
            shown = weights if keep is None else np.where(keep, weights, -np.inf)
            for cell in np.argsort(-shown, axis=None, kind="stable")[:10]:
                row, column = divmod(int(cell), weights.shape[1])
                if np.isfinite(shown[row, column]):
                    pair = f"{printable(left[row].text)} – {printable(right[column].text)}"
                    yield f"  {weights[row, column]:+.4f}  {pair}"
        case Sentence(text=text):
            yield f"  {printable(text)}"
