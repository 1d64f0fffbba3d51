"""The directory of a FRESH run: whose it is, and what an older run left there that the new one does not describe."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rationales.comparison.store import read_json
from rationales.errors import FileFormatError
from rationales.explanation.files import check_writable, replacing
from rationales.train.checkpoint import check_foreign, identity_in

SUMMARY, EXPLANATIONS, ABOUT = "fresh.json", "explanations", "README.md"

README = """# Classifiers of rationales

Each directory `seed-…` holds a classifier that was trained by `rationales train fresh` on texts of which only the
rationale was left. It expects such texts, cut down in the same way, and not whole ones: on whole texts its predictions
mean little. `fresh.json` says how the rationales were made, and how well the classifiers do.
"""

_OWN = re.compile(r"seed-\d+|explanations|\.fresh\.json\..*\.tmp")  # what a run that was stopped leaves
_MADE = {"method", "params", "target", "texts", "logits"}
"""What the record of explanations that a run made holds."""


def check_out(out: Path, *, overwrite: bool) -> None:
    """Refuse a directory of somebody else, or one that cannot be written to, before hours are spent."""
    if not (overwrite or _is_summary(out / SUMMARY)):
        check_foreign(out, lambda entry: _OWN.fullmatch(entry.name) is not None)
    check_writable(out / SUMMARY)


def write_about(out: Path) -> None:
    """Say to whoever finds the directory what its models are."""
    with replacing(out / ABOUT) as beside:
        beside.write_text(README, encoding="utf-8")


def clear(out: Path, seeds: Collection[int], splits: Collection[str], given: Iterable[Any]) -> None:
    """Remove an older run's models of other seeds than these, and its explanations of other splits.

    What was given to the new one, to explain or to learn from, stays.
    """
    kept = {Path(source).resolve() for source in given if source and isinstance(source, str | Path)}
    for directory in out.glob("seed-*"):
        if _is_model(directory, {f"seed-{seed}" for seed in seeds}) and directory.resolve() not in kept:
            shutil.rmtree(directory)
    for record in (out / EXPLANATIONS).glob("*.json"):
        whole = record.with_suffix(".parquet")
        if record.stem not in splits and whole.resolve() not in kept and _holds(record, _MADE):
            shutil.rmtree(record.with_suffix(""), ignore_errors=True)
            whole.unlink(missing_ok=True)
            record.unlink()
    with suppress(OSError):  # it is not there, or holds something else
        (out / EXPLANATIONS).rmdir()


def _is_summary(path: Path) -> bool:
    """Whether a run has left its figures there."""
    return _holds(path, {"macro_f1", "explanations", "config"})


def _holds(path: Path, keys: Collection[str]) -> bool:
    """Whether a file of JSON is there that has these keys."""
    try:
        found = read_json(path) if path.is_file() else None
    except FileFormatError:
        return False
    return isinstance(found, dict) and set(keys) <= found.keys()


def _is_model(directory: Path, but: Collection[str]) -> bool:
    """Whether a FRESH run left its model of some seed there, finished or not; some names are not looked at."""
    if directory.name in but or directory.is_symlink():
        return False
    try:
        run = identity_in(directory)
        return bool(run["recipe"] == "fresh" and directory.name == f"seed-{run['config']['seed']}")
    except (FileFormatError, KeyError, OSError, TypeError):
        return False
