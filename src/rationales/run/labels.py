"""The true label of a text, in the model's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rationales.data import Example
from rationales.models import Model


def true_label(example: Example, names: Sequence[str] | None, model: Model) -> str | None:
    """The label of an example as the model calls it; None where there is none, or nobody can tell which it is.

    A number is an index into `names`, the labels of the data set, or else into the model's; a model whose classes are
    themselves numbers, such as ratings from 1 to 5, has it as a name. Names are the model's if they are the same but
    for capitals. A model that was never told its names (LABEL_0, LABEL_1 …) counts as the data do. Any other name,
    which the model cannot predict, stays what it is, unless none of the data set's is known to the model: then the two
    speak of different things.
    """
    label = example.label
    if label is None or isinstance(label, float) or model.regression:
        return None
    own = {name.casefold(): name for name in model.labels}
    if isinstance(label, int):
        if not names and _rates(model):
            return str(label)
        if not names or _unnamed(model):
            return model.labels[label] if label in range(len(model.labels)) else str(label)
        if not any(name.casefold() in own for name in names):
            return None
        label = names[label] if label in range(len(names)) else str(label)
    return own.get(label.casefold(), label)


def without_other_numbers(examples: Sequence[Example], names: Sequence[str] | None, model: Model) -> Sequence[Example]:
    """The examples, without their labels if those are numbers and count something else than the model's classes.

    Of stars from 1 to 5 a model of two classes would take each 1 for its second class, and be wrong about all others.
    A model whose classes are stars knows what they are.
    """
    numbers = {example.label for example in examples if isinstance(example.label, int)}
    counted = not (names or _rates(model)) or _unnamed(model)
    if model.regression or not counted or numbers <= set(range(len(model.labels))):
        return examples
    return [replace(example, label=None) for example in examples]


def _unnamed(model: Model) -> bool:
    """Whether the model was never told what its classes are called."""
    return all(re.fullmatch(r"LABEL_\d+", name) for name in model.labels)


def _rates(model: Model) -> bool:
    """Whether the model's classes are called by numbers, and not by those that count them from 0."""
    numbers = all(re.fullmatch(r"-?\d+", name) for name in model.labels)
    return numbers and list(model.labels) != [str(place) for place in range(len(model.labels))]
