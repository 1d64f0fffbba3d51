"""Explanations to test with, and a way to compare them."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from rationales.explanation import (
    Alignment,
    Explanation,
    Explanations,
    Provenance,
    Scores,
    Selection,
    Sentence,
    Target,
    Token,
)
from rationales.explanation.types import Body
from rationales.explanation.views import word_tokens

ODD = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 0.1, -1.7976931348623157e308]
ALPHABET = list('ab "\\\n\t\u2028\x00\x7féß好😀\U000e0001')


def plain(value: Any) -> Any:
    """Everything an explanation holds, as something that compares bit by bit (but for the kinds of NaN)."""
    match value:
        case float():
            return "nan" if math.isnan(value) else value.hex()
        case np.ndarray():
            return str(value.dtype), value.shape, [plain(item) for item in value.ravel().tolist()]
        case str() | bool() | int() | None:
            return value
        case tuple():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case Explanation() | Provenance() | Token() | Target() | Scores() | Selection() | Alignment() | Sentence():
            return type(value).__name__, [plain(getattr(value, name)) for name in value.__dataclass_fields__]
        case _:  # a mapping proxy
            return plain(dict(value))


def random_explanations(seed: int, size: int) -> list[Explanation]:
    rng = np.random.default_rng(seed)

    def word(longest: int = 12) -> str:
        return "".join(rng.choice(ALPHABET, size=rng.integers(0, longest + 1)))

    def floats(*shape: int) -> np.ndarray:
        return np.where(rng.random(shape) < 0.3, rng.choice(ODD, size=shape), rng.normal(size=shape))

    def one() -> Explanation:
        texts = tuple(word(30) for _ in range(rng.integers(1, 3)))
        tokens = (Token("[CLS]", -1, 0, 0), *word_tokens(texts))[rng.integers(2) :]
        sides = [sum(token.segment == side for token in tokens) for side in (0, 1)]
        n, maybe = len(tokens), bool(rng.integers(2))
        body: Body
        match rng.integers(4):
            case 0:
                body = Scores(floats(n), floats(n) if maybe else None)
            case 1:
                body = Selection(rng.random(n) < 0.5)
            case 2:
                body = Alignment(floats(*sides), rng.random(sides) < 0.5 if maybe else None)
            case _:
                body = Sentence(word(), floats(*rng.integers(0, 4, size=2)) if maybe else None)
        params = {word(): word(), "odd": tuple(ODD), "deep": {"a": (1, None, True, "NaN", {"b": math.nan})}}
        seed = None if maybe else int(rng.integers(-(2**63), 2**63))
        made = Provenance(word(), params, word(), seed, word())
        checks = {f"{number}{word()}": float(value) for number, value in enumerate(floats(rng.integers(3)))}
        return Explanation(
            word(), texts, tokens, Target(int(rng.integers(-1, 9)), word(), floats()[()]), body, made, checks
        )

    return [one() for _ in range(size)]


def simple(number: int, body: Body | None = None) -> Explanation:
    texts = (f"number {number} was a good one and not a bad one",)
    tokens = word_tokens(texts)
    made = Provenance("random", {"seed": 0})
    return Explanation(str(number), texts, tokens, Target(0, "x"), body or Scores(np.full(len(tokens), number)), made)


def ids(explanations: Any) -> list[int]:
    return [int(explanation.id) for explanation in explanations]


def there_and_back(explanations: list[Explanation], path: Path) -> Explanations:
    if path.suffix == ".parquet":
        Explanations(explanations).save(path)
        return Explanations.load(path)
    Explanations(explanations).to_jsonl(path)
    return Explanations.from_jsonl(path)
