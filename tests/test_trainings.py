"""Trainings of a table: what is finished is kept, in one process and in several."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rationales.errors import InputError, QualityWarning
from rationales.reproduce.trainings import for_each


@dataclass(frozen=True)
class Toy:
    """Leaves a mark each time it is done."""

    number: int
    marks: Path
    fails: bool = False

    @property
    def title(self) -> str:
        return f"number {self.number}"

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": self.title}


def work(toy: Toy) -> dict[str, int]:
    """In this process or another."""
    with (toy.marks / f"{toy.number}").open("a") as file:
        file.write("x")
    if toy.fails:
        raise KeyError(toy.number)
    return {"square": toy.number**2}


def quick_or_slow(toy: Toy) -> int:
    """One is done once the other runs, which would take a minute."""
    (toy.marks / f"{toy.number}").write_text(str(os.getpid()))
    if toy.number:
        time.sleep(60)
    while sum(mark.stat().st_size > 0 for mark in toy.marks.iterdir()) < 2:  # written, and not only begun
        time.sleep(0.05)
    return 0


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def times(marks: Path) -> list[int]:
    """How often each was done."""
    return [len(file.read_text()) for file in sorted(marks.iterdir())]


def test_what_is_finished_is_not_done_again(tmp_path: Path, marks: Path) -> None:
    told: list[str] = []

    def run(numbers: list[int], failing: int | None = None) -> list[Any]:
        todo = [Toy(number, marks, number == failing) for number in numbers]
        return for_each(work, todo, tmp_path / "kept", 1, told.append)

    assert run([1, 0]) == [{"square": 1}, {"square": 0}]
    assert told == ["number 1: 1 of 2 are done", "number 0: 2 of 2 are done"]
    with pytest.warns(QualityWarning, match="number 2 failed: KeyError"), pytest.raises(KeyError):
        run([0, 1, 2], failing=2)
    told.clear()
    assert run([2, 1, 0]) == [{"square": 4}, {"square": 1}, {"square": 0}]
    assert told[-1] == "number 2: 3 of 3 are done"
    assert times(marks) == [1, 1, 2]


def test_when_one_fails_the_others_are_finished(tmp_path: Path, marks: Path) -> None:
    todo = [Toy(0, marks, fails=True), Toy(1, marks), Toy(2, marks)]
    with pytest.warns(QualityWarning, match="number 0 failed"), pytest.raises(KeyError):
        for_each(work, todo, tmp_path / "kept", 2, lambda _line: None)
    assert for_each(work, todo[1:], tmp_path / "kept", 2, lambda _line: None) == [{"square": 1}, {"square": 4}]
    assert times(marks) == [1, 1, 1]


def test_bad_input_is_said_at_once(tmp_path: Path, marks: Path) -> None:
    def refuse(toy: Toy) -> None:
        (toy.marks / f"{toy.number}").write_text("x")
        raise InputError("no such data")

    with pytest.raises(InputError, match="no such data"):
        for_each(refuse, [Toy(0, marks), Toy(1, marks)], tmp_path / "kept", 1, lambda _line: None)
    assert times(marks) == [1]


def test_when_it_is_stopped_nothing_goes_on(tmp_path: Path, marks: Path) -> None:
    def stop(_line: str) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for_each(quick_or_slow, [Toy(0, marks), Toy(1, marks)], tmp_path / "kept", 2, stop)
    assert time.monotonic() - began < 50
    other = int((marks / "1").read_text())
    for _ in range(200):
        try:
            os.kill(other, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the other process still runs")
