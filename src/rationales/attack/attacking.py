"""Attack one or several models on a data set, part by part, with resume.

The directory of an attack:

    attack.json                says that this is the directory of an attack, and in what format
    parts/<model>/00000.json   the outcomes of some consecutive texts
    results.json               the figures of every model and all outcomes, written at the end

A part is made anew where its texts, the options, or the model's answers to the original texts are others than before.
Where all texts are others, the directory is refused, as that of a comparison is.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rationales import __version__, results
from rationales.attack.results import Attacked, Figures, read_outcome
from rationales.attack.search import Answer, Outcome, Search, ask, searched
from rationales.comparison.store import RESULTS, digest, read_json, slug, write_json
from rationales.data import Dataset, Example
from rationales.data import load as load_data
from rationales.errors import FileFormatError, InputError
from rationales.explanation.files import check_writable
from rationales.models import Encoded, Model, load
from rationales.models.tokenising import cut_message
from rationales.run import Text, as_examples
from rationales.run.labels import true_label
from rationales.run.progress import progress_bar
from rationales.run.texts import check_same_texts

SETTINGS = "attack.json"
FORMAT = 2
SIZE = 64
"""Texts in a part: few enough that little is lost by a kill, and enough to fill batches."""
SAME = 1e-3
"""A model whose log-odds of the true labels are as before to within this is the same model."""

Data: TypeAlias = str | Path | Iterable[Text]
DEFAULT = Search()


def attack(
    model: Any,
    data: Data,
    search: Search = DEFAULT,
    *,
    tokenizer: Any = None,
    out: str | Path | None = None,
    progress: bool | None = None,
    command: str = "",
) -> Attacked:
    """How easily do harmless edits turn a classifier's right answers into wrong ones?

    `model` is what `rationales.explain` takes, or several: a list, or a mapping from the names they should have. `data`
    are examples with labels, a data set that was loaded, or the name or path of one. `search` says what is tried. `out`
    is the directory for results, where a run that was stopped goes on. `progress` shows a bar; by default when somebody
    is watching.
    """
    models = _models(model, tokenizer)
    examples, names, source = _labelled(data)
    targets = {title: _targets(title, own, examples, names) for title, own in models.items()}
    with ExitStack() as stack:
        if out is None:
            out = tempfile.mkdtemp(prefix="rationales-")
            stack.callback(shutil.rmtree, out, ignore_errors=True)
        directory = _begun(Path(out), examples)
        outcomes: dict[str, list[Outcome]] = {}
        for number, (title, own) in enumerate(models.items(), 1):
            bar = "attack" if len(models) == 1 else f"attack on model {number} of {len(models)}"
            with progress_bar(bar, len(examples), progress) as advance:
                home = directory / "parts" / slug(title)
                outcomes[title] = _all_parts(own, examples, targets[title], search, home, advance)
        found = Attacked(tuple(Figures.of(title, outcomes[title]) for title in models), outcomes)
        content = {
            "command": command,
            "data": source,
            "search": asdict(search),
            "versions": results.versions(),
            "hardware": results.hardware(),
            "models": found.plain(),
            "paired": [asdict(each) for each in found.paired],
        }
        write_json(directory / RESULTS, content)
    return found


def _models(given: Any, tokenizer: Any) -> dict[str, Model]:
    """One model or several, by name; none that predicts numbers."""
    if isinstance(given, Mapping):
        found = {str(name): load(each, tokenizer) for name, each in given.items()}
    else:
        loaded = [load(each, tokenizer) for each in (given if isinstance(given, list | tuple) else [given])]
        found = {each.name: each for each in loaded}
        if len(found) < len(loaded):
            names = ", ".join(each.name for each in loaded)
            raise InputError(f"models must have different names, got {names}; give them names: {{'name': model, …}}")
    if not found:
        raise InputError("there is no model to attack")
    for title, each in found.items():
        if each.regression:
            raise InputError(
                f"{title} predicts a number; an attack turns one class into another and needs a classifier"
            )
    return found


def _labelled(data: Data) -> tuple[list[Example], Sequence[str] | None, str]:
    """The examples that have a label, the names of the labels, and what the data are called."""
    if isinstance(data, str | Path):
        data = load_data(str(data))
    every = list(as_examples(data))
    name = data.name if isinstance(data, Dataset) else ""
    if not every:
        raise InputError(f"there are no texts to attack{name and f' in {name}'}")
    examples = [example for example in every if example.label is not None]
    if not examples:
        raise InputError(
            f"none of the {len(every)} texts has a label, so nobody can tell a right answer from a wrong one; say "
            "which column holds it (--label-column), or give examples with labels"
        )
    if len(examples) < len(every):
        warnings.warn(
            f"{len(every) - len(examples)} of {len(every)} texts have no label and are left out", stacklevel=3
        )
    return examples, data.labels if isinstance(data, Dataset) else None, name or f"{len(examples)} texts"


def _targets(title: str, model: Model, examples: Sequence[Example], names: Sequence[str] | None) -> list[int]:
    """The true class of each example as the model counts."""
    index = {label: number for number, label in enumerate(model.labels)}
    found = []
    for example in examples:
        label = true_label(example, names, model)
        if label not in index:
            raise InputError(
                f"the text {example.id!r} has the label {example.label!r}, which {title} does not know; its labels are "
                f"{', '.join(model.labels)}"
            )
        found.append(index[label])
    return found


def _begun(directory: Path, examples: Sequence[Example]) -> Path:
    """The directory, new or of an attack on these texts to go on with; without results, which parts may belie."""
    settings = directory / SETTINGS
    check_writable(directory / RESULTS)
    if settings.exists():
        if read_json(settings) != {"format": FORMAT}:
            raise FileFormatError(f"{settings} is not of an attack that this version can read")
        first = min(directory.glob("parts/*/00000.json"), default=None)
        there = [tuple(each["texts"]) for each in read_json(first)["outcomes"]] if first else []
        check_same_texts(directory, "an attack on", there, examples)
    elif any(directory.iterdir()):
        raise InputError(f"{directory} is there, but holds no attack to go on with; give a new or empty directory")
    (directory / RESULTS).unlink(missing_ok=True)
    write_json(settings, {"format": FORMAT})
    return directory


def _all_parts(
    model: Model,
    examples: Sequence[Example],
    targets: Sequence[int],
    search: Search,
    home: Path,
    advance: Callable[[int], None],
) -> list[Outcome]:
    """Every part of one model, those that are kept and those to be made."""
    found: list[Outcome] = []
    cut = 0
    for number, start in enumerate(range(0, len(examples), SIZE)):
        some, wanted = examples[start : start + SIZE], targets[start : start + SIZE]
        before, sources = ask(model, some, wanted)
        cut += sum(source.cut for source in sources)
        part = _Part(model, some, wanted, before, sources, search)
        found += part.kept_or_made(home / f"{number:05}.json", advance)
    if cut:
        warnings.warn(cut_message(cut, len(examples), model.max_length), stacklevel=4)
    return found


@dataclass(eq=False)
class _Part:
    """Some texts, and what the model says of them."""

    model: Model
    examples: Sequence[Example]
    targets: Sequence[int]
    before: Sequence[Answer]
    sources: Sequence[Encoded]
    search: Search

    def kept_or_made(self, path: Path, advance: Callable[[int], None]) -> list[Outcome]:
        """The outcomes from the file at `path`, if they are of the same attack; else new ones, which go there."""
        texts = [(example.id, example.texts) for example in self.examples]
        key = digest(__version__, asdict(self.search), texts, self.targets, self.model.labels, self.model.max_length)
        if path.exists():
            content = read_json(path)
            if isinstance(content, dict) and content.get("key") == key:
                kept = [read_outcome(row) for row in content["outcomes"]]
                if self._same_model(content["odds"]):
                    advance(len(kept))
                    return kept
        made = searched(self.model, self.examples, self.targets, self.before, self.sources, self.search, done=advance)
        path.parent.mkdir(parents=True, exist_ok=True)
        odds = [answer.odds for answer in self.before]
        write_json(path, {"key": key, "odds": odds, "outcomes": [asdict(each) for each in made]})
        return made

    def _same_model(self, before: Sequence[float | None]) -> bool:
        """Whether the model answers as it did; probabilities near 0 and 1 do not tell. None: it gave no number."""
        return all(
            math.isclose(math.inf if was is None else was, answer.odds, rel_tol=0, abs_tol=SAME)
            for was, answer in zip(before, self.before, strict=True)
        )
