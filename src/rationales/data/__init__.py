"""Data sets → `Example`s: files, directories, named sets and the hub through `load`, and what people said about why."""

from rationales.data.catalogue import named_sets
from rationales.data.columns import Columns
from rationales.data.dataset import Dataset, load
from rationales.data.example import Example, Span
from rationales.data.gold import gold_alignment, gold_selection, gold_sentences
from rationales.data.named import NamedSet

__all__ = [
    "Columns",
    "Dataset",
    "Example",
    "NamedSet",
    "Span",
    "gold_alignment",
    "gold_selection",
    "gold_sentences",
    "load",
    "named_sets",
]
