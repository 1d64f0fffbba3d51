"""The directory of a comparison, written part by part so that a killed run loses nothing that was finished.

    settings.json                       the command, the size of a part, what was compared
    texts/00000.json                    the texts of part 0: ids, texts, true labels; whose evidence is known
    texts/00000.parquet                 what people marked in them
    models/<model>/00000.json           what the model says of them
    models/<model>/<method>/00000.*     .parquet: the explanations; .json: their seconds and values
    results.json                        the `Summary`, written at the end

Of several data sets each has a directory like this one, beside `grid.json`, which says how they are called.

A part is some consecutive texts. The `.json` of a method's part is written behind its `.parquet`, so where it is, both
are whole. Each says by its `key` what it was made from; what was made from something else is made anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rationales.errors import FileFormatError, InputError
from rationales.explanation import Explanation, Explanations
from rationales.explanation.files import replacing

SETTINGS, RESULTS, GRID = "settings.json", "results.json", "grid.json"
FORMAT = 1


def digest(*parts: Any) -> str:
    """A short name for what something was made from."""
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def plain(value: Any) -> Any:
    """For JSON: numbers that are not finite become None, tuples lists, mappings dictionaries."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def write_json(path: Path, content: Any) -> None:
    """Beside its place, then into it."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(plain(content), ensure_ascii=True, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """What `write_json` wrote, or an error that names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} is damaged: {error}") from error


def slug(name: str) -> str:
    """A name as a file's: what file systems dislike is left out, and a digest tells similar names apart.

    >>> slug("lime"), slug("org/model")
    ('lime', 'org_model-4d81cd')
    """
    safe = re.sub(r"[^\w.=,-]+", "_", name, flags=re.ASCII).strip("._")[-60:]
    return name if safe == name else f"{safe}-{digest(name)[:6]}"


def is_grid(directory: Path) -> bool:
    """Whether a directory has comparisons on several data sets."""
    return (directory / GRID).exists()


@dataclass(frozen=True)
class Store:
    """Where the parts of a comparison are."""

    directory: Path

    def begin(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Start, or go on: the settings that are in force. The size of a part stays what it was at the start."""
        path = self.directory / SETTINGS
        if path.exists():
            before = self.settings()
            settings = {**settings, "size": before["size"]}
        elif self.directory.exists() and (not self.directory.is_dir() or any(self.directory.iterdir())):
            found = "comparisons on several data sets" if is_grid(self.directory) else "no comparison to go on with"
            raise InputError(f"{self.directory} is there, but holds {found}; give a new or empty directory")
        (self.directory / RESULTS).unlink(missing_ok=True)  # those of before, which parts to come may belie
        write_json(path, {"format": FORMAT, **settings})
        return dict(settings)

    def settings(self) -> dict[str, Any]:
        """What was compared."""
        path = self.directory / SETTINGS
        if not path.exists():
            raise InputError(f"{self.directory} holds no comparison (rationales compare --out makes one)")
        found = read_json(path)
        if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("size"), int):
            raise FileFormatError(f"{path} is not of a comparison that this version can read")
        return found

    def texts(self, part: int) -> Path:
        return self.directory / "texts" / f"{part:05}.json"

    def predictions(self, model: str, part: int) -> Path:
        return self.directory / "models" / slug(model) / f"{part:05}.json"

    def measured(self, model: str, method: str, part: int) -> Path:
        return self.directory / "models" / slug(model) / slug(method) / f"{part:05}.json"

    def finished(self, path: Path, key: str) -> dict[str, Any] | None:
        """What is at the path, if it was made from the same."""
        if not path.exists():
            return None
        found = read_json(path)
        return found if isinstance(found, dict) and found.get("key") == key else None

    def save(self, path: Path, key: str, content: Mapping[str, Any], explanations: Sequence[Explanation] = ()) -> None:
        """Keep a part: first its explanations, if it has any, then the file that says it is whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if explanations:
            path.unlink(missing_ok=True)  # until both are new, neither counts
            Explanations(explanations).save(path.with_suffix(".parquet"))
        write_json(path, {**content, "key": key})

    def explanations(self, path: Path) -> Explanations:
        """Those of a part."""
        return Explanations.load(path.with_suffix(".parquet"))

    def parts(self) -> Iterator[int]:
        """The numbers of the parts."""
        settings = self.settings()
        return iter(range(-(-settings["texts"] // settings["size"])))
