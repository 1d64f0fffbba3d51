"""Training data, encoded once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rationales.models import Batch, Model, TransformersClassifier
from rationales.models.tokenising import cut_message
from rationales.train.labels import Part

Numbers: TypeAlias = NDArray[np.integer[Any]]

AT_ONCE = 1024


def encoded_parts(model: Model, part: Part, what: str, *, warn: bool) -> Iterator[Batch]:
    """The texts in order; at the end it is said how many had to be cut, to whom called the recipe."""
    cut = 0
    for start in range(0, len(part.examples), AT_ONCE):
        batch = model.encode(part.examples[start : start + AT_ONCE], warn=False)
        cut += sum(source.cut for source in batch.sources)
        yield batch
    if cut and warn:
        message = cut_message(cut, len(part.examples), model.max_length)
        warnings.warn(f"{what} data: {message}", stacklevel=5)


class EncodedTexts:
    """The texts of a part as numbers, in little memory, from which any of them make a batch at once.

    Tokens as explanations have them are not kept: `sources` of these batches are empty.
    """

    def __init__(self, model: TransformersClassifier, part: Part, what: str, *, warn: bool) -> None:
        self.model, self.targets = model, part.targets
        self.lengths: list[int] = []
        ids: list[Numbers] = []
        segments: list[Numbers] = []
        types: list[Numbers] = []
        for batch in encoded_parts(model, part, what, warn=warn):
            self.lengths += batch.lengths.tolist()
            ids.append(_flat(batch.ids, batch.keep, np.int32))
            segments.append(_flat(batch.segments, batch.keep, np.int8))
            if batch.types is not None:
                types.append(_flat(batch.types, batch.keep, np.int8))
        self._ends = np.cumsum([0, *self.lengths])
        self._ids, self._segments = np.concatenate(ids), np.concatenate(segments)
        self._types = np.concatenate(types) if types else None

    def batch(self, rows: Sequence[int], *, multiple: int = 1) -> tuple[Batch, Tensor]:
        """These texts, on the model's device, padded to a multiple of so many tokens if the model takes as many; and
        what is to be predicted for each.
        """

        def taken(whole: Numbers) -> list[Numbers]:
            return [whole[self._ends[row] : self._ends[row + 1]] for row in rows]

        types = None if self._types is None else taken(self._types)
        longest = max(self.lengths[row] for row in rows)
        width = min(-(-longest // multiple) * multiple, self.model.max_length)
        batch = self.model.collated(taken(self._ids), taken(self._segments), types, width)
        return batch, self.targets[list(rows)].to(batch.ids.device)


def _flat(numbers: Tensor, keep: Tensor, kind: type[np.integer[Any]]) -> Numbers:
    """Those that are not padding, one text behind the other."""
    return numbers[keep].cpu().numpy().astype(kind)
