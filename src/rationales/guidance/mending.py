"""Sentences that lead a parser up the garden path, set right where the parse cannot be.

A sentence has a main verb, and a finite verb has a subject. Where a parse leaves one without, the noun or verb that it
lacks stands in a clause next to it:

- "After the guests left the cook slept.": the parse has the guests leave the cook, and nobody sleep. The object right
  before the main verb is its subject.
- "The guard who saw the cook slept.": the parse has the cook sleep, the guard see it, and no main verb. The last verb
  is the main one, the noun its subject, and what it had for a subject the object of the verb before.
"""

from __future__ import annotations

from collections.abc import Sequence

from rationales.guidance.dependencies import OBJECTS, SUBJECTS, ParsedWord

FINITE = ("VBD", "VBZ", "VBP")


def mended(words: Sequence[ParsedWord]) -> list[ParsedWord]:
    """The parse with main verbs and their subjects, where it lacks them."""
    found = list(words)
    for root, word in enumerate(words):
        if word.head != root:
            continue
        if word.tag in FINITE and not _dependents(words, root, *SUBJECTS, "expl"):
            _give_subject(found, root)
        elif word.tag.startswith("NN"):
            _give_main_verb(found, root)
    return found


def _dependents(words: Sequence[ParsedWord], head: int, *labels: str) -> list[int]:
    return [number for number, word in enumerate(words) if word.head == head != number and word.label in labels]


def _give_subject(words: list[ParsedWord], verb: int) -> None:
    for clause in _dependents(words, verb, "advcl"):
        for noun in _dependents(words, clause, *OBJECTS):
            if clause < noun == verb - 1:
                words[noun] = words[noun]._replace(label="nsubj", head=verb)


def _give_main_verb(words: list[ParsedWord], noun: int) -> None:
    for clause in _dependents(words, noun, "relcl"):
        for verb in _dependents(words, clause, "ccomp", "xcomp"):
            if verb < clause or words[verb].tag not in (*FINITE, "VBN") or _dependents(words, verb, "mark", "aux"):
                continue
            for subject in _dependents(words, verb, *SUBJECTS):
                words[subject] = words[subject]._replace(label="dobj", head=clause)
            words[verb] = words[verb]._replace(label="ROOT", head=verb)
            words[noun] = words[noun]._replace(label="nsubj", head=verb)
            return
