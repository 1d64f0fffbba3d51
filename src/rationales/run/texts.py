"""What users give as texts and as a method → examples and an explainer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers import AnyExplainer, method_named

Text: TypeAlias = str | tuple[str, str] | Example
Method: TypeAlias = str | AnyExplainer


def as_examples(texts: Text | Iterable[Text]) -> Iterator[Example]:
    """A text, a pair, or any number of texts, pairs and examples → examples; those without an id get their number."""
    if isinstance(texts, str | Example) or is_pair(texts):
        texts = [texts]  # type: ignore[list-item]
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InputError(
            f"texts must be a string, a pair of strings, an Example, or many of these; got {type(texts).__name__}"
        )
    for number, text in enumerate(texts):
        if isinstance(text, Example):
            yield text
        elif isinstance(text, str):
            yield Example(str(number), (text,))
        elif is_pair(text):
            yield Example(str(number), (text[0], text[1]))
        else:
            raise InputError(f"text {number} must be a string, a pair of strings or an Example, got {text!r:.80}")


def is_pair(text: object) -> bool:
    """Whether this is two texts that belong together."""
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(side, str) for side in text)


def as_explainer(method: Method) -> AnyExplainer:
    """A method by name, with its defaults, or as it is."""
    if isinstance(method, str):
        return method_named(method)()
    if not isinstance(method, AnyExplainer):
        raise InputError(f"a method is a name or an explainer such as IntegratedGradients(steps=100), got {method!r}")
    return method


def check_same_texts(directory: Path, what: str, there: Sequence[tuple[str, ...]], examples: Iterable[Example]) -> None:
    """Refuse to put something made of quite other texts in the place of what is there."""
    if there and not set(there) & {example.texts for example in examples}:
        raise InputError(
            f"{directory} holds {what} other texts, such as {there[0][0]!r:.60}; give another directory (--out), or "
            "delete that one"
        )
