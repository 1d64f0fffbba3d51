"""The planted sets under names, so that commands take them like any other data: planted-reviews, planted-pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rationales.data.columns import Columns
from rationales.data.example import Example
from rationales.data.planted.compose import Planted
from rationales.data.planted.restaurant import REVIEW_LABELS, reviews
from rationales.data.planted.scenes import PAIR_LABELS, pairs
from rationales.data.tables import Record, Table, choose_split

PLANTED: Mapping[str, tuple[Callable[..., Planted], tuple[str, ...]]] = MappingProxyType(
    {"planted-reviews": (reviews, REVIEW_LABELS), "planted-pairs": (pairs, PAIR_LABELS)}
)
SPLITS = MappingProxyType({"train": (2000, 0), "dev": (500, 1), "test": (500, 2)})
"""Size and seed of each split."""


class PlantedTable(Table):
    """A split of a planted set; its rows hold ready examples."""

    columns = ("example",)

    def __init__(self, name: str, split: str | None) -> None:
        size, seed = SPLITS[choose_split(tuple(SPLITS), split, name)]
        self.file, self._examples = name, PLANTED[name][0](size, seed=seed)

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:  # noqa: ARG002 - there is only one
        for number, example in enumerate(self._examples, start=1):
            yield Record(self.file, number, {"example": example})


@dataclass(frozen=True)
class Ready:
    """Takes the examples out of the rows of a `PlantedTable`, as a `Converter` makes them of other rows."""

    labels: tuple[str, ...]
    columns: Columns = field(default_factory=Columns)

    def __call__(self, record: Record) -> Example:
        example = record.values["example"]
        assert isinstance(example, Example)
        return example
