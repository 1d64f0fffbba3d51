"""A table of a paper, repeated part by part: what is finished is kept, and a run that was stopped goes on there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rationales.errors import InputError
from rationales.explanation.files import replacing
from rationales.registry import Registry, option
from rationales.results import Row, write

Found: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Options:
    """What every table lets its user choose."""

    out: Path = option(Path("results"), "Directory for the table; finished parts are kept in a folder beside it.")
    data_dir: str = option("", "Directory of the data sets; else the environment variable RATIONALES_DATA.")
    vectors: str = option("", "File of word vectors (GloVe), for tables of networks on words.")
    encoder: str = option("", "Directory or hub name of a pretrained encoder, for tables of Transformers encoders.")
    seeds: tuple[int, ...] = option((1, 2, 3, 4, 5), "Seeds; figures are means over them.")
    updates: int = option(0, "Steps of training; 0: as many as the table needs.")
    parts: tuple[str, ...] = option((), "Parts of the table to compute; none: all.")
    device: str = option("", "Such as cuda or cpu; empty: the best there is.")
    overwrite: bool = option(False, "Compute finished parts anew.")


@dataclass(frozen=True)
class Table:
    """How to repeat one table.

    `compute` gives the figures of a part as plain JSON, one entry for each run; `rows` makes the table of all of them.
    """

    name: str
    about: str
    parts: tuple[str, ...]
    compute: Callable[[str, Options, Callable[[str], None]], Found]
    rows: Callable[[Found], Sequence[Row]]


tables: Registry[Table] = Registry("table")


def reproduce(table: Table, options: Options, report: Callable[[str], None]) -> Path:
    """Compute the parts that are wanted and missing, and write the table of all that are there."""
    wanted = options.parts or table.parts
    for part in wanted:
        if part not in table.parts:
            raise InputError(f"{table.name} has no part {part!r}; it has {', '.join(table.parts)}")
    kept = Path(options.out) / table.name
    kept.mkdir(parents=True, exist_ok=True)
    chosen = {name: value for name, value in asdict(options).items() if name in ("seeds", "updates")}
    identity = json.loads(json.dumps(chosen))
    for part in wanted:
        file = kept / f"{part}.json"
        if file.exists() and not options.overwrite:
            found = json.loads(file.read_text(encoding="utf-8"))
            if found["options"] != identity:
                raise InputError(f"{file} was computed with other seeds or updates; use --overwrite or another --out")
            report(f"{part}: finished before")
            continue
        content = {"options": identity, "runs": table.compute(part, options, report)}
        with replacing(file) as beside:
            beside.write_text(json.dumps(content) + "\n", encoding="utf-8")
    found = [
        run
        for part in table.parts
        if (kept / f"{part}.json").exists()
        for run in json.loads((kept / f"{part}.json").read_text(encoding="utf-8"))["runs"]
    ]
    return write(table.name, table.rows(found), seeds=options.seeds, directory=Path(options.out))
