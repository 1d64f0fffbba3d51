"""Data sets known by name: where their files lie under the data directory, what their columns are, who has them online.

The entries stand in `catalogue.py`. A name resolves to the data directory (`data_dir`, else the environment variable
`RATIONALES_DATA`), and without one to the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rationales.data.columns import Columns
from rationales.data.hub import open_hub
from rationales.data.tables import Balanced, Chain, Derived, Row, Table, choose_split, open_table
from rationales.errors import InputError
from rationales.registry import Registry

ENVIRONMENT = "RATIONALES_DATA"
ALL, BALANCED = "all", "balanced"


@dataclass(frozen=True)
class Files:
    """One place of a split: its files, relative to the data directory, and its columns.

    `derive` changes a row or leaves it out (None); it needs the columns `needs` and makes those of `adds` that are not
    there. `documents` is a file of tokens by `doc_id`, joined to each row as the column `document`. `reader` makes a
    table of a file, and `folders` are the directories, below that of the data, in which the files are looked for.
    """

    paths: tuple[str, ...]
    columns: Columns
    derive: Callable[[Row], Row | None] | None = None
    needs: tuple[str, ...] = ()
    documents: str = ""
    reader: Callable[[Path], Table] = open_table
    folders: tuple[str, ...] = ("",)
    adds: tuple[str, ...] = ("label",)

    def missing(self, folder: Path) -> Path | None:
        """The first file that does not lie in a folder."""
        wanted = (folder / path for path in (*self.paths, *filter(None, [self.documents])))
        return next((path for path in wanted if not path.is_file()), None)


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

    A split is read from the first of its places whose files are there. `labels` are the class names in order, None for
    regression and multiple choice. Where there are `variants`, `name/variant` is the part of the data whose column
    `variant_column` holds it. Where there is a seed `balance`, `name/balanced` has a train split with as many examples
    of each class, drawn by it. Where there is a `larger` train split, `name/all` has it.
    """

    summary: str
    splits: Mapping[str, tuple[Files, ...]]
    labels: tuple[str, ...] | None = None
    hub: Hub | None = None
    variants: tuple[str, ...] = ()
    variant_column: str = ""
    balance: int | None = None
    larger: tuple[Files, ...] = ()
    notes: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """What may stand behind the name and a slash."""
        own = ((BALANCED, self.balance is not None), (ALL, bool(self.larger)))
        return (*self.variants, *(part for part, there in own if there))


named_sets: Registry[NamedSet] = Registry("data set")


def find(name: str) -> tuple[NamedSet, str] | None:
    """The data set of this name and its variant ("" for the whole), or None."""
    base, _, variant = name.partition("/")
    if base not in named_sets:
        return None
    spec = named_sets[base]
    if variant and variant not in spec.parts:
        if not spec.parts:
            return None
        raise InputError(f"{base} has no part {variant!r}; it has {', '.join(spec.parts)}")
    return spec, variant


def open_named(
    name: str, split: str | None, data_dir: str | Path | None
) -> tuple[Table, Columns, tuple[str, ...] | None]:
    """The rows of a split of a named set, their columns and class names."""
    found = find(name)
    assert found is not None
    spec, variant = found
    folder = data_dir or os.environ.get(ENVIRONMENT)
    if variant == ALL and spec.larger:
        spec, variant = replace(spec, splits={**spec.splits, "train": spec.larger}), ""
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
    if variant == BALANCED and spec.balance is not None:
        if split == "train":
            assert columns.label
            table = Balanced(table, columns.label, spec.balance)
    elif variant:
        column = spec.variant_column
        table = Derived(table, lambda row: row if row[column] == variant else None, needs=(column,))
    return table, columns, spec.labels


def _open_files(name: str, spec: NamedSet, split: str | None, folder: Path) -> tuple[Table, Columns]:
    places = spec.splits[choose_split(tuple(spec.splits), split, name)]
    for files in places:
        for below in files.folders:
            if files.missing(folder / below) is None:
                return _table(files, folder / below), files.columns
    wanted = " or at ".join(str(files.missing(folder / files.folders[0])) for files in places)
    online = f", or load {spec.hub.name!r} from the Hugging Face hub" if spec.hub else ""
    raise InputError(
        f"{name} is wanted at {wanted}, where no such file is; correct data_dir (--data-dir) or the environment "
        f"variable {ENVIRONMENT}{online}"
    )


def _table(files: Files, folder: Path) -> Table:
    table: Table = Chain([files.reader(folder / path) for path in files.paths])
    if files.documents:
        rows = open_table(folder / files.documents).rows()
        documents = {record.values["doc_id"]: record.values["tokens"] for record in rows}
        table = Derived(
            table, lambda row: {**row, "document": documents.get(row["doc_id"])}, needs=("doc_id",), adds=("document",)
        )
    if files.derive is not None:
        table = Derived(table, files.derive, needs=files.needs, adds=files.adds)
    return table


def fold(text: str) -> int:
    """A number from 0 to 9 that depends on the text alone, so that equal texts fall into the same fold.

    >>> fold("good"), fold("bad")
    (8, 6)
    """
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16) % 10
