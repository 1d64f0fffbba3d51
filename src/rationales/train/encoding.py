"""Training data, encoded some texts at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from rationales.models import Batch, Model
from rationales.models.tokenising import cut_message
from rationales.train.labels import Part

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
