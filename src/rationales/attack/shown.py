"""An attacked text for people: what was edited, in its place, with some of the text around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rationales.attack.search import Outcome

CONTEXT = 60
"""Characters that are shown before and after an edit, at most; words stay whole where there are any."""


class Piece(NamedTuple):
    """Part of a text, as it was; or of what changed, the old and the new."""

    text: str
    changed: bool


def pieces(outcome: Outcome, segment: int) -> Iterator[Piece]:
    """The text `segment` (0 or 1) from edit to edit: `Anna `, `[isn't → is not]`, ` rude`; of a long one not all."""
    text = outcome.texts[segment]
    changes = [change for edit in outcome.edits for change in edit.changes if change.segment == segment]
    at = 0
    for change in sorted(changes, key=lambda each: each.start):
        between = text[at : change.start]
        yield Piece(_middle(between) if at else _end(between), False)
        yield Piece(f"[{change.old} → {change.new}]", True)
        at = change.end
    yield Piece(_start(text[at:]), False)


def _start(text: str) -> str:
    some = text[:CONTEXT]
    return text if some == text else f"{some.rpartition(' ')[0] or some} …"


def _end(text: str) -> str:
    some = text[-CONTEXT:]
    return text if some == text else f"… {some.partition(' ')[2] or some}"


def _middle(text: str) -> str:
    return text if len(text) <= 2 * CONTEXT else f"{_start(text)}{_end(text).removeprefix('…')}"
