"""Toy texts as files, and explanations of them that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from test_classifier import BAD, GOOD

from rationales.data import Example
from rationales.explanation import Explanation, Provenance, Scores, Target
from rationales.explanation.views import word_tokens

LABELS = ("negative", "positive")
DECIDING = {*GOOD, *BAD}


def scored(texts: str | tuple[str, ...], values: list[float], tokens: Any = None, **options: Any) -> Explanation:
    """Scores of words, unless other tokens are given."""
    texts = (texts,) if isinstance(texts, str) else texts
    options = {"id": "a", "target": Target(0, "bad", 0.9), "method": "hand", "params": {}, "model": "m", **options}
    return Explanation(
        options["id"],
        texts,
        tuple(word_tokens(texts) if tokens is None else tokens),
        options["target"],
        Scores(np.array(values, dtype=float)),
        Provenance(options["method"], options["params"], options["model"], None, "0"),
    )


def deciding(example: Example, **options: Any) -> Explanation:
    """The word that decides has the highest score."""
    return scored(
        example.texts,
        [1.0 if word in DECIDING else 0.0 for text in example.texts for word in text.split()],
        id=example.id,
        **options,
    )


def write(path: Path, examples: list[Example], labelled: bool = True) -> str:
    rows = [{"text": each.texts[0], **({"label": LABELS[each.label]} if labelled else {})} for each in examples]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)
