"""Which words of two texts may be linked, by the roles that they play."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from rationales.explanation.types import BoolArray
from rationales.guidance.roles import Labelled

Outside: TypeAlias = Literal["none", "each_other"]
"""What words that take part in no frame of their text, such as auxiliaries and punctuation, may be linked with: with
nothing, as the paper draws it, or with each other."""


def role_links(first: Labelled, second: Labelled, outside: Outside = "none") -> BoolArray:
    """Word pairs that may be linked, [words of the first, words of the second].

    These are predicates with the same lemma, and the words that play the same role in both. Texts that share no
    predicate are left alone: there all words may be linked.
    """
    keep = np.zeros((len(first.words), len(second.words)), dtype=np.bool_)
    shared = [(one, other) for one in first.frames for other in second.frames if one.lemma == other.lemma]
    if not shared:
        return ~keep
    for one, other in shared:
        keep[one.predicate, other.predicate] = True
        for role in one.roles.keys() & other.roles.keys():
            keep[np.ix_(one.roles[role], other.roles[role])] = True
    if outside == "each_other":
        keep[np.ix_(_outside(first), _outside(second))] = True
    return keep


def _outside(labelled: Labelled) -> list[int]:
    taking_part = frozenset[int]().union(*(frame.words for frame in labelled.frames))
    return [word for word in range(len(labelled.words)) if word not in taking_part]
