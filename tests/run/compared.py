"""What a comparison leaves in its directory."""

from __future__ import annotations

import json
from pathlib import Path

import rationales

ARRAYS = ("values", "weights", "keep")


def content(directory: Path) -> dict[str, object]:
    """Everything in the directory of a comparison but what takes another time each time."""
    found: dict[str, object] = {}
    for path in sorted(directory.rglob("*.json")):
        data = json.loads(path.read_text())
        data.pop("seconds", None)
        for standing in data.get("standings", ()):
            standing["seconds_per_1000_tokens"] = None
        found[str(path.relative_to(directory))] = data if path.name != "results.json" else data["standings"]
    for path in sorted(directory.rglob("*.parquet")):
        found[str(path.relative_to(directory))] = [
            (
                item.id,
                [getattr(item.body, name).tolist() for name in ARRAYS if getattr(item.body, name, None) is not None],
            )
            for item in rationales.Explanations.load(path)
        ]
    return found
