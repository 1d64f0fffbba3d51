"""Text from outside made fit for HTML: the one way in which texts, labels, ids and names get onto a page.

Whatever goes through a template is cleaned and escaped on its way out, so that no template can forget it; code that
writes HTML itself calls `escaped`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def shown(text: str) -> str:
    """Characters that HTML or UTF-8 cannot hold become visible, or a space if they are one; others stay.

    Each character becomes one character, so that offsets stay what they are.

    >>> shown("a\\x00b\\r\\n<c>")
    'a�b \\n<c>'
    """
    return _UNFIT.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    return " " if found[0].isspace() else "\ufffd"


def escaped(text: str) -> Markup:
    """A text as HTML, for an element or for an attribute in quotation marks."""
    return escape(_UNFIT.sub(_replaced, text))


def _clean(value: Any) -> Any:
    return value if isinstance(value, Markup) else shown(str(value))


@cache
def environment() -> Environment:
    """The templates of this package; every expression in them is cleaned and escaped unless it is `Markup`."""
    return Environment(
        loader=PackageLoader("rationales.report", "assets"),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def asset(name: str) -> str:
    """A file of this package, as it is: our own CSS or JavaScript."""
    loader = environment().loader
    assert loader is not None
    return loader.get_source(environment(), name)[0]
