"""Explanations ⇄ the columns of a Parquet file: `SCHEMA`, `encode` and `decode`.

One row per explanation. Numbers are stored as 64-bit floats, row after row, so that a round trip is exact; the work
is done on whole columns, since a file has far more tokens than anything else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rationales.errors import FileFormatError
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
)


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(_required("item", kind))


_TOKEN = pa.struct(
    [
        _required("text", pa.string()),
        _required("segment", pa.int32()),
        _required("start", pa.int32()),
        _required("end", pa.int32()),
    ]
)
_TARGET = pa.struct([_required("index", pa.int64()), _required("label", pa.string()), _required("score", pa.float64())])
_BODY = pa.struct(
    [
        _required("kind", pa.string()),
        pa.field("values", _list(pa.float64())),  # scores, weights of an alignment, steps of a sentence; row after row
        pa.field("standard_error", _list(pa.float64())),
        pa.field("keep", _list(pa.bool_())),
        pa.field("shape", _list(pa.int32())),  # of weights and steps, since a matrix may have no rows or no columns
        pa.field("text", pa.string()),
    ]
)
_PROVENANCE = pa.struct(
    [
        _required("method", pa.string()),
        _required("params", pa.string()),  # JSON
        _required("model", pa.string()),
        pa.field("seed", pa.int64()),
        _required("version", pa.string()),
    ]
)
SCHEMA = pa.schema(
    [
        _required("id", pa.string()),
        _required("texts", _list(pa.string())),
        _required("tokens", _list(_TOKEN)),
        _required("target", _TARGET),
        _required("body", _BODY),
        _required("provenance", _PROVENANCE),
        _required("checks", pa.map_(pa.string(), _required("value", pa.float64()))),
    ]
)

# Columns whose strings repeat. The others, floats above all, would only swell a dictionary.
REPEATING = [
    "tokens.list.element.text",
    "target.label",
    "body.kind",
    *(f"provenance.{name}" for name in ("method", "params", "model", "version")),
    "checks.key_value.key",
]


def float_to_json(value: float) -> float | str:
    """JSON has no NaN and no infinities: they become the strings NaN, Infinity and -Infinity, which `float` reads."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def params_to_json(value: Any) -> Any:
    """Parameters as strict JSON; a float that is not finite becomes {"$float": "NaN"}, to differ from a string."""
    if isinstance(value, Mapping):
        return {key: params_to_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [params_to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": float_to_json(value)}
    return value


def params_from_json(value: Any) -> Any:
    """The inverse of `params_to_json`, but for tuples, which `Provenance` restores."""
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: params_from_json(item) for key, item in value.items()}
    return [params_from_json(item) for item in value] if isinstance(value, list) else value


def dump_params(params: Mapping[str, Any]) -> str:
    """Parameters as one string of JSON."""
    return json.dumps(params_to_json(params), ensure_ascii=False, allow_nan=False)


# Explanations → columns


def _offsets(lengths: Iterable[int]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths]), pa.int32())


def _lists(arrays: Sequence[NDArray[Any] | None], kind: pa.DataType) -> pa.Array:
    """A column of lists, null where there is no array."""
    given = [array.ravel() for array in arrays if array is not None]
    flat = np.concatenate(given) if given else np.empty(0, dtype=kind.to_pandas_dtype())
    offsets = _offsets(0 if array is None else array.size for array in arrays)
    absent = pa.array([array is None for array in arrays], pa.bool_())
    return pa.ListArray.from_arrays(offsets, pa.array(flat, kind), type=_list(kind), mask=absent)


def _struct(kind: pa.DataType, columns: Sequence[Sequence[Any] | pa.Array]) -> pa.Array:
    fields = [kind.field(number) for number in range(kind.num_fields)]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def encode(explanations: Sequence[Explanation]) -> pa.RecordBatch:
    """Explanations as a batch of `SCHEMA`."""
    tokens = [token for explanation in explanations for token in explanation.tokens]
    targets = [explanation.target for explanation in explanations]
    made = [explanation.provenance for explanation in explanations]
    checks = [explanation.checks for explanation in explanations]
    texts = [explanation.texts for explanation in explanations]
    columns = [
        pa.array([explanation.id for explanation in explanations], pa.string()),
        pa.ListArray.from_arrays(
            _offsets(map(len, texts)),
            pa.array([text for row in texts for text in row], pa.string()),
            type=SCHEMA.field("texts").type,
        ),
        pa.ListArray.from_arrays(
            _offsets(len(explanation.tokens) for explanation in explanations),
            _struct(
                _TOKEN,
                [
                    [token.text for token in tokens],
                    [token.segment for token in tokens],
                    [token.start for token in tokens],
                    [token.end for token in tokens],
                ],
            ),
            type=SCHEMA.field("tokens").type,
        ),
        _struct(_TARGET, [[t.index for t in targets], [t.label for t in targets], [t.score for t in targets]]),
        _encode_bodies([explanation.body for explanation in explanations]),
        _struct(
            _PROVENANCE,
            [
                [p.method for p in made],
                [dump_params(p.params) for p in made],
                [p.model for p in made],
                [p.seed for p in made],
                [p.version for p in made],
            ],
        ),
        pa.MapArray.from_arrays(
            _offsets(map(len, checks)),
            pa.array([name for row in checks for name in row], pa.string()),
            pa.array([value for row in checks for value in row.values()], pa.float64()),
        ).cast(SCHEMA.field("checks").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _encode_bodies(bodies: Sequence[Body]) -> pa.Array:
    rows: list[tuple[Any, ...]] = []
    for body in bodies:
        match body:
            case Scores(values, error):
                rows.append(("scores", values, error, None, None, None))
            case Selection(keep):
                rows.append(("selection", None, None, keep, None, None))
            case Alignment(weights, kept):
                rows.append(("alignment", weights, None, kept, np.array(weights.shape), None))
            case Sentence(text, steps):
                shape = None if steps is None else np.array(steps.shape)
                rows.append(("sentence", steps, None, None, shape, text))
    kinds, numbers, errors, keeps, shapes, texts = zip(*rows, strict=True)
    return _struct(
        _BODY,
        [
            kinds,
            _lists(numbers, pa.float64()),
            _lists(errors, pa.float64()),
            _lists(keeps, pa.bool_()),
            _lists(shapes, pa.int32()),
            texts,
        ],
    )


# Columns → explanations


def _flat(array: pa.Array) -> list[Any]:
    """The items of an array without nulls as Python objects; faster than `to_pylist`."""
    return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]


def _rows(lists: pa.Array, items: Sequence[Any] | NDArray[Any]) -> Iterator[Any]:
    """The part of `items` that belongs to each list; None for a null."""
    bounds = lists.offsets.to_numpy().tolist()
    for (start, end), given in zip(pairwise(bounds), _flat(lists.is_valid()), strict=True):
        yield items[start:end] if given else None


def _number_rows(lists: pa.Array) -> Iterator[Any]:
    return _rows(lists, lists.values.to_numpy(zero_copy_only=False))


@lru_cache(maxsize=256)
def _provenance(method: str, params: str, model: str, seed: int | None, version: str) -> Provenance:
    return Provenance(method, params_from_json(json.loads(params)), model, seed, version)


def decode(batch: pa.RecordBatch) -> list[Explanation]:
    """The inverse of `encode`."""
    column = {name: batch.column(name) for name in SCHEMA.names}
    tokens, target, made, checks = column["tokens"], column["target"], column["provenance"], column["checks"]
    all_tokens = list(map(Token, *(_flat(tokens.values.field(name)) for name in ("text", "segment", "start", "end"))))
    seeds = made.field("seed").to_pylist()
    return list(
        map(
            Explanation,
            _flat(column["id"]),
            map(tuple, _rows(column["texts"], _flat(column["texts"].values))),
            map(tuple, _rows(tokens, all_tokens)),
            map(Target, *(_flat(target.field(name)) for name in ("index", "label", "score"))),
            _decode_bodies(column["body"]),
            map(
                _provenance,
                *(_flat(made.field(name)) for name in ("method", "params", "model")),
                seeds,
                _flat(made.field("version")),
            ),
            map(dict, map(zip, _rows(checks, _flat(checks.keys)), _rows(checks, _flat(checks.items)))),
        )
    )


def _decode_bodies(bodies: pa.Array) -> Iterator[Body]:
    columns = (_number_rows(bodies.field(name)) for name in ("values", "standard_error", "keep", "shape"))
    texts = bodies.field("text").to_pylist()
    for kind, values, error, keep, shape, text in zip(_flat(bodies.field("kind")), *columns, texts, strict=True):
        match kind:
            case "scores":
                yield Scores(values, error)
            case "selection":
                yield Selection(keep)
            case "alignment":
                yield Alignment(values.reshape(shape), None if keep is None else keep.reshape(shape))
            case "sentence":
                yield Sentence(text, None if values is None else values.reshape(shape))
            case _:
                raise FileFormatError(f"no body is of the kind {kind!r}")
