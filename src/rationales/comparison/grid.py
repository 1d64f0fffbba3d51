"""Comparisons on several data sets side by side: does what holds in one domain hold in another?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rationales.comparison.comparison import Comparison, reporting
from rationales.comparison.store import FORMAT, GRID, SETTINGS, is_grid, read_json, slug, write_json
from rationales.errors import FileFormatError, InputError, require

if TYPE_CHECKING:
    import pandas as pd


class Grid(Mapping[str, Comparison]):
    """Comparisons of the same models by the same methods, each on another data set, by the name of the data.

    What `rationales.compare` gives for each goes in; their figures come out in one table and on one page.
    """

    def __init__(self, comparisons: Mapping[str, Comparison]) -> None:
        if len(comparisons) < 2:
            raise InputError(f"a grid shows comparisons on several data sets, got {', '.join(comparisons) or 'none'}")
        if not set.intersection(*(set(found.summary.models) for found in comparisons.values())):
            raise InputError(f"the comparisons on {', '.join(comparisons)} have no model in common")
        _check_alike(comparisons)
        self._comparisons = {name: found.called(name) for name, found in comparisons.items()}

    @classmethod
    def load(cls, directory: Path | str) -> Grid:
        """Open the directory that `rationales compare --out` wrote for several data sets."""
        return cls({name: Comparison.load(place) for name, place in _places(Path(directory)).items()})

    def __getitem__(self, name: str) -> Comparison:
        return self._comparisons[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._comparisons)

    def __len__(self) -> int:
        return len(self._comparisons)

    def results(self) -> dict[str, Any]:
        """What the `results.json` of each holds, as plain data."""
        return {name: found.results() for name, found in self.items()}

    def to_pandas(self) -> pd.DataFrame:
        """One row for each data set, model, method and metric."""
        pandas = require("pandas", extra="pandas", purpose="a table of figures")
        tables = []
        for name, comparison in self.items():
            table = comparison.to_pandas()
            table.insert(0, "data", name)
            tables.append(table)
        return pandas.concat(tables, ignore_index=True)

    def report(self, path: Path | str) -> Path:
        """Write one page of all of them."""
        written: Path = reporting().write_comparisons(list(self.values()), path)
        return written

    def _repr_html_(self) -> str:
        html: str = reporting().grid_html([found.summary for found in self.values()])
        return html

    def __repr__(self) -> str:
        return f"<comparisons on {', '.join(self)}>"


def _check_alike(comparisons: Mapping[str, Comparison]) -> None:
    """Refuse to put figures into one row that were measured in different ways."""
    known: dict[str, tuple[str, Mapping[str, object]]] = {}
    for name, found in comparisons.items():
        for measure in found.summary.measures:
            before, options = known.setdefault(measure.name, (name, measure.options))
            if options != measure.options:
                raise InputError(
                    f"{measure.name} was measured with other options on {name} than on {before}: "
                    f"{dict(measure.options)}, and not {dict(options)}"
                )


def told_apart(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same; where data of one name have no text in common, they are called after their directories as well."""
    texts = [(found.summary.data, set(found.first_texts())) for found in comparisons]
    return [
        found.called(f"{name} ({found.directory})")
        if any(name == other and own.isdisjoint(others) for other, others in texts)
        else found
        for found, (name, own) in zip(comparisons, texts, strict=True)
    ]


def grid_places(directory: Path, names: Iterable[str]) -> dict[str, Path]:
    """Where the comparison of each data set goes, in a directory that is new or has others to go on with."""
    if (directory / SETTINGS).exists():
        raise InputError(
            f"{directory} holds a comparison on one data set; give another directory (--out) for several, or give its "
            "data alone"
        )
    if not is_grid(directory) and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} is there, but holds no comparisons to go on with; give a new or empty directory")
    return {name: directory / slug(name) for name in names}


def begin_grid(directory: Path) -> None:
    """Say that comparisons go in here. A grid that is there already stays until another is finished."""
    if not is_grid(directory):
        _write(directory, {})


def finish_grid(directory: Path, places: Mapping[str, Path]) -> None:
    """Say which comparisons make the grid, all of them finished; those of other data sets leave it."""
    _write(directory, {name: place.name for name, place in places.items()})


def _write(directory: Path, places: Mapping[str, str]) -> None:
    write_json(directory / GRID, {"format": FORMAT, "data": places})


def _places(directory: Path) -> dict[str, Path]:
    path = directory / GRID
    if not path.exists():
        raise InputError(f"{directory} holds no comparisons on several data sets (rationales compare makes them)")
    found = read_json(path)
    try:
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']}, and this version reads {FORMAT}")
        places = {name: directory / place for name, place in found["data"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: {error}") from error
    if not places:
        raise InputError(f"the comparisons in {directory} are not finished; run the command that began them again")
    return places
