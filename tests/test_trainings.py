"""Trainings of a table: what is finished is kept, in one process and in several."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rationales.reproduce.trainings import for_each


@dataclass(frozen=True)
class Toy:
    """Leaves a mark each time it is done."""

    number: int
    marks: Path
    fails: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        return {"number": self.number}


def work(toy: Toy) -> dict[str, int]:
    """In this process or another."""
    with (toy.marks / f"{toy.number}").open("a") as file:
        file.write("x")
    if toy.fails:
        raise KeyError(toy.number)
    return {"square": toy.number**2}


def slow_or_broken(toy: Toy) -> int:
    """The first fails once the others run; they would take a minute."""
    (toy.marks / f"{toy.number}").write_text(str(os.getpid()))
    if not toy.fails:
        time.sleep(60)
    while len(list(toy.marks.iterdir())) < 2:
        time.sleep(0.05)
    raise KeyError(toy.number)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def times(marks: Path) -> list[int]:
    """How often each was done."""
    return [len(file.read_text()) for file in sorted(marks.iterdir())]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_finished_is_not_done_again(tmp_path: Path, marks: Path, workers: int) -> None:
    told: list[int] = []

    def run(numbers: list[int], failing: int | None = None) -> list[Any]:
        todo = [Toy(number, marks, number == failing) for number in numbers]
        return for_each(work, todo, tmp_path / "kept", workers, lambda toy: told.append(toy.number))

    assert run([1, 0]) == [{"square": 1}, {"square": 0}]
    assert sorted(told) == [0, 1]
    with pytest.raises(KeyError):
        run([0, 1, 2], failing=2)
    assert run([2, 1, 0]) == [{"square": 4}, {"square": 1}, {"square": 0}]
    assert times(marks) == [1, 1, 2]


def test_when_one_fails_the_others_do_not_go_on(tmp_path: Path, marks: Path) -> None:
    todo = [Toy(0, marks, fails=True), Toy(1, marks)]
    began = time.monotonic()
    with pytest.raises(KeyError):
        for_each(slow_or_broken, todo, tmp_path / "kept", 2, lambda _toy: None)
    assert time.monotonic() - began < 50
    other = int((marks / "1").read_text())
    for _ in range(200):
        try:
            os.kill(other, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the other process still runs")
