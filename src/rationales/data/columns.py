"""Which column holds what: given by the user, or guessed from the names that data sets commonly use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from rationales.errors import DataError, InputError
from rationales.registry import option

LabelFormat: TypeAlias = Literal["auto", "index", "name", "number"]
RationaleFormat: TypeAlias = Literal["auto", "token_flags", "token_indices", "token_spans", "char_spans"]

LABEL_FORMATS: tuple[LabelFormat, ...] = ("auto", "index", "name", "number")
RATIONALE_FORMATS: tuple[RationaleFormat, ...] = ("auto", "token_flags", "token_indices", "token_spans", "char_spans")

_PAIRS = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("question1", "question2"),
    ("source", "translation"),
    ("query", "document"),
    ("question", "passage"),
    ("question", "sentence"),
)
_TEXTS = ("text", "sentence", "review", "question", "content", "comment", "document", "tokens")
_LABELS = ("label", "gold_label", "labels", "target", "class", "sentiment", "score")
_CHOICES = ("choices", "options")
_ANSWERS = ("answer_index", "answerkey", "answer", *_LABELS)
_IDS = ("id", "guid", "uid", "pair_id", "pairid", "annotation_id", "idx")
_RATIONALES = ("rationale", "rationales")
_EXPLANATION = re.compile(r"explanations?(_\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """The column of each part of an example. None: guess it by name; an empty name: the data have no such part."""

    text: str | None = option(None, "Column of the text, or of the first of two; a list of tokens is joined by spaces.")
    pair: str | None = option(None, "Column of the second text.")
    label: str | None = option(None, "Column of the class, the number, or the right choice.")
    label_format: LabelFormat = option("auto", "What the label column holds: class indices, class names, or numbers.")
    id: str | None = option(None, "Column of the id; without one, ids are made of the file's name and the row.")
    choices: str | None = option(None, "Column with the list of choices, or several columns, separated by commas.")
    explanation: str | None = option(None, "Column of reasons in words, or several columns, separated by commas.")
    rationale: str | None = option(None, "Column of what people marked in the text, or several columns, by commas.")
    pair_rationale: str | None = option(None, "The same for the second text.")
    rationale_format: RationaleFormat = option("auto", "What the rationale columns hold.")
    tokens: str = option("", "Column of the tokens that the rationale counts, where they are not the text's words.")
    pair_tokens: str = option("", "The same for the second text.")
    alignment: str = option("", "Column of links between two texts: character spans of the first and of the second.")
    meta: str = option("", "Further columns to keep with each example, separated by commas.")

    def __post_init__(self) -> None:
        for given, known, name in (
            (self.label_format, LABEL_FORMATS, "label_format"),
            (self.rationale_format, RATIONALE_FORMATS, "rationale_format"),
        ):
            if given not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}; got {given!r}")

    def named(self) -> tuple[str, ...]:
        """Every column that is named, once, in order."""
        single = (self.text, self.pair, self.label, self.id, self.tokens, self.pair_tokens, self.alignment)
        several = (self.choices, self.explanation, self.rationale, self.pair_rationale, self.meta)
        names = [name for name in single if name] + [name for names in several for name in split(names)]
        return tuple(dict.fromkeys(names))


@lru_cache(maxsize=256)  # called for every row
def split(names: str | None) -> tuple[str, ...]:
    """The names in a list with commas.

    >>> split("explanation_1, explanation_2"), split(None)
    (('explanation_1', 'explanation_2'), ())
    """
    return tuple(name.strip() for name in (names or "").split(",") if name.strip())


def resolve(columns: Columns, found: Sequence[str], file: str) -> Columns:
    """The same columns with the guesses filled in; every name in it exists in the file."""
    for name in columns.named():
        if name not in found:
            close = difflib.get_close_matches(name, found, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            raise InputError(f"{file} has no column {name!r}{hint} Its columns: {_list(found)}")
    # Names are compared in lower case; an exact name goes before another that differs only in case
    known = {name.lower(): name for name in found} | {name: name for name in found}

    def guess(given: str | None, candidates: Iterable[str]) -> str:
        return given if given is not None else next((known[name] for name in candidates if name in known), "")

    choices = guess(columns.choices, () if columns.pair else _CHOICES)
    text, pair = columns.text, columns.pair or ""
    if text is None and columns.pair is None and not choices:
        first, second = next((names for names in _PAIRS if set(names) <= set(known)), ("", ""))
        text, pair = (known[first], known[second]) if first else (None, "")
    if text is None:
        partners = (first for first, second in _PAIRS if known.get(second) == pair)
        names = (*partners, *(("question",) if choices else ()), *_TEXTS)
        text = guess(None, (name for name in names if known.get(name) != pair))
    if not text:
        raise DataError(
            f"no column looks like a text; name it with text (--text-column). Columns found: {_list(found)}"
            + _separator_hint(found),
            file=file,
        )
    explanations = ",".join(name for name in found if _EXPLANATION.fullmatch(name))
    # A lone "rationale" beside two texts does not say which of them it marks
    bare = () if pair else _RATIONALES
    return replace(
        columns,
        text=text,
        pair=pair,
        choices=choices,
        label=guess(columns.label, _ANSWERS if choices else _LABELS),
        id=guess(columns.id, _IDS),
        rationale=guess(columns.rationale, (f"{text.lower()}_rationale", *bare)),
        pair_rationale=guess(columns.pair_rationale, (f"{pair.lower()}_rationale",) if pair else ()),
        explanation=explanations if columns.explanation is None else columns.explanation,
    )


def _separator_hint(found: Sequence[str]) -> str:
    """A single column with a name like `text;label` was meant to be several."""
    sign = next((sign for sign in ";\t|," if len(found) == 1 and sign in found[0]), "")
    return f". They seem to be separated by {sign!r}; .csv files have commas, .tsv files tabs" if sign else ""


def _list(names: Sequence[str], limit: int = 40) -> str:
    return ", ".join(names[:limit]) + (f", … ({len(names)} in all)" if len(names) > limit else "") or "none"
