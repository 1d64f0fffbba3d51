"""The links between two texts as a matrix: a row for each word of the first, a column for each word of the second.

What a method keeps is filled, and each pair of phrases has a frame. What it only weighs is shaded by its strength;
numbers, or signs where there is no room for numbers, tell the direction, if there is one, besides the colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rationales.explanation import Token
from rationales.report.figures import number
from rationales.report.letters import width
from rationales.report.links import KEPT, Links, titled
from rationales.report.safe import escaped
from rationales.report.strength import level

MOST_WORDS, MOST_CELLS = 60, 1500
"""Of a text, and of a matrix that can still be read."""
SIZE, PAD, LEAST, WORD = 15.0, 8.0, 30.0, 128.0
"""Pixels: size of the font if it is a wide one, around what is in a cell, a narrow cell, and a long word of a row."""
TIGHT = 14
"""Columns from which on even signs have little room."""
SIDES = ("n", "s", "w", "e")
"""Top, bottom, left and right of a cell, as on a map."""
FRAMES = ["".join([f" {side}" for place, side in enumerate(SIDES) if found >> place & 1]) for found in range(16)]
"""The classes of a frame, by the sides that it has, one bit for each."""


def fits(links: Links) -> bool:
    """Whether the links can be read as a matrix."""
    rows, columns = len(links.left), len(links.right)
    return 0 < rows <= MOST_WORDS and 0 < columns <= MOST_WORDS and rows * columns <= MOST_CELLS


def table(links: Links, room: int) -> str:
    """The matrix, with numbers if `room` pixels are wide enough, in a box that scrolls if its place is not."""
    heads, labels, titles = _words(links.left, links.right)
    shown = (links.shares != 0 if links.keep is None else links.keep).tolist()
    numbers, styles = _numbers(links, shown), _styles(links, shown)
    weights = map(links.figures, links.weights.tolist())
    rows = []
    for label, *row in zip(labels, styles, titles, weights, numbers, strict=True):
        cells = [f'<td{how} title="{words}{weight}">{said}</td>' for how, words, weight, said in zip(*row, strict=True)]
        rows.append(f"<tr>{label}{''.join(cells)}</tr>")
    style = "links" if _wide(links, numbers) <= room else "links dense"
    if style != "links":
        style += " tight" if len(links.right) > TIGHT else ""
        style += "" if links.directed else " undirected"
    return (
        '<div class="scroll matrix" tabindex="0" role="group" aria-label="Links between the two texts">'
        f'<table class="{style}"><caption class="unseen">Words of the first text in rows, of the second in '
        f"columns.</caption><thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


@lru_cache(maxsize=4)  # each method of a pair has the same words
def _words(left: tuple[Token, ...], right: tuple[Token, ...]) -> tuple[str, list[str], list[list[str]]]:
    """The heads of the columns, those of the rows, and for each cell its words as its title has them."""
    rows, columns = ([escaped(word.text) for word in side] for side in (left, right))
    return (
        "".join([f'<th scope="col"><span class="turned" dir="auto">{word}</span></th>' for word in columns]),
        [f'<th scope="row" dir="auto">{word}</th>' for word in rows],
        [[titled(word, other, "") for other in columns] for word in rows],
    )


def _numbers(links: Links, shown: Sequence[Sequence[bool]]) -> list[list[str]]:
    """What is kept or stands out, in as few digits as tell it from its neighbours."""
    return [
        [number(weight, 2 if abs(weight) >= 0.1 else 1) if here else "" for weight, here in zip(*row, strict=True)]
        for row in zip(links.weights.tolist(), shown, strict=True)
    ]


def _wide(links: Links, numbers: Sequence[Sequence[str]]) -> float:
    """About how wide the matrix is with its numbers."""
    label = max(width(word.text) for word in links.left) * SIZE + PAD
    columns = (max(map(width, column)) * SIZE + PAD for column in zip(*numbers, strict=True))
    return min(label, WORD) + sum(max(column, LEAST) for column in columns)


def folded(links: Links, room: int) -> str:
    """The matrix below something that opens it, by mouse or keyboard, without a script."""
    return f'<details class="matrix"><summary>Matrix</summary>{table(links, room)}</details>'


def _styles(links: Links, shown: Sequence[Sequence[bool]]) -> list[list[str]]:
    """For each cell that shows something its class, as an attribute: its strength, or the frames of phrases."""
    if links.keep is not None:
        return [
            [f' class="{KEPT}{frame}"' if here else "" for frame, here in zip(*row, strict=True)]
            for row in zip(_frames(links), shown, strict=True)
        ]
    return [[f' class="{level(share)}"' if share else "" for share in row] for row in links.shares.tolist()]


def _frames(links: Links) -> list[list[str]]:
    """For each cell the sides on which it has the frame of a phrase."""
    rows, columns = links.weights.shape
    sides = [[0] * columns for _ in range(rows)]
    top, bottom, left, right = (1 << place for place in range(len(SIDES)))
    for pair in links.phrases:
        for column in range(*pair.columns):
            sides[pair.rows[0]][column] |= top
            sides[pair.rows[1] - 1][column] |= bottom
        for row in range(*pair.rows):
            sides[row][pair.columns[0]] |= left
            sides[row][pair.columns[1] - 1] |= right
    return [[FRAMES[found] for found in row] for row in sides]
