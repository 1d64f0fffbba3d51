"""Train, extract, measure and show explanations of neural text models.

>>> import rationales
>>> rationales.__version__
'0.1.0'

The main calls are `rationales.explain(model, texts)`, `rationales.compare(model, data)` and
`rationales.evaluate(model, explanations, metrics)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rationales.comparison import Comparison, Grid
    from rationales.explanation import Explanation, Explanations
    from rationales.models import load as load_model
    from rationales.run import compare, evaluate, explain

__all__ = [
    "Comparison",
    "Explanation",
    "Explanations",
    "Grid",
    "__version__",
    "compare",
    "evaluate",
    "explain",
    "load_model",
]

_HOMES = {
    "Comparison": ("rationales.comparison", "Comparison"),
    "Explanation": ("rationales.explanation", "Explanation"),
    "Explanations": ("rationales.explanation", "Explanations"),
    "Grid": ("rationales.comparison", "Grid"),
    "compare": ("rationales.run", "compare"),
    "evaluate": ("rationales.run", "evaluate"),
    "explain": ("rationales.run", "explain"),
    "load_model": ("rationales.models", "load"),
}


def __getattr__(name: str) -> Any:
    """Import on first use: reading a file of explanations should not load PyTorch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rationales' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
