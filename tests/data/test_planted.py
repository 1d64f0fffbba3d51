"""The planted sets: same seed, same texts; marks on the right words; English; and no way round the planted evidence."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from rationales.data.example import Example
from rationales.data.gold import gold_alignment, gold_selection, gold_sentences
from rationales.data.planted import ASPECTS, PAIR_LABELS, REVIEW_LABELS, pairs, reviews
from rationales.data.planted import pairs as pairs_of_seed
from rationales.data.planted.pairs import _AGENTS, _COLOURS, _PLACES, _SCENES, _TIMES
from rationales.data.planted.reviews import _NEGATIONS, SHARED_OPINIONS, VOCABULARY
from rationales.errors import InputError
from rationales.explanation.types import Alignment, Selection, Sentence

OPINIONS = [{word for v in VOCABULARY.values() for word in v.opinions[side]} | {*SHARED_OPINIONS[side]} for side in (0, 1)]
MAKERS = pytest.mark.parametrize("make", [reviews, pairs], ids=["reviews", "pairs"])


def spans(example: Example, segment: int = 0) -> list[str]:
    assert example.rationale is not None
    return [example.texts[segment][start:end] for start, end in example.rationale[segment]]


def digest(examples: list[Example]) -> str:
    rows = [(e.id, e.texts, e.label, e.rationale, e.alignment, e.sentences, sorted(e.meta)) for e in examples]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


# Both sets


@MAKERS
def test_the_same_seed_gives_the_same_examples_and_another_seed_does_not(make):
    assert list(make(50, seed=3)) == list(make(50, seed=3))
    assert not {e.texts for e in make(50, seed=3)} & {e.texts for e in make(50, seed=4)}


def test_examples_do_not_depend_on_the_process():
    here = digest([*reviews(200, seed=5), *pairs(200, seed=5)])
    program = (
        "from tests.data.test_planted import digest, pairs, reviews\n"
        "print(digest([*reviews(200, seed=5), *pairs(200, seed=5)]))"
    )
    program = "import sys; sys.path.insert(0, '.')\n" + program
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        there = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here
