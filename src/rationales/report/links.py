"""Links between the words of two texts as HTML: a table if it is of a readable size, else a list of the strongest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from rationales.explanation import Alignment, Token
from rationales.report.figures import number, signed
from rationales.report.safe import escaped
from rationales.report.strength import level, shares

MOST_ROWS, MOST_COLUMNS = 30, 16
LISTED = 12
"""So many of the strongest links are listed where a table would be too large."""


def fits(body: Alignment) -> bool:
    """Whether the links can be shown as a table."""
    rows, columns = len(body.weights), len(body.weights.T)
    return 0 < rows <= MOST_ROWS and 0 < columns <= MOST_COLUMNS


def table(left: Sequence[Token], right: Sequence[Token], body: Alignment) -> Markup:
    """One row per word of the first text, one column per word of the second; strong links are shaded, with numbers."""
    found = _shares(body)
    heads = Markup("").join(
        Markup('<th scope="col"><span class="turned" dir="auto">{}</span></th>').format(escaped(token.text))
        for token in right
    )
    rows = Markup("").join(
        Markup('<tr><th scope="row" dir="auto">{}</th>{}</tr>').format(
            escaped(token.text), Markup("").join(map(_cell, found[row].tolist(), body.weights[row].tolist()))
        )
        for row, token in enumerate(left)
    )
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="Links between the two texts"><table class="links">'
        '<caption class="unseen">Words of the first text in rows, of the second in columns.</caption>'
        "<thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(heads, rows)


def _cell(share: float, weight: float) -> Markup:
    if share == 0:
        return Markup('<td title="{}"></td>').format(signed(weight))
    return Markup('<td class="{}" title="{}">{}</td>').format(level(share), signed(weight), number(weight, 2))


def listed(left: Sequence[Token], right: Sequence[Token], body: Alignment) -> Markup:
    """The strongest links, strongest first."""
    items = Markup("").join(
        Markup('<li><mark class="{}"><bdi>{}</bdi> – <bdi>{}</bdi></mark> <span class="aside">{}</span></li>').format(
            level(share), escaped(left[row].text), escaped(right[column].text), signed(body.weights[row, column])
        )
        for row, column, share in _strongest(_shares(body))
    )
    if not items:
        return Markup('<p class="aside">No link stands out.</p>')
    return Markup('<p class="aside">The strongest links:</p><ol class="strongest">{}</ol>').format(items)


def _shares(body: Alignment) -> np.ndarray:
    return shares(body.weights if body.keep is None else np.where(body.keep, body.weights, 0.0))


def _strongest(found: np.ndarray) -> Iterator[tuple[int, int, float]]:
    for place in np.argsort(-np.abs(found), axis=None, kind="stable")[:LISTED]:
        row, column = divmod(int(place), found.shape[1])
        if found[row, column] != 0:
            yield row, column, float(found[row, column])
