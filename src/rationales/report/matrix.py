"""The links between two texts as a matrix: a row for each word of the first, a column for each word of the second.

What a method keeps is filled, and each pair of phrases has a frame. What it only weighs is shaded by its strength;
numbers, or signs where there is no room for numbers, tell the direction, if there is one, besides the colour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rationales.report.figures import number
from rationales.report.letters import width
from rationales.report.links import Links, titled
from rationales.report.safe import escaped

MOST_WORDS, MOST_CELLS = 60, 1500
"""Of a text, and of a matrix that can still be read."""
SIZE, PAD, LEAST, WORD = 15.0, 8.0, 30.0, 128.0
"""Pixels: size of the font if it is a wide one, around what is in a cell, a narrow cell, and a long word of a row."""
TIGHT = 14
"""Columns from which on even signs have little room."""
SIDES = ("n", "s", "w", "e")
"""Top, bottom, left and right of a cell, as on a map."""


def fits(links: Links) -> bool:
    """Whether the links can be read as a matrix."""
    rows, columns = len(links.left), len(links.right)
    return 0 < rows <= MOST_WORDS and 0 < columns <= MOST_WORDS and rows * columns <= MOST_CELLS


def table(links: Links, room: int) -> str:
    """The matrix, with numbers if `room` pixels are wide enough, in a box that scrolls if its place is not."""
    numbers, frames = _numbers(links), _frames(links)
    left, right = ([escaped(word.text) for word in side] for side in (links.left, links.right))
    heads = "".join([f'<th scope="col"><span class="turned" dir="auto">{word}</span></th>' for word in right])
    rows = []
    for row, word in enumerate(left):
        figures = map(links.figure, links.weights[row].tolist())
        titles = [titled(word, other, figure) for other, figure in zip(right, figures, strict=True)]
        styles = map(links.style, links.shares[row].tolist())
        cells = "".join(map(_cell, titles, numbers[row], styles, frames[row]))
        rows.append(f'<tr><th scope="row" dir="auto">{word}</th>{cells}</tr>')
    style = "links" if _wide(links, numbers) <= room else "links dense"
    if style != "links":
        style += " tight" if len(links.right) > TIGHT else ""
        style += "" if links.directed else " undirected"
    return (
        '<div class="scroll matrix" tabindex="0" role="group" aria-label="Links between the two texts">'
        f'<table class="{style}"><caption class="unseen">Words of the first text in rows, of the second in '
        f"columns.</caption><thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(title: str, said: str, style: str, frame: str) -> str:
    if not said:
        return f'<td title="{title}"></td>'
    return f'<td class="{f"{style} {frame}".strip()}" title="{title}">{said}</td>'


def _numbers(links: Links) -> list[list[str]]:
    """What is kept or stands out, in as few digits as tell it from its neighbours."""
    shown = links.shares != 0 if links.keep is None else links.keep
    return [
        [number(weight, 2 if abs(weight) >= 0.1 else 1) if here else "" for weight, here in zip(*row, strict=True)]
        for row in zip(links.weights.tolist(), shown.tolist(), strict=True)
    ]


def _wide(links: Links, numbers: Sequence[Sequence[str]]) -> float:
    """About how wide the matrix is with its numbers."""
    label = max(width(word.text) for word in links.left) * SIZE + PAD
    columns = (max(map(width, column)) * SIZE + PAD for column in zip(*numbers, strict=True))
    return min(label, WORD) + sum(max(column, LEAST) for column in columns)


def folded(links: Links, room: int) -> str:
    """The matrix below something that opens it, by mouse or keyboard, without a script."""
    return f'<details class="matrix"><summary>Matrix</summary>{table(links, room)}</details>'


def _frames(links: Links) -> list[list[str]]:
    """For each cell the sides on which it has the frame of a phrase."""
    marked = {side: np.zeros(links.weights.shape, dtype=np.bool_) for side in SIDES}
    for pair in links.phrases:
        (top, bottom), (left, right) = pair.rows, pair.columns
        marked["n"][top, left:right] = marked["s"][bottom - 1, left:right] = True
        marked["w"][top:bottom, left] = marked["e"][top:bottom, right - 1] = True
    rows, columns = links.weights.shape
    found = [[""] * columns for _ in range(rows)]
    for row, column in np.argwhere(np.any(list(marked.values()), axis=0)).tolist():
        found[row][column] = " ".join([side for side in SIDES if marked[side][row, column]])
    return found
