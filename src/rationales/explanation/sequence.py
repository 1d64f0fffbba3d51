"""`Explanations`: many explanations, in memory or in a file, and their JSON Lines.

A file of JSON Lines begins with the line {"rationales": 1, "version": "…"}, where 1 is the version of the schema; each
further line is one explanation. It is strict JSON: the numbers that JSON lacks are the strings "NaN", "Infinity" and
"-Infinity".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rationales.errors import FileFormatError, InputError, require
from rationales.explanation.columns import float_to_json, params_from_json, params_to_json
from rationales.explanation.files import (
    SCHEMA_VERSION,
    ExplanationWriter,
    StoredRows,
    check_unicode,
    check_version,
    existing,
    package_version,
    replacing,
)
from rationales.explanation.types import (
    Alignment,
    Body,
    Explanation,
    Provenance,
    Scores,
    Selection,
    Sentence,
    Target,
    Token,
    report,
)

if TYPE_CHECKING:
    import pandas as pd


FIRST = 5
"""So many are shown unless more are asked for."""


class Explanations(Sequence[Explanation]):
    """A read-only sequence of explanations.

    Built from an iterable it holds them all; `load` leaves them in their file and reads what is asked for, so that
    iterating over a million takes no more memory than over a thousand. A slice of a loaded one stays in the file.
    """

    def __init__(self, items: Iterable[Explanation] = ()) -> None:
        if isinstance(items, Explanations):
            items = items._items
        self._items: Sequence[Explanation] = items if isinstance(items, StoredRows) else tuple(items)

    @classmethod
    def load(cls, path: Path | str) -> Explanations:
        """Open a Parquet file that `save` or an `ExplanationWriter` wrote."""
        return cls(StoredRows.open(path))

    @classmethod
    def from_jsonl(cls, path: Path | str) -> Explanations:
        """Read a file of JSON Lines into memory; `read_jsonl` streams it."""
        return cls(read_jsonl(path))

    def save(self, path: Path | str) -> None:
        """Write a Parquet file; it may be the one that these explanations are read from."""
        with ExplanationWriter(path) as writer:
            for explanation in self:
                writer.write(explanation)

    def to_jsonl(self, path: Path | str) -> None:
        """Write a file of JSON Lines, for people and for other tools."""
        write_jsonl(self, path)

    def to_pandas(self) -> pd.DataFrame:
        """One row per token; `score`, `standard_error`, `keep` and `links` are missing where the kind of body has none.

        Of an alignment that keeps links, `links` lists the positions of the tokens that a token is linked to, in the
        other text, and `link_weights` how strongly; `keep` tells whether there are any. So `explode` of both columns,
        of rows with `keep` and a `segment` of 0, gives a row per link.
        """
        pandas = require("pandas", extra="pandas", purpose="a table of tokens")
        rows = [row for explanation in self for row in _token_rows(explanation)]
        frame = pandas.DataFrame(rows, columns=_COLUMNS)
        return frame.astype({"score": "float64", "standard_error": "float64", "keep": "boolean"})

    def to_html(self, first: int | None = None) -> str:
        """All of them, or the first few, as HTML that brings its own style; `rationales report` writes a whole page."""
        html: str = report().to_html(self, first)
        return html

    def _repr_html_(self) -> str:
        """What a notebook shows: the first few, and how many there are."""
        return self.to_html(FIRST)

    def show(self, first: int | None = FIRST) -> None:
        """Show the first few in a notebook; elsewhere print them, in colours if that is to a terminal."""
        report().show(self, first)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self._items[index])
        try:
            return self._items[index]
        except IndexError:
            raise IndexError(f"explanation {index} of {len(self)}") from None

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._items)

    def __repr__(self) -> str:
        where = str(self._items.path) if isinstance(self._items, StoredRows) else "memory"
        return f"<{len(self):,} explanations in {where}>"


def write_jsonl(explanations: Iterable[Explanation], path: Path | str) -> None:
    """Write explanations to a file of JSON Lines as they come."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_dumps({"rationales": SCHEMA_VERSION, "version": package_version()}))
        for explanation in explanations:
            check_unicode(explanation)
            file.write(_dumps(to_json(explanation)))


def read_jsonl(path: Path | str) -> Iterator[Explanation]:
    """The explanations of a file of JSON Lines, one at a time; a line that cannot be read is named by its number."""
    path = existing(path)
    with path.open("rb") as file:
        with _line(path, 1):
            header = _loads(file.readline() or b"{}")
            if not isinstance(header, dict) or "rationales" not in header:
                raise InputError(f'not a file of explanations, which begins with {{"rationales": {SCHEMA_VERSION}}}')
        check_version(header["rationales"], header.get("version", "?"), str(path))
        for number, line in enumerate(file, 2):
            if line.strip():
                with _line(path, number):
                    explanation = _from_json(_loads(line))
                yield explanation


@contextmanager
def _line(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise FileFormatError(f"{path}, line {number}: {error} is missing") from error
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"{path}, line {number}: {error}") from error


def _loads(line: bytes) -> Any:
    return json.loads(line.decode("utf-8"), parse_constant=_refuse)


def _refuse(constant: str) -> float:
    raise InputError(f'a bare {constant} is not JSON; write the string "{constant}"')


def _dumps(value: Any) -> str:
    # `item` turns a NumPy number, such as a token's offset may be, into Python's
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=lambda number: number.item()) + "\n"


def _numbers(array: NDArray[Any]) -> list[Any]:
    """A list, or a list of rows; see `float_to_json` for what is not finite."""
    if array.dtype == np.bool_ or np.isfinite(array).all():
        return array.tolist()  # type: ignore[no-any-return]
    if array.ndim == 1:
        return [float_to_json(value) for value in array.tolist()]
    return [_numbers(row) for row in array]


def to_json(explanation: Explanation) -> dict[str, Any]:
    """One explanation as plain JSON; see the top of this file."""
    target, made = explanation.target, explanation.provenance
    return {
        "id": explanation.id,
        "texts": explanation.texts,
        "tokens": [{"text": t.text, "segment": t.segment, "start": t.start, "end": t.end} for t in explanation.tokens],
        "target": {"index": target.index, "label": target.label, "score": float_to_json(target.score)},
        "body": {name: value for name, value in _body_to_json(explanation.body).items() if value is not None},
        "provenance": {
            "method": made.method,
            "params": params_to_json(made.params),
            "model": made.model,
            "seed": made.seed,
            "version": made.version,
        },
        "checks": {name: float_to_json(value) for name, value in explanation.checks.items()},
    }


def _body_to_json(body: Body) -> dict[str, Any]:
    match body:
        case Scores(values, error):
            return {
                "kind": "scores",
                "values": _numbers(values),
                "standard_error": None if error is None else _numbers(error),
            }
        case Selection(keep):
            return {"kind": "selection", "keep": _numbers(keep)}
        case Alignment(weights, kept):
            return {
                "kind": "alignment",
                "shape": weights.shape,  # rows alone cannot say how many columns no row has
                "weights": _numbers(weights),
                "keep": None if kept is None else _numbers(kept),
            }
        case Sentence(text, steps):
            row = {"kind": "sentence", "text": text}
            return row if steps is None else {**row, "shape": steps.shape, "steps": _numbers(steps)}


def _from_json(row: dict[str, Any]) -> Explanation:
    made = dict(row["provenance"])
    made["params"] = params_from_json(made.get("params", {}))
    return Explanation(
        id=row["id"],
        texts=tuple(row["texts"]),
        tokens=tuple(Token(**token) for token in row["tokens"]),
        target=Target(**row["target"]),
        body=_body_from_json(row["body"]),
        provenance=Provenance(**made),
        checks=row.get("checks", {}),
    )


def _body_from_json(row: dict[str, Any]) -> Body:
    def floats(name: str) -> NDArray[Any] | None:
        return np.array(row[name], np.float64) if name in row else None  # reads the strings of `float_to_json`, too

    match row["kind"]:
        case "scores":
            return Scores(np.array(row["values"], np.float64), floats("standard_error"))
        case "selection":
            return Selection(row["keep"])
        case "alignment":
            keep = np.reshape(row["keep"], row["shape"]) if "keep" in row else None
            return Alignment(np.array(row["weights"], np.float64).reshape(row["shape"]), keep)
        case "sentence":
            steps = floats("steps")
            return Sentence(row["text"], None if steps is None else steps.reshape(row["shape"]))
        case kind:
            raise InputError(f"no body is of the kind {kind!r}")


_COLUMNS = (
    *("id", "kind", "method", "target", "label", "position", "token", "segment", "start", "end"),
    *("score", "standard_error", "keep", "links", "link_weights"),
)


def _token_rows(explanation: Explanation) -> Iterator[tuple[Any, ...]]:
    body, target = explanation.body, explanation.target
    absent: list[Any] = [None] * len(explanation.tokens)
    scores = errors = keep = links = strengths = absent
    match body:
        case Scores(values, error):
            scores = values.tolist()
            errors = errors if error is None else error.tolist()
        case Selection(kept):
            keep = kept.tolist()
        case Alignment(weights, kept) if kept is not None:
            links, strengths = _token_links(explanation.tokens, weights, kept)
            keep = list(map(bool, links))
    whole = (explanation.id, type(body).__name__.lower(), explanation.provenance.method, target.index, target.label)
    columns = zip(explanation.tokens, scores, errors, keep, links, strengths, strict=True)
    for position, (token, *rest) in enumerate(columns):
        yield (*whole, position, token.text, token.segment, token.start, token.end, *rest)


def _token_links(tokens: Sequence[Token], weights: NDArray[Any], keep: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """For each token the positions of those that kept links [T0, T1] lead to, and the weights of these links."""
    places: list[list[Any]] = [[] for _ in tokens]
    strengths: list[list[Any]] = [[] for _ in tokens]
    first, second = ([place for place, token in enumerate(tokens) if token.segment == side] for side in (0, 1))
    for row, column in np.argwhere(keep).tolist():
        for one, other in ((first[row], second[column]), (second[column], first[row])):
            places[one].append(other)
            strengths[one].append(float(weights[row, column]))
    return places, strengths
