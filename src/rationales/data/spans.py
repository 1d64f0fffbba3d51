"""What people marked, in the forms in which data sets write it down → character spans of the text.

| format | a value | meaning |
|---|---|---|
| `token_flags` | `[0, 1, 1, 0]` | one flag per token |
| `token_indices` | `[1, 2]` | the marked tokens, counted from 0 |
| `token_spans` | `[[1, 3]]` | tokens from the first up to, but not including, the second |
| `char_spans` | `[[4, 13]]` | the same in characters |

Tokens are the runs of non-space characters of the text, unless the data set brings its own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from rationales.data.columns import RationaleFormat
from rationales.data.example import Span
from rationales.errors import InputError

Marks: TypeAlias = list[int] | list[tuple[int, int]]

_WORD = re.compile(r"\S+")
_INDEX = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Tokenised:
    """A text and the characters of each of its tokens; None: the text does not hold this token."""

    text: str
    tokens: Sequence[Span | None]


def split_tokens(text: str) -> list[Span]:
    """The runs of non-space characters.

    >>> split_tokens("so  good!")
    [(0, 2), (4, 9)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def join_tokens(tokens: Iterable[str]) -> tuple[str, list[Span]]:
    """Tokens joined by single spaces, and where each lies.

    >>> join_tokens(["so", "good"])
    ('so good', [(0, 2), (3, 7)])
    """
    tokens = list(tokens)
    spans: list[Span] = []
    for token in tokens:
        start = spans[-1][1] + 1 if spans else 0
        spans.append((start, start + len(token)))
    return " ".join(tokens), spans


def align_tokens(text: str, tokens: Iterable[str]) -> list[Span | None]:
    """Where the tokens of a tokenizer lie in the raw text it was given.

    White space, invisible characters and the spelling of accents do not count, since tokenizers change them. A token
    without letters or digits may be missing in the text, such as a quotation mark that was normalised away; any other
    must be there.

    >>> align_tokens('He said "no".', ["He", "said", "``", "no", '"', "."])
    [(0, 2), (3, 7), None, (9, 11), (11, 12), (12, 13)]
    """
    characters = [(place, part) for place, character in enumerate(text) for part in _visible(character)]
    places = [place for place, _ in characters]
    visible = "".join(part for _, part in characters)
    spans: list[Span | None] = []
    position = 0
    for token in tokens:
        wanted = _visible(token)
        found = position
        while not visible.startswith(wanted, found):
            if found >= len(visible) or visible[found].isalnum():
                found = -1
                break
            found += 1
        if found >= 0 and wanted:
            position = found + len(wanted)
            spans.append((places[found], places[position - 1] + 1))
        elif any(character.isalnum() for character in wanted):
            after = visible[position : position + 20]
            raise InputError(f"token {len(spans)} is {token!r}, but the text goes on with {after!r}")
        else:
            spans.append(None)
    return spans


def _visible(text: str) -> str:
    """A text without its white space and invisible characters, accents apart from their letters."""
    if text.isascii():
        return "".join(text.split())
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(one for one in decomposed if not one.isspace() and unicodedata.category(one) != "Cf")


def parse(value: Any) -> Marks:
    """A rationale as a list of numbers or of pairs; a string holds JSON, or numbers between spaces or commas.

    >>> parse("[[0, 4]]"), parse("1 5"), parse("{}")
    ([(0, 4)], [1, 5], [])
    """
    given = value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            parts = re.split(r"[\s,]+", value.strip(" ,\n\t"))
            value = [int(part) if _INDEX.fullmatch(part) else part for part in parts]
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]  # one index alone in a cell
    if value == {}:
        value = []  # how e-SNLI's own files write that nothing is marked
    if isinstance(value, list | tuple):
        if all(_integral(one) for one in value):
            return [int(one) for one in value]
        if all(map(_is_pair, value)):
            return [(int(start), int(end)) for start, end in value]
    raise InputError(f"a rationale must be a list of whole numbers or of [start, end] pairs, got {given!r:.80}")


def _integral(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_integral, value))


def _numbers(marks: Marks, what: str) -> list[int]:
    numbers = [mark for mark in marks if isinstance(mark, int)]
    if len(numbers) != len(marks):
        raise InputError(f"{what} are wanted in the rationale, got pairs")
    return numbers


def _pairs(marks: Marks, size: int, what: str) -> list[tuple[int, int]]:
    pairs = [mark for mark in marks if isinstance(mark, tuple)]
    if len(pairs) != len(marks):
        raise InputError(f"[start, end] pairs are wanted in the rationale, got single numbers: {marks!r:.80}")
    for start, end in pairs:
        if not 0 <= start < end <= size:
            raise InputError(f"the rationale's span [{start}, {end}) does not lie in the text of {size} {what}")
    return pairs


def _runs(marked: Iterable[int], tokens: Sequence[Span | None]) -> list[Span]:
    """The characters of some tokens; neighbours become one span."""
    spans: list[Span] = []
    last = -2
    for index in sorted(marked):
        span = tokens[index]
        if span is None or span[0] == span[1]:
            continue
        if index == last + 1:
            spans[-1] = (spans[-1][0], span[1])
        else:
            spans.append(span)
        last = index
    return spans


def _from_flags(marks: Marks, given: Tokenised) -> list[Span]:
    flags = _numbers(marks, "flags 0 and 1")
    if len(flags) != len(given.tokens):
        raise InputError(f"the rationale has {len(flags)} flags, but the text has {len(given.tokens)} tokens")
    if not set(flags) <= {0, 1}:
        raise InputError(f"the rationale's flags must be 0 or 1, got {min(set(flags) - {0, 1})}")
    return _runs((index for index, flag in enumerate(flags) if flag), given.tokens)


def _from_indices(marks: Marks, given: Tokenised) -> list[Span]:
    indices = _numbers(marks, "token indices")
    for index in indices:
        if not 0 <= index < len(given.tokens):
            raise InputError(f"the rationale marks token {index}, but the text has {len(given.tokens)} tokens")
    if len(set(indices)) < len(indices):
        raise InputError("the rationale marks a token twice")
    return _runs(indices, given.tokens)


def _from_token_spans(marks: Marks, given: Tokenised) -> list[Span]:
    pairs = _pairs(marks, len(given.tokens), "tokens")
    return _runs({index for start, end in pairs for index in range(start, end)}, given.tokens)


def _from_char_spans(marks: Marks, given: Tokenised) -> list[Span]:
    return _pairs(marks, len(given.text), "characters")


_READERS: dict[RationaleFormat, Callable[[Marks, Tokenised], list[Span]]] = {
    "token_flags": _from_flags,
    "token_indices": _from_indices,
    "token_spans": _from_token_spans,
    "char_spans": _from_char_spans,
}


def to_spans(value: Any, given: Tokenised, how: RationaleFormat) -> list[Span]:
    """The characters that a rationale marks."""
    if how == "auto":
        raise InputError("the rationale's format could not be told; set rationale_format (--rationale-format)")
    return _READERS[how](parse(value), given)


def to_links(value: Any) -> tuple[tuple[Span, Span], ...]:
    """Pairs of character spans, one of each text; a string holds JSON.

    >>> to_links("[[[0, 4], [3, 9]]]")
    (((0, 4), (3, 9)),)
    """
    given = value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_pair, pair)) for pair in value
    ):
        return tuple(((int(a), int(b)), (int(c), int(d))) for (a, b), (c, d) in value)
    raise InputError(f"links must be a list of [[start, end], [start, end]], got {given!r:.80}")


def replaced(first: str, second: str) -> tuple[tuple[Span, Span], ...]:
    """Where two texts that are otherwise alike differ: each run of words, and the run that stands in its place.

    >>> replaced("a man sleeps", "an old man sleeps")
    (((0, 1), (0, 6)),)
    """
    words = [split_tokens(text) for text in (first, second)]
    alike = SequenceMatcher(
        None, [first[start:end] for start, end in words[0]], [second[start:end] for start, end in words[1]], False
    )
    return tuple(
        ((words[0][i][0], words[0][j - 1][1]), (words[1][k][0], words[1][m - 1][1]))
        for how, i, j, k, m in alike.get_opcodes()
        if how == "replace"
    )


def merge(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same characters in spans that are in order and do not overlap.

    >>> merge([(5, 9), (0, 3), (2, 4)])
    ((0, 4), (5, 9))
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def fitting(value: Any, given: Tokenised) -> set[RationaleFormat]:
    """The formats in which a rationale makes sense for this text; none where it marks nothing or is damaged."""
    fits: set[RationaleFormat] = set()
    try:
        marks = parse(value)
    except InputError:
        return fits
    for how, reader in _READERS.items() if marks else ():
        try:
            reader(marks, given)
        except InputError:
            continue
        fits.add(how)
    return fits
