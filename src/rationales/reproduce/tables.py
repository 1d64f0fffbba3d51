"""A table of a paper, repeated part by part: what is finished is kept, and a run that was stopped goes on there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rationales.errors import InputError
from rationales.explanation.files import replacing
from rationales.registry import Registry, option
from rationales.results import Row, made_now, write

Found: TypeAlias = list[dict[str, Any]]

SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Options:
    """What every table lets its user choose."""

    out: Path = option(Path("results"), "Directory for the table; finished parts are kept in a folder beside it.")
    data_dir: str = option("", "Directory of the data sets; else the environment variable RATIONALES_DATA.")
    vectors: str = option("", "File of word vectors (GloVe), for tables of networks on words.")
    encoder: str = option("", "Directory or hub name of a pretrained encoder, for tables of Transformers encoders.")
    seeds: tuple[int, ...] = option(SEEDS, "Seeds; figures are means over them.")
    updates: int = option(0, "Steps of training; 0: as many as the table needs.")
    parts: tuple[str, ...] = option((), "Parts of the table to compute; none: all.")
    device: str = option("", "Such as cuda or cpu; empty: the best there is.")
    models: str = option("", "Directory for trained models, which tables may share; empty: a folder in `out`.")
    workers: int = option(1, "Trainings at once, each in a process of its own, for tables that have many.")
    overwrite: bool = option(False, "Compute finished parts anew.")

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise InputError(f"seeds must be different numbers from 0 up, got {', '.join(map(str, self.seeds))}")
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")

    def folder(self, table: str, part: str) -> Path:
        """Where a part may keep what it needs until it is finished."""
        return Path(self.out) / table / part

    @property
    def identity(self) -> dict[str, Any]:
        """What tells figures from others, as plain JSON."""
        names = {"vectors": Path(self.vectors).name, "encoder": Path(self.encoder).name}
        return {"seeds": list(self.seeds), "updates": self.updates, **names}


@dataclass(frozen=True)
class Table:
    """How to repeat one table.

    `compute` gives the figures of a part as plain JSON, one entry for each run; `rows` makes the table of all of them.
    `seeds` are those of trainings, unless the user gives others.
    """

    name: str
    about: str
    parts: tuple[str, ...]
    compute: Callable[[str, Options, Callable[[str], None]], Found]
    rows: Callable[[Found], Sequence[Row]]
    seeds: tuple[int, ...] = SEEDS


tables: Registry[Table] = Registry("table")


def reproduce(table: Table, options: Options, report: Callable[[str], None]) -> Path:
    """Compute the parts that are wanted and missing, and write the table of all that are there."""
    wanted = options.parts or table.parts
    for part in wanted:
        if part not in table.parts:
            raise InputError(f"{table.name} has no part {part!r}; it has {', '.join(table.parts)}")
    kept = Path(options.out) / table.name
    kept.mkdir(parents=True, exist_ok=True)
    for part in wanted:
        file = kept / f"{part}.json"
        if file.exists() and not options.overwrite:
            if _read(file)["options"] != options.identity:
                raise InputError(f"{file} was computed with other options; use --overwrite or another --out")
            report(f"{part}: finished before")
            continue
        if options.overwrite:
            shutil.rmtree(options.folder(table.name, part), ignore_errors=True)
        computed = {"options": options.identity, "made": made_now(), "runs": table.compute(part, options, report)}
        with replacing(file) as beside:
            beside.write_text(json.dumps(computed) + "\n", encoding="utf-8")
        shutil.rmtree(options.folder(table.name, part), ignore_errors=True)
    found: Found = []
    made: dict[str, Any] = {}
    seeds: set[int] = set()
    for part in table.parts:
        file = kept / f"{part}.json"
        if file.exists():
            content = _read(file)
            if _alike(content["options"], options.identity):
                found += content["runs"]
                seeds.update(content["options"]["seeds"])
                made = {**content["made"], "parts": {**made.get("parts", {}), part: content["made"]}}
            else:
                report(f"{part}: left out of the table, since it was computed with other options")
    return write(table.name, table.rows(found), seeds=sorted(seeds), directory=Path(options.out), made=made)


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether parts may stand in one table: each of its rows says how many seeds it has."""
    return {**one, "seeds": None} == {**other, "seeds": None}


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
