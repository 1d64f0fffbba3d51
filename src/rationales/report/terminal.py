"""Explanations as coloured text for a terminal, or as plain text for a pipe.

Words, not pieces, have scores; of a selection its own tokens are shown. Direction is told by more than colour: words
that speak for the target are bold, words that speak against it are underlined.

Links between two texts are a matrix of block characters, where there is room, and a list. The matrix has a row for each
word of the first text, and a column as wide as its word for each of the second. What is kept is a solid block, so that
phrases are rectangles; weights are shaded, and those against the label, if any, are of other characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.style import Style
from rich.text import Text

from rationales.explanation import Alignment, Explanation, Scores, Selection, Sentence
from rationales.explanation.views import kept_spans
from rationales.report.links import Links, links_of
from rationales.report.strength import SHOWN

FOR, AGAINST = (46, 125, 50), (198, 40, 40)
MOST_ROWS, MOST_CHARACTERS = 24, 79
"""Of a matrix that is drawn."""
LONGEST = 14
"""Of a word beside or above the matrix; longer ones are cut."""
SHADES_FOR, SHADES_AGAINST = "░▒▓█", "-=#"
"""From weak to strong."""
KEPT, NOTHING = "█", "·"
KEY = f"  {SHADES_FOR} for, {SHADES_AGAINST} against the label, from weak to strong"
KEY_WITHOUT_SIGNS = f"  {SHADES_FOR} from weak to strong"


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
    for extra in _lines(explanation):
        out.append_text(extra).append("\n")
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
    lines = (line.plain.rstrip() for line in _lines(explanation))
    return "\n".join([headline(explanation), *texts, *_listed(explanation, words, most), *lines])


def _listed(explanation: Explanation, words: Explanation, most: int) -> Iterator[str]:
    match words.body:
        case Scores(values=values):
            for place in np.argsort(-np.abs(values), kind="stable")[:most]:
                yield f"  {values[place]:+.4f}  {printable(words.tokens[place].text)}"
        case Selection():
            chosen = (printable(words.texts[part][start:end]) for part, start, end in kept_spans(explanation))
            yield f"  {' … '.join(chosen) or '(nothing)'}"


def _lines(explanation: Explanation) -> Iterator[Text]:
    """What is not a mark on the text: links between two texts, a sentence."""
    match explanation.body:
        case Alignment():
            yield from _links(links_of(explanation))
        case Sentence(text=text):
            yield Text(f"  {printable(text)}")


# Links between two texts


def _links(links: Links) -> Iterator[Text]:
    """The lines of the matrix, if it has room, and the links that stand out, strongest first."""
    if links.left and links.right:
        yield from _matrix(links)
    yield from (Text(f"  {line}") for line in links.beneath)
    phrases = [" – ".join(map(printable, (first, second))) for first, second, _ in links.said]
    wide = min(max(map(cell_len, phrases), default=0), MOST_CHARACTERS // 2)
    for phrase, pair in zip(phrases, links.pairs, strict=True):
        yield Text(f"  {phrase}{' ' * (wide - cell_len(phrase))}  {pair.weight:{'+' if links.directed else ''}.4f}")


def _matrix(links: Links) -> Iterator[Text]:
    rows, columns = ([_cut(printable(word.text)) for word in side] for side in (links.left, links.right))
    label = max(map(cell_len, rows))
    widths = [max(1, cell_len(word)) for word in columns]
    if len(rows) > MOST_ROWS or 2 + label + sum(widths) + len(widths) > MOST_CHARACTERS:
        return
    yield Text(" ".join([" " * (2 + label), *columns]))
    for number, word in enumerate(rows):
        yield Text(f"  {set_cell_size(word, label)}").append_text(_row(links, number, widths))
    if links.keep is None:
        yield Text(KEY if links.directed else KEY_WITHOUT_SIGNS)


def _cut(word: str) -> str:
    return word if cell_len(word) <= LONGEST else set_cell_size(word, LONGEST - 1) + "…"


def _row(links: Links, row: int, widths: Sequence[int]) -> Text:
    """The cells of a row, each after a space, so that columns can be told apart inside a phrase."""
    out = Text()
    kept = [False] * len(widths) if links.keep is None else links.keep[row].tolist()
    for wide, share, filled in zip(widths, links.shares[row].tolist(), kept, strict=True):
        out.append(" ")
        if filled:
            out.append(KEPT * wide, _ink(FOR))
        elif share:
            out.append(_shade(share) * wide, _ink(FOR) if share > 0 else _ink(AGAINST))
        else:
            out.append(NOTHING.center(wide), "dim")
    return out


def _ink(colour: tuple[int, int, int]) -> Style:
    return Style(color=Color.from_rgb(*colour))


def _shade(share: float) -> str:
    """The character of a share.

    >>> _shade(0.1), _shade(1.0), _shade(-0.5)
    ('░', '█', '=')
    """
    shades = SHADES_FOR if share > 0 else SHADES_AGAINST
    return shades[min(len(shades) - 1, int(abs(share) * len(shades)))]
