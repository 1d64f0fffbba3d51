"""Numbers as people read them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from rationales.comparison.types import Answers


def number(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, without exponents where it is of a usual size.

    >>> number(0.123456), number(-2), number(1234.5), number(1.5e-7), number(-0.0), number(float("nan"))
    ('0.123', '−2', '1,234', '1.5e−7', '0', '–')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:z.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{value:,.0f}" if 0 <= int(exponent) < 9 else f"{mantissa}e{int(exponent)}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    return text.replace("-", "−")


def numbers(values: Sequence[float]) -> list[str]:
    """What `number` makes of each; faster, since matrices have many.

    >>> numbers([0.123456, -2, 1.5e-7, -0.0, float("nan")])
    ['0.123', '−2', '1.5e−7', '0', '–']
    """
    texts = ("%.3g " * len(values) % tuple(values)).replace("-", "−").split()
    return [
        number(value) if "e" in text or "n" in text or not value else text
        for value, text in zip(values, texts, strict=True)
    ]


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign.

    >>> signed(0.5), signed(-0.5)
    ('+0.5', '−0.5')
    """
    return ("+" if value > 0 else "") + number(value, digits)


def fixed(value: float, decimals: int = 3) -> str:
    """A number with so many decimals, to stand in a column; a huge one as `number` has it.

    >>> fixed(0.5), fixed(-12.25, 1), fixed(-0.0001), fixed(1e6), fixed(float("nan"))
    ('0.500', '−12.2', '0.000', '1,000,000', '–')
    """
    if not abs(value) < 1e5:
        return number(value)
    return f"{value:z,.{decimals}f}".replace("-", "−")


def aligned(values: Sequence[float], digits: int = 10) -> list[str]:
    """Numbers along an axis, to so many significant digits: all with the decimals of the one that has most.

    >>> aligned([-0.05, 0, 0.05, 0.1]), aligned([0, 100 / 3, 50], digits=3), aligned([0, 2e-9])
    (['−0.05', '0.00', '0.05', '0.10'], ['0.0', '33.3', '50.0'], ['0', '2e−9'])
    """
    rounded = [float(f"{value:.{digits}g}") for value in values]
    if not max(map(abs, rounded), default=0) >= 1e-6:
        return list(map(number, values))
    decimals = max(len(f"{value:.8f}".rstrip("0").partition(".")[2]) for value in rounded)
    return [fixed(value, decimals) for value in rounded]


def answered(answers: Answers) -> str:
    """How often a model is right.

    >>> answered(Answers(200, 0.915, 0.9134))
    'right on 91.5 % of 200 texts, macro-F1 0.913'
    """
    share = fixed(100 * answers.accuracy, 1)
    return f"right on {share} % of {counted(answers.count, 'text')}, macro-F1 {fixed(answers.macro_f1)}"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "text"), counted(5000, "text")
    ('1 text', '5,000 texts')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def options_line(options: Mapping[str, object]) -> str:
    """Options as a short line.

    >>> options_line({"steps": 50, "rule": "gauss"})
    'steps=50, rule=gauss'
    """
    return ", ".join(f"{name}={_value(value)}" for name, value in options.items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
