"""Data sets known by name: where their files lie under the data directory, what their columns are, who has them online.

The entries stand in `catalogue.py`. A name resolves to the data directory (`data_dir`, else the environment variable
`RATIONALES_DATA`), and without one to the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rationales.data.columns import Columns
from rationales.data.hub import open_hub
from rationales.data.tables import Chain, Derived, Row, Table, choose_split, open_table
from rationales.errors import InputError
from rationales.registry import Registry

ENVIRONMENT = "RATIONALES_DATA"


@dataclass(frozen=True)
class Files:
    """One split: its files, relative to the data directory, and its columns.

    `derive` changes a row or leaves it out (None); it needs the columns `needs` and makes the column `label` if there
    is none. `documents` is a file of tokens by `doc_id`, joined to each row as the column `document`.
    """

    paths: tuple[str, ...]
    columns: Columns
    derive: Callable[[Row], Row | None] | None = None
    needs: tuple[str, ...] = ()
    documents: str = ""


@dataclass(frozen=True)
class Hub:
    """The same data on the hub: our name of each split → theirs, and their columns."""

    name: str
    splits: Mapping[str, str]
    columns: Columns
    config: str | None = None


@dataclass(frozen=True)
class NamedSet:
    """A data set with a name.

    `labels` are its class names in order, None for regression and multiple choice. Where there are `variants`,
    `name/variant` is the part of the data whose column `variant_column` holds it.
    """

    summary: str
    splits: Mapping[str, Files]
    labels: tuple[str, ...] | None = None
    hub: Hub | None = None
    variants: tuple[str, ...] = ()
    variant_column: str = ""
    notes: str = ""


named_sets: Registry[NamedSet] = Registry("data set")


def find(name: str) -> tuple[NamedSet, str] | None:
    """The data set of this name and its variant ("" for the whole), or None."""
    base, _, variant = name.partition("/")
    if base not in named_sets:
        return None
    spec = named_sets[base]
    if variant and variant not in spec.variants:
        if not spec.variants:
            return None
        raise InputError(f"{base} has no part {variant!r}; it has {', '.join(spec.variants)}")
    return spec, variant


def open_named(
    name: str, split: str | None, data_dir: str | Path | None
) -> tuple[Table, Columns, tuple[str, ...] | None]:
    """The rows of a split of a named set, their columns and class names."""
    found = find(name)
    assert found is not None
    spec, variant = found
    folder = data_dir or os.environ.get(ENVIRONMENT)
    if folder:
        table, columns = _open_files(name, spec, split, Path(folder))
    elif spec.hub is None:
        raise InputError(
            f"{name} is not on the Hugging Face hub in a form that can be read; say where its files are with "
            f"data_dir (--data-dir) or the environment variable {ENVIRONMENT}"
        )
    else:
        chosen = choose_split(tuple(spec.hub.splits), split, name)
        table = open_hub(spec.hub.name, spec.hub.splits[chosen], spec.hub.config)
        columns = spec.hub.columns
    if variant:
        column = spec.variant_column
        table = Derived(table, lambda row: row if row[column] == variant else None, needs=(column,))
    return table, columns, spec.labels


def _open_files(name: str, spec: NamedSet, split: str | None, folder: Path) -> tuple[Table, Columns]:
    files = spec.splits[choose_split(tuple(spec.splits), split, name)]
    online = f", or load {spec.hub.name!r} from the Hugging Face hub" if spec.hub else ""
    for path in (*files.paths, *filter(None, [files.documents])):
        if not (folder / path).is_file():
            raise InputError(
                f"{name} is wanted at {folder / path}, where no such file is; correct data_dir (--data-dir) or the "
                f"environment variable {ENVIRONMENT}{online}"
            )
    table: Table = Chain([open_table(folder / path) for path in files.paths])
    if files.documents:
        documents = {
            record.values["doc_id"]: record.values["tokens"] for record in open_table(folder / files.documents).rows()
        }
        table = Derived(
            table, lambda row: {**row, "document": documents.get(row["doc_id"])}, needs=("doc_id",), adds=("document",)
        )
    if files.derive is not None:
        table = Derived(table, files.derive, needs=files.needs, adds=("label",))
    return table, files.columns


def fold(text: str) -> int:
    """A number from 0 to 9 that depends on the text alone, so that equal texts fall into the same fold.

    >>> fold("good"), fold("bad")
    (8, 6)
    """
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16) % 10
