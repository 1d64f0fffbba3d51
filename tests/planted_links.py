"""A model of two texts whose answer is decided by the link between two words, and pairs of which one link decides."""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

from rationales.data.example import Example
from rationales.models.pairs import Architecture, PairClassifier
from rationales.models.pairs.networks import Side
from rationales.models.pairs.pair_classifier import Network
from rationales.models.rationalizer.words import SPECIAL, word_tokenizer

FILLERS = ("the", "a", "is", "red", "big", "old", "so")
SAME, OTHER, NOTHING = LABELS = ("same", "other", "nothing")
OPPOSITES = {"dog": "cat", "up": "down"}
WORDS = (*FILLERS, *OPPOSITES, *OPPOSITES.values())


class Meeting(nn.Module):
    """Adds the effects of all words that meet: of a word with itself on "same", with its opposite on "other"."""

    def __init__(self) -> None:
        super().__init__()
        number = {word: place for place, word in enumerate(WORDS, start=len(SPECIAL))}
        effects = torch.zeros(len(LABELS), len(number) + len(SPECIAL), len(number) + len(SPECIAL))
        for word, opposite in OPPOSITES.items():
            effects[LABELS.index(SAME), number[word], number[word]] = 4.0
            effects[LABELS.index(OTHER), number[word], number[opposite]] = 4.0
        self.register_buffer("effects", effects)
        self.register_buffer("bias", torch.tensor([0.0, 0.0, 1.0]))

    def forward(self, first: Side, second: Side, alignment: Tensor | None = None) -> Tensor:
        meeting = torch.einsum("bpv,cvw,bhw->bcph", first.vectors, self.effects, second.vectors)
        return (meeting if alignment is None else meeting * alignment.unsqueeze(1)).sum((2, 3)) + self.bias


def planted_model(name: str = "planted") -> PairClassifier:
    """It knows words by vectors of which one number is 1."""
    size = len(WORDS) + len(SPECIAL)
    vectors = nn.Embedding.from_pretrained(torch.eye(size))
    architecture = Architecture("da", LABELS, size, vector_size=size)
    return PairClassifier(Network(vectors, Meeting()), word_tokenizer(WORDS), architecture, name=name)  # type: ignore[arg-type]


def planted_pairs(size: int, seed: int = 0) -> list[Example]:
    """Texts of two to five words with one deciding word each, which may be anywhere."""
    drawn = random.Random(seed)

    def text(word: str) -> str:
        words = drawn.choices(FILLERS, k=drawn.randint(1, 4))
        words.insert(drawn.randint(0, len(words)), word)
        return " ".join(words)

    pairs = []
    for number in range(size):
        word, opposite = drawn.choice(list(OPPOSITES.items()))
        pairs.append(Example(f"{seed}-{number}", (text(word), text(word if number % 2 else opposite))))
    return pairs


def deciding(example: Example) -> tuple[int, int]:
    """The cell of the link that decides."""
    first, second = (text.split() for text in example.texts)
    return tuple(next(n for n, word in enumerate(side) if word not in FILLERS) for side in (first, second))  # type: ignore[return-value]
