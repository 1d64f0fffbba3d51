"""The texts of a page: each drawn once, packed in chunks that the browser unpacks when they are asked for.

A page of 5,000 texts by 9 methods has 60 MB of HTML, which no browser likes. So the HTML of some 25 texts at a time is
deflated, as base64, into an element that the browser leaves alone; the script inflates what the filters find. What the
filters look at is one small index behind the chunks, so the cases can come from a stream.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

from markupsafe import Markup

from rationales.comparison.types import Case
from rationales.explanation import Alignment, Explanation
from rationales.report.figures import number
from rationales.report.html import highlights
from rationales.report.safe import environment, shown

CHUNK = 25
"""Cases in a chunk, and on a page of results."""
SEPARATOR = "\0"
"""Between the cases of a chunk; `shown` lets none through."""
ROOM = 388
"""Pixels for a picture of links, so that two are side by side on a screen of 1,000."""
HUMAN = "human"


@dataclass(frozen=True)
class Cell:
    """What one method says of a case; `target` where it explains something else than the prediction."""

    method: str
    human: bool
    wide: bool
    target: str
    body: Markup


def draw(case: Case, order: Mapping[str, int]) -> Markup:
    """A case as HTML, a cell per method: people first, then by `order`, then the others as they come."""
    cells = [_cell(method, explanation, case) for method, explanation in case.explanations.items()]
    cells.sort(key=lambda cell: (not cell.human, order.get(cell.method, len(order))))
    return Markup(environment().get_template("case.html").render(case=case, cells=cells, number=number))


def _cell(method: str, explanation: Explanation, case: Case) -> Cell:
    human, label = explanation.provenance.method == HUMAN, explanation.target.label
    other = label if label != case.predicted and not human else ""
    return Cell(method, human, isinstance(explanation.body, Alignment), other, highlights(explanation, ROOM))


class Drawn:
    """Cases drawn as they come: `first` at once, `chunks` one after another, and then the `index` of them all."""

    def __init__(self, cases: Iterable[Case], order: Mapping[str, int]) -> None:
        self._cases, self._order = iter(cases), order
        self._names: dict[str, dict[str, int]] = {"data": {}, "models": {}, "labels": {}}
        self._methods: dict[str, bool] = {}  # and whether that is people
        self._rows: list[list[Any]] = []
        self.linked = False  # whether there are links between two texts among what was drawn
        self.first = self._batch()

    def __len__(self) -> int:
        return len(self._rows)

    def _batch(self) -> list[Markup]:
        batch = []
        for case in islice(self._cases, CHUNK):
            self._rows.append(self._row(case))
            batch.append(draw(case, self._order))
        return batch

    def _row(self, case: Case) -> list[Any]:
        """What the filters look at."""
        for method, explanation in case.explanations.items():
            self._methods.setdefault(method, explanation.provenance.method == HUMAN)
            self.linked |= isinstance(explanation.body, Alignment)
        return [
            self._number("data", case.data),
            self._number("models", case.model),
            -1 if case.label is None else self._number("labels", case.label),
            self._number("labels", case.predicted),
            case.probability if math.isfinite(case.probability) else None,
            shown(" ".join((case.id, *case.texts))),
        ]

    def _number(self, kind: str, name: str) -> int:
        return self._names[kind].setdefault(name, len(self._names[kind]))

    def chunks(self) -> Iterator[str]:
        """The cases, packed; to be gone through once. While one chunk is deflated the next is drawn."""
        batch = self.first
        with ThreadPoolExecutor(1) as packer:
            while batch:
                chunk = packer.submit(packed, SEPARATOR.join(batch))
                batch = self._batch()
                yield chunk.result()

    def index(self) -> str:
        """What the filters need, packed; complete once the chunks are through."""
        last = len(self._order)
        methods = sorted(self._methods, key=lambda name: (not self._methods[name], self._order.get(name, last)))
        names = {kind: list(map(shown, found)) for kind, found in self._names.items()}
        content = {"size": CHUNK, "linked": self.linked, **names, "methods": list(map(shown, methods))}
        content["rows"] = self._rows
        return packed(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def packed(text: str) -> str:
    """Deflated, in base64."""
    return base64.b64encode(zlib.compress(text.encode())).decode("ascii")
