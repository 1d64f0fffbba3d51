"""Data sets of the Hugging Face `datasets` package: a directory written by `save_to_disk`, or a name on the hub."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from rationales.data.tables import Record, Table, choose_split
from rationales.errors import DataError, require

_ONE, _SEVERAL = "dataset_info.json", "dataset_dict.json"


class HubTable(Table):
    """One split of such a data set. It is memory-mapped, so only the rows at hand are in memory."""

    def __init__(self, file: str, data: Any) -> None:
        self.file = file
        self._data = data.with_format(None)  # a stored "torch" or "numpy" format would change the values
        self.columns = tuple(data.column_names)
        named = {name: getattr(feature, "names", None) for name, feature in data.features.items()}
        self.classes = {name: tuple(names) for name, names in named.items() if names}

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:
        wanted = [name for name in self.columns if columns is None or name in columns]
        for row, values in enumerate(self._data.select_columns(wanted), start=1):
            yield Record(self.file, row, values)


def is_saved(path: Path) -> bool:
    """Whether a directory was written by `save_to_disk`."""
    return (path / _ONE).is_file() or (path / _SEVERAL).is_file()


def open_saved(path: Path, split: str | None) -> Table:
    """A split of a data set in a directory."""
    datasets = require("datasets", extra="hub", purpose=f"reading the data set in {path}")
    try:
        data = datasets.load_from_disk(str(path))
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"the directory cannot be read as a data set: {error}", file=path) from error
    return _table(str(path), data, split)


def open_hub(name: str, split: str | None, config: str | None = None) -> Table:
    """A split of a data set on the hub, downloaded unless it is in the cache. No code of the data set is run."""
    datasets = require("datasets", extra="hub", purpose=f"reading {name!r} from the Hugging Face hub")
    try:
        data = datasets.load_dataset(name, config)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(
            f"cannot be loaded from the Hugging Face hub: {error} "
            "(a data set in files of your own is given by its path; one with several configurations as name:config)",
            file=name,
        ) from error
    return _table(name if config is None else f"{name}:{config}", data, split)


def _table(file: str, data: Any, split: str | None) -> Table:
    if isinstance(data, dict):  # a DatasetDict is one
        split = choose_split(tuple(data), split, file)
        return HubTable(f"{file}/{split}", data[split])
    own = str(data.split) if data.split is not None else None
    if split is not None:
        choose_split((own,) if own else (), split, file)
    return HubTable(file, data)
