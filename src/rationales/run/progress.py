"""Bars for long work, on standard error, for whoever is watching; or plain lines, for whoever reads them later."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

PAUSE = 10.0
"""Seconds from one line to the next, where nobody watches a bar."""


def _bar(columns: Iterable[ProgressColumn], wanted: bool | None) -> Progress:
    """A bar, if it is wanted or somebody is watching.

    What is printed meanwhile goes above the bar, but not what somebody catches from standard output.
    """
    shown = sys.stderr.isatty() if wanted is None else wanted
    console = Console(stderr=True, force_terminal=wanted or None)
    caught = not sys.stdout.isatty()
    return Progress(*columns, console=console, disable=not shown, transient=True, redirect_stdout=not caught)


@contextmanager
def progress_bar(title: str, total: int | None, wanted: bool | None) -> Iterator[Any]:
    """A bar that counts texts."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("texts"), TimeRemainingColumn())
    with _bar(columns, wanted) as bar:
        task = bar.add_task(title, total=total)
        yield lambda number: bar.advance(task, number)


class Steps:
    """A bar over several kinds of work, of which one text may cost a thousand times what another does.

    The time left is what each kind has still to do, times what it has cost so far. Where standard error is no terminal,
    lines say the same: at most one in `PAUSE` seconds, and one for each kind that is finished.
    """

    def __init__(self, kinds: Iterable[Hashable], texts: int, wanted: bool | None) -> None:
        self.left = dict.fromkeys(kinds, texts)
        self.spent: dict[Hashable, list[float]] = {}  # seconds and texts
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self._bar = _bar((*columns, TextColumn("{task.fields[left]}")), wanted)
        self._total = texts * len(self.left)
        self._task = self._bar.add_task("comparing", total=self._total, left="")
        self._title = "comparing"
        self._in_lines = wanted is None and not sys.stderr.isatty()
        self._said = monotonic()  # when the last line was written

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, title: str) -> None:
        """Say what is being done."""
        self._title = title
        self._bar.update(self._task, description=title)
        self._say()

    def done(self, kind: Hashable, texts: int, seconds: float | None) -> None:
        """So many texts of a kind are done; None seconds: they had been done before."""
        self.left[kind] -= texts
        if seconds is not None:
            spent = self.spent.setdefault(kind, [0.0, 0])
            spent[0], spent[1] = spent[0] + seconds, spent[1] + texts
        self._bar.update(self._task, advance=texts, left=self._time_left())
        self._say(finished=seconds is not None and not self.left[kind])

    def remaining(self) -> float | None:
        """Seconds, or None while nothing is known."""
        rates = {kind: seconds / texts for kind, (seconds, texts) in self.spent.items()}
        if not rates:
            return None
        usual = sum(rates.values()) / len(rates)
        return sum(texts * rates.get(kind, usual) for kind, texts in self.left.items())

    def _time_left(self) -> str:
        seconds = self.remaining()
        return "" if seconds is None else f"{timedelta(seconds=round(seconds))} left"

    def _say(self, *, finished: bool = False) -> None:
        if not self._in_lines or (not finished and monotonic() - self._said < PAUSE):
            return
        done = f"{self._total - sum(self.left.values())} of {self._total} explanations done"
        title = f"{self._title} finished" if finished else self._title
        print(", ".join(filter(None, [f"{title}: {done}", self._time_left()])), file=sys.stderr, flush=True)
        self._said = monotonic()
