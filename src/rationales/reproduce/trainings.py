"""Trainings that a part of a table is made of: several at once; what is finished is kept until the part is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from rationales.data import Example
from rationales.explanation.files import replacing
from rationales.models import Model, predict, rounds


class Training(Protocol):
    """One training and what is measured of it."""

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from others, as plain JSON."""
        ...


Job = TypeVar("Job", bound=Training)


def for_each(
    work: Callable[[Job], Any], todo: Sequence[Job], folder: Path, workers: int, done: Callable[[Job], None]
) -> list[Any]:
    """What `work` finds in each, as plain JSON, in their order; one that is in the folder already is not done again.

    With several workers, each is in a process of its own. If one fails the others are finished first; if this one is
    stopped, so are they.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{_digest(job.identity)}.json" for job in todo]

    def keep(number: int, result: Any) -> None:
        with replacing(files[number]) as beside:
            beside.write_text(json.dumps(result), encoding="utf-8")
        done(todo[number])

    missing = [number for number, file in enumerate(files) if not file.exists()]
    if workers == 1:
        for number in missing:
            keep(number, work(todo[number]))
    else:
        failures: list[Exception] = []
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            waiting = {pool.submit(work, todo[number]): number for number in missing}
            try:
                for ended in as_completed(waiting):
                    if isinstance(failure := ended.exception(), Exception):
                        failures.append(failure)
                    else:
                        keep(waiting[ended], ended.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in active_children():
                    process.terminate()
                raise
        if failures:
            raise failures[0]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def answered(model: Model, examples: Iterable[Example]) -> list[int]:
    """The number of the class that a model says of each text."""
    said: list[int] = []
    with torch.no_grad(), model.borrowed():
        for part in rounds(model, examples):
            said += predict(model, model.encode(part, warn=False)).argmax(-1).tolist()
    return said


def _digest(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
