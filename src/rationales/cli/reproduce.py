"""`rationales reproduce`: a paper's table, computed anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rationales.cli.fields import DataDir
from rationales.errors import InputError

EXAMPLE = """Example:

rationales reproduce ver-table1 --data-dir data --vectors glove.6B.100d.txt

rationales reproduce ver-table1 --part rnp --seeds 1,2 --updates 500 --out trial"""


def register(app: typer.Typer, _words: Sequence[str]) -> None:
    """Add the command."""
    app.command(epilog=EXAMPLE)(reproduce)


def reproduce(
    table: Annotated[str | None, typer.Argument(help="Name of the table; without one, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Directory for the table and its finished parts.")] = Path("results"),
    data_dir: DataDir = None,
    vectors: Annotated[str, typer.Option(help="File of word vectors, for networks on words.")] = "",
    encoder: Annotated[str, typer.Option(help="Pretrained encoder, for tables about those.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds of trainings, with commas; by default those of the table.")] = "",
    updates: Annotated[int, typer.Option(help="Steps of training; 0: as many as the table needs.", min=0)] = 0,
    part: Annotated[list[str] | None, typer.Option(help="Part to compute; may be given again. None: all.")] = None,
    device: Annotated[str, typer.Option(help="Such as cuda or cpu; the best there is by default.")] = "",
    models: Annotated[str, typer.Option(help="Directory for trained models, which some tables share.")] = "",
    workers: Annotated[int, typer.Option(help="Trainings at once, where a table has many.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Compute finished parts anew.")] = False,
) -> None:
    """Repeat a paper's table on your machine, and write it beside the published figures."""
    from rationales.reproduce import Options, tables
    from rationales.reproduce import reproduce as run

    if table is None:
        for name, known in tables.items():
            print(f"{name}: {known.about} Parts: {', '.join(known.parts)}")
        return
    chosen = tables[table]
    try:
        numbers = tuple(int(seed) for seed in seeds.split(",")) if seeds else chosen.seeds
    except ValueError:
        raise InputError(f"seeds are whole numbers with commas, such as 1,2,3; got {seeds!r}") from None
    options = Options(
        out, data_dir or "", vectors, encoder, numbers, updates, tuple(part or ()), device, models, workers, overwrite
    )
    began = time.monotonic()

    def report(line: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {line}", file=sys.stderr, flush=True)

    print(run(chosen, options, report).with_suffix(".md"))
