"""What stands in for CUDA's graphs in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from rationales.train import replay


class Again:
    """A graph that computes again what it saw, into the same tensors."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run, self.times = run, 0
        self.loss, self.figures, self.places = run()

    def replay(self) -> None:
        self.times += 1
        with torch.enable_grad():
            loss, figures, _ = self.run()
        self.loss.copy_(loss)
        for name, figure in figures.items():
            self.figures[name].copy_(figure)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Again]:
    """Graphs that are recorded in this test."""
    made: list[Again] = []

    class Recorder:
        def __init__(self, _device: torch.device) -> None: ...

        def record(self, run: Callable[[], Any]) -> tuple[Again, Any]:
            made.append(Again(run))
            return made[-1], (made[-1].loss, made[-1].figures, made[-1].places)

    monkeypatch.setattr(replay, "recordable", lambda _device: True)
    monkeypatch.setattr(replay, "Recorder", Recorder)
    return made
