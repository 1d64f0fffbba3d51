"""One row of a data set: the texts, the label, and what people said about why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from rationales.errors import InputError

Span: TypeAlias = tuple[int, int]
"""Characters [start, end) of a text."""


@dataclass(frozen=True, slots=True)
class Example:
    """One text, a pair, or a question with choices.

    `texts` has one entry (single text), two (a pair), or the question alone when there are `choices`.
    `label` is a class index, a class name, a number (regression), the index of the right choice, or None.
    `rationale` holds, for each text, the character spans people marked; None: nobody was asked, () for a text: nothing
    in it was marked. `alignment` links a span of text 0 with a span of text 1. `sentences` are reasons in words.
    """

    id: str
    texts: tuple[str, ...]
    label: int | float | str | None = None
    choices: tuple[str, ...] = ()
    rationale: tuple[tuple[Span, ...], ...] | None = None
    alignment: tuple[tuple[Span, Span], ...] | None = None
    sentences: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.texts, tuple) or not all(isinstance(text, str) for text in self.texts):
            raise InputError(f"texts must be a tuple of strings, got {self.texts!r}")
        for text in self.texts:
            if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
                raise InputError(f"a text is not Unicode that can be written: {text!r:.80}; decode it as UTF-8 first")
        if not 1 <= len(self.texts) <= 2:
            raise InputError(f"an example has one text or two, got {len(self.texts)}")
        object.__setattr__(self, "meta", MappingProxyType(dict(self.meta)))
        if self.rationale is not None:
            if len(self.rationale) != len(self.texts):
                raise InputError(f"rationales for {len(self.rationale)} texts, but there are {len(self.texts)}")
            for segment, spans in enumerate(self.rationale):
                for span in spans:
                    self._check(span, segment)
        for left, right in self.alignment or ():
            self._check(left, 0)
            self._check(right, 1)

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not pickle, and worker processes need it to
        parts = (self.id, self.texts, self.label, self.choices, self.rationale, self.alignment, self.sentences)
        return Example, (*parts, dict(self.meta))

    def _check(self, span: Span, segment: int) -> None:
        start, end = span
        if segment >= len(self.texts) or not 0 <= start < end <= len(self.texts[segment]):
            size = len(self.texts[segment]) if segment < len(self.texts) else 0
            raise InputError(f"span [{start}, {end}) does not lie in text {segment} of {size} characters")
