"""Trainings that a part of a table is made of: several at once; what is finished is kept until the part is whole."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from rationales.data import Example
from rationales.errors import InputError, QualityWarning
from rationales.explanation.files import replacing
from rationales.models import Model, predict, rounds
from rationales.train.loop import Settings

Config = TypeVar("Config", bound=Settings, covariant=True)


@dataclass(frozen=True)
class Training(Generic[Config]):
    """One training: what it is called in the table, on which data, where these are, and on which device it runs."""

    name: str
    config: Config
    data: str
    data_dir: str
    device: str

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from others, as plain JSON."""
        return {"name": self.name, "data": self.data, **self.config.choices()}

    @property
    def title(self) -> str:
        """For those who wait for it."""
        return f"{self.data}: {self.name}, seed {self.config.seed}"


Job = TypeVar("Job", bound=Training[Settings])


def for_each(
    work: Callable[[Job], Any], todo: Sequence[Job], folder: Path, workers: int, report: Callable[[str], None]
) -> list[Any]:
    """What `work` finds in each, as plain JSON, in their order; one that is in the folder already is not done again.

    With several workers, each is in a process of its own. If one fails, the others are finished before that is raised,
    unless its process was killed; if this process is stopped, so are they.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{_digest(job.identity)}.json" for job in todo]
    failures: list[Exception] = []
    finished = 0

    def done(number: int) -> None:
        nonlocal finished
        finished += 1
        report(f"{todo[number].title}: {finished} of {len(todo)} are done")

    def take(number: int, find: Callable[[], Any]) -> None:
        try:
            result = find()
        except InputError:  # all others would fail alike
            raise
        except Exception as failure:
            warnings.warn(f"{todo[number].title} failed: {failure!r}", QualityWarning, stacklevel=4)
            failures.append(failure)
            return
        with replacing(files[number]) as beside:
            beside.write_text(json.dumps(result), encoding="utf-8")
        done(number)

    missing = []
    for number, file in enumerate(files):
        if file.exists():
            done(number)
        else:
            missing.append(number)
    if workers == 1:
        for number in missing:
            take(number, partial(work, todo[number]))
    elif missing:
        with _processes(workers) as pool:
            waiting = {pool.submit(work, todo[number]): number for number in missing}
            for ended in as_completed(waiting):
                take(waiting[ended], ended.result)
    if failures:
        raise failures[0]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


@contextmanager
def _processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """A new process for each job, so that none finds what another left; none goes on after the block."""
    others = set(active_children())
    with ProcessPoolExecutor(number, get_context("spawn"), max_tasks_per_child=1) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


def answered(model: Model, examples: Iterable[Example]) -> list[int]:
    """The number of the class that a model says of each text."""
    said: list[int] = []
    with torch.no_grad(), model.borrowed():
        for part in rounds(model, examples):
            said += predict(model, model.encode(part, warn=False)).argmax(-1).tolist()
    return said


def _digest(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
