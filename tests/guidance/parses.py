"""Dependency parses written by hand: form/lemma/tag/label/head for each word."""

from __future__ import annotations

from rationales.guidance.dependencies import Extent, ParsedWord, frames
from rationales.guidance.roles import Frame, Labelled


def parsed(written: str) -> list[ParsedWord]:
    parts = [word.split("/") for word in written.split()]
    return [ParsedWord(form, lemma, tag, label, int(head)) for form, lemma, tag, label, head in parts]


def labelled(written: str) -> tuple[str, Labelled]:
    """The text, its words between single spaces, and its frames."""
    words = parsed(written)
    spans, place = [], 0
    for word in words:
        spans.append((place, place + len(word.text)))
        place += len(word.text) + 1
    return " ".join(word.text for word in words), Labelled(tuple(spans), frames(words))


def roles(words: list[ParsedWord], extent: Extent = "core") -> dict[str, dict[str, str]]:
    """Lemma → role → the words that play it."""

    def spelled(frame: Frame) -> dict[str, str]:
        return {role: " ".join(words[number].text for number in numbers) for role, numbers in frame.roles.items()}

    return {frame.lemma: spelled(frame) for frame in frames(words, extent)}


SWAPPED = (
    "The/the/DT/det/1 nurse/nurse/NN/nsubj/2 paid/pay/VBD/ROOT/2 the/the/DT/det/4 guard/guard/NN/dobj/2 ./././punct/2",
    "The/the/DT/det/1 guard/guard/NN/nsubj/2 paid/pay/VBD/ROOT/2 the/the/DT/det/4 nurse/nurse/NN/dobj/2 ./././punct/2",
)
PASSIVE = (
    "The/the/DT/det/1 guard/guard/NN/nsubjpass/3 was/be/VBD/auxpass/3 paid/pay/VBN/ROOT/3 by/by/IN/agent/3 "
    "the/the/DT/det/6 nurse/nurse/NN/pobj/4 ./././punct/3"
)
