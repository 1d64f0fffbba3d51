"""`Comparison`: what `rationales.compare` gives back, and what its directory holds."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rationales.comparison.results import number, summary_from_json
from rationales.comparison.store import RESULTS, Store, read_json
from rationales.comparison.types import Case, Summary
from rationales.errors import FileFormatError, InputError, require
from rationales.explanation import Explanation, Explanations

if TYPE_CHECKING:
    import pandas as pd


HUMAN = ("human", "human_alignment")
"""How what people marked or linked is called among the methods."""


class Comparison:
    """A finished comparison: figures in `summary`, explanations and texts read from its directory when asked for."""

    _origin: Comparison | None = None

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self._store = Store(self.directory)
        self._store.settings()
        path = self.directory / RESULTS
        if not path.exists():
            raise InputError(f"the comparison in {directory} is not finished; run the command that began it again")
        try:
            self.summary: Summary = summary_from_json(read_json(path))
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} is damaged: {error}") from error

    @classmethod
    def load(cls, directory: Path | str) -> Comparison:
        """Open the directory that `rationales compare --out` wrote."""
        return cls(directory)

    def results(self) -> dict[str, Any]:
        """What `results.json` holds, as plain data."""
        content: dict[str, Any] = read_json(self.directory / RESULTS)
        return content

    def called(self, data: str) -> Comparison:
        """The same, with another name for its data."""
        found = copy.copy(self)
        found.summary = replace(self.summary, data=data)
        found._origin = self  # a temporary directory lives as long as this one
        return found

    def _model(self, model: str | None) -> str:
        models = self.summary.models
        if model is None and len(models) == 1:
            return models[0]
        if model not in models:
            raise InputError(f"which model? This comparison has {', '.join(models)}; got {model!r}")
        return model

    def methods(self, model: str | None = None) -> tuple[str, ...]:
        """The methods that ran, best first."""
        return tuple(item.method for item in self.summary.of(self._model(model)) if not item.failure)

    def explanations(self, method: str, model: str | None = None) -> Explanations:
        """The explanations by one method of one model (needed only where there are several)."""
        model = self._model(model)
        if method not in self.methods(model):
            raise InputError(f"no explanations by {method!r}; there are {', '.join(self.methods(model))}")
        paths = (self._store.measured(model, method, part) for part in self._store.parts())
        return Explanations(item for path in paths for item in self._store.explanations(path))

    def first_texts(self) -> list[tuple[str, ...]]:
        """Some texts that tell these data from others."""
        return [tuple(each["texts"]) for each in read_json(self._store.texts(0))["texts"]]

    def cases(self, model: str | None = None) -> Iterator[Case]:
        """The texts, each with what the model says, what is true, and every method's explanation."""
        model = self._model(model)
        for part in self._store.parts():
            yield from self._cases(model, part)

    def _cases(self, model: str, part: int) -> Iterator[Case]:
        path = self._store.texts(part)
        texts, said = read_json(path)["texts"], read_json(self._store.predictions(model, part))
        found: dict[str, list[Explanation | None]] = {name: [None] * len(texts) for name in HUMAN}
        places = [(name, place) for place, text in enumerate(texts) for name in text["marked"]]
        if places:
            for (name, place), explanation in zip(places, self._store.explanations(path), strict=True):
                found[name][place] = explanation
        for method in self.methods(model):
            found[method] = list(self._store.explanations(self._store.measured(model, method, part)))
        for place, (text, label) in enumerate(zip(texts, said["labels"], strict=True)):
            yield Case(
                model=model,
                id=text["id"],
                texts=tuple(text["texts"]),
                label=label,
                predicted=said["predicted"][place],
                probability=number(said["probability"][place]),
                explanations={name: own for name, items in found.items() if (own := items[place]) is not None},
                data=self.summary.data,
            )

    def to_pandas(self) -> pd.DataFrame:
        """One row for each model, method and metric."""
        pandas = require("pandas", extra="pandas", purpose="a table of figures")
        rows = [
            {
                "model": standing.model,
                "rank": standing.rank,
                "method": standing.method,
                "metric": measure.name,
                "best": measure.best,
                "mean": figure.mean,
                "low": figure.low,
                "high": figure.high,
                "count": figure.count,
                "undefined": figure.undefined,
                "beats_random": figure.beats_random,
                "seconds_per_1000_tokens": standing.seconds_per_1000_tokens,
            }
            for standing in self.summary.standings
            for measure in self.summary.measures
            if (figure := standing.figures.get(measure.name)) is not None
        ]
        return pandas.DataFrame(rows)

    def stability_to_pandas(self) -> pd.DataFrame:
        """One row for each method and pair of models, if stability was asked for."""
        stability = self.summary.stability
        if stability is None:
            raise InputError("stability was not asked for; compare again with stability=True (--stability)")
        pandas = require("pandas", extra="pandas", purpose="a table of figures")
        rows = [
            {
                "method": likeness.method,
                "one": pair.one,
                "other": pair.other,
                "untrained": stability.untrained in (pair.one, pair.other),
                "mean": pair.overlap.mean,
                "low": pair.overlap.low,
                "high": pair.overlap.high,
                "chance": pair.overlap.chance,
                "count": pair.overlap.count,
                "undefined": pair.overlap.undefined,
                "same_label": pair.overlap.same_label,
            }
            for likeness in stability.methods
            for pair in likeness.pairs
        ]
        return pandas.DataFrame(rows)

    def report(self, path: Path | str | None = None) -> Path:
        """Write the page, by default as `report.html` into the directory of the comparison."""
        path = self.directory / "report.html" if path is None else Path(path)
        written: Path = reporting().write_comparison(self, path)
        return written

    def _repr_html_(self) -> str:
        html: str = reporting().summary_html(self.summary)
        return html

    def __repr__(self) -> str:
        many = f"{self.summary.texts:,} texts, {', '.join(self.summary.models)}"
        return f"<comparison of {len(self.summary.standings)} explanations of {many} in {self.directory}>"


def reporting() -> Any:
    """What shows comparisons stands above them, and is looked up only when something is to be shown."""
    return import_module("rationales.report")
