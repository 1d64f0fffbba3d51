"""Labels and choices as files hold them → a class index, a class name, a number, or None."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from rationales.data.columns import LabelFormat
from rationales.errors import InputError

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NONE = -1
"""Class index by which many data sets say that there is no label."""


def read_label(value: Any, labels: Sequence[str] | None, how: LabelFormat) -> int | float | str | None:
    """The label in a cell: None, an empty cell, "-" and NaN are no label.

    Where the class names are known, the result is an index into them. Else `auto` takes what looks like a number as
    a number and anything else as a class name.

    >>> read_label("neutral", ("entailment", "neutral"), "auto"), read_label("1", None, "auto")
    (1, 1)
    """
    if _missing(value) or (isinstance(value, str) and value.strip().casefold() == "nan"):
        return None
    number = _number(value)
    if how == "number":
        if number is None:
            raise InputError(f"the label must be a number, got {value!r:.80}")
        return float(number)
    if labels is not None:
        return _class(value, number, labels, how)
    if how == "name" or (how == "auto" and number is None):
        return str(value)
    if how == "auto":
        return number
    if number is None or number != int(number) or number < _NONE:
        raise InputError(f"the label must be a class index 0, 1, …; got {value!r:.80}")
    return None if number == _NONE else int(number)


def _class(value: Any, number: int | float | None, labels: Sequence[str], how: LabelFormat) -> int | None:
    name = str(value).strip()
    if how != "index" and name in labels:
        return labels.index(name)
    if how != "name" and number is not None and number == int(number):
        return None if number == _NONE else _checked(int(number), labels, "label")
    raise InputError(f"the label {value!r:.80} is none of {', '.join(labels)}")


def read_choices(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The choices in a cell and the keys they are known by, which most data sets leave out.

    A list, the same as JSON, or `{"text": […], "label": […]}`.
    """
    given = value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"choices must be a list of texts (in a CSV file as JSON), got {given!r:.80}") from None
    keys: Any = ()
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        value, keys = value["text"], value.get("label") or ()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
        raise InputError(f"choices must be a list of texts, got {given!r:.80}")
    if len(value) < 2:
        raise InputError(f"at least two choices are wanted, got {len(value)}")
    return tuple(value), tuple(str(key) for key in keys)


def read_answer(value: Any, choices: Sequence[str], keys: Sequence[str], how: LabelFormat) -> int | None:
    """The index of the right choice, given as its key, its text, its letter or its index.

    >>> read_answer("B", ("red", "blue"), (), "auto"), read_answer("blue", ("red", "blue"), (), "auto")
    (1, 1)
    """
    if _missing(value):
        return None
    if how == "number":
        raise InputError("with choices the label is one of them; label_format must be auto, index or name")
    if how != "index" and isinstance(value, str):
        for names in (keys, choices):
            if value in names:
                return names.index(value)
        if re.fullmatch("[A-Za-z]", value.strip()):
            return _checked(ord(value.strip().upper()) - ord("A"), choices, "answer")
    number = _number(value)
    if how != "name" and number is not None and number == int(number):
        return None if number == _NONE else _checked(int(number), choices, "answer")
    raise InputError(f"the answer {value!r:.80} is none of the choices {', '.join(choices)}")


def _checked(index: int, names: Sequence[str], what: str) -> int:
    if not 0 <= index < len(names):
        raise InputError(f"{what} {index} is out of range: there are {len(names)} ({', '.join(names)}), counted from 0")
    return index


def _missing(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, str) and value.strip() in ("", "-"))
        or (isinstance(value, float) and math.isnan(value))
    )


def _number(value: Any) -> int | float | None:
    """The number in a cell; None: it holds a name."""
    if isinstance(value, str):
        value = value.strip()
        if _INTEGER.fullmatch(value):
            return int(value)
        if not _DECIMAL.fullmatch(value):
            return None
        value = float(value)
    if isinstance(value, float) and math.isinf(value):
        raise InputError("the label is infinite")
    if not isinstance(value, int | float):
        raise InputError(f"a label must be a number or a name, got {type(value).__name__}")
    return int(value) if isinstance(value, int) else value
