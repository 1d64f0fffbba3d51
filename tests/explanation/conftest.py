from pathlib import Path

import pytest
from samples import simple

from rationales.explanation import Explanations, files


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_PER_GROUP", 7)


@pytest.fixture
def fifty(tmp_path: Path, small_groups: None) -> Explanations:
    """Fifty explanations in a file of eight row groups."""
    Explanations(map(simple, range(50))).save(tmp_path / "fifty.parquet")
    return Explanations.load(tmp_path / "fifty.parquet")
