"""Files of measured figures: `results/<table>.json`, and a Markdown table drawn from it.

Nothing in `results/` is written by hand. A file says which command made it, from which commit, with which
versions, on which hardware and with which seeds; one row for each figure.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rationales.explanation.files import replacing

FACTS = ("hardware", "versions")
PACKAGES = ("rationales", "torch", "transformers", "captum", "numpy")


@dataclass(frozen=True)
class Row:
    """One figure; None where a field does not apply.

    `margin` is half of the 95 % interval of a mean over runs, `paper` the published value where there is one.
    """

    metric: str
    mean: float
    method: str | None = None
    explainer: str | None = None
    data: str | None = None
    train: str | None = None
    model: str | None = None
    std: float | None = None
    n: int | None = None
    margin: float | None = None
    paper: float | None = None
    note: str | None = None


def made_now() -> dict[str, Any]:
    """What makes the figures of this moment: the command that is running, without paths of this machine, and so on."""
    return {
        "command": _command(sys.argv),
        "commit": _commit(),
        "versions": {"python": platform.python_version(), **versions()},
        "hardware": hardware(),
    }


def write(
    table: str,
    rows: Sequence[Row],
    *,
    seeds: Sequence[int],
    directory: Path = Path("results"),
    made: dict[str, Any] | None = None,
) -> Path:
    """Write `<table>.json` and `<table>.md`; `made` tells what made the figures, if they were made before."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {
        "table": table,
        **(made or made_now()),
        "seeds": list(seeds),
        "rows": [asdict(row) for row in rows],
    }
    path = directory / f"{table}.json"
    for file, text in (
        (path, json.dumps(content, indent=1, ensure_ascii=False) + "\n"),
        (directory / f"{table}.md", markdown(content)),
    ):
        with replacing(file) as beside:
            beside.write_text(text, encoding="utf-8")
    return path


def markdown(content: dict[str, Any]) -> str:
    """The table for people: what made it, part by part where it has parts, and only the columns that say something."""
    rows = content["rows"]
    columns = [name for name in Row.__dataclass_fields__ if any(row.get(name) is not None for row in rows)]
    order: list[str] = [name for name in ("method", "explainer", "data", "train", "model", "metric") if name in columns]
    order += [name for name in columns if name not in order]
    lines = ["| " + " | ".join(order) + " |", "|" + "---|" * len(order)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in order) + " |" for row in rows]
    parts = list(content.get("parts", {}).values()) or [content]
    commands = "".join(f"- `{made['command']}`, commit {made['commit']}\n" for made in parts)
    facts = [", ".join(f"{name} {value}" for name, value in made[key].items()) for key in FACTS for made in parts]
    about = "".join(f"- {fact}\n" for fact in dict.fromkeys(facts))
    seeds = f"Seeds {', '.join(map(str, content['seeds']))}.\n\n" if content["seeds"] else ""
    head = f"# {content['table']}\n\n{commands}\n{seeds}{about}\n"
    return head + "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


def _command(arguments: Sequence[str]) -> str:
    """The command as others would give it: of absolute paths the last part, and none of where its results went.

    >>> _command(["bench.py", "--python", "/opt/env/bin/python", "--out", "/tmp/out", "--seeds", "1"])
    'python bench.py --python python --seeds 1'
    >>> _command(["/opt/env/bin/rationales", "reproduce", "ver-table1"])
    'rationales reproduce ver-table1'
    """
    program, shown = Path(arguments[0]).name, list[str]()
    for one in arguments[1:]:
        if not Path(one).is_absolute():
            shown.append(one)
        elif shown[-1:] == ["--out"]:
            shown.pop()
        else:
            shown.append(Path(one).name)
    own = program in ("rationales", "__main__.py")
    return shlex.join(
        [
            *(["rationales"] if own else ["python", program if Path(arguments[0]).is_absolute() else arguments[0]]),
            *shown,
        ]
    )


def _commit() -> str:
    """The commit the code is at, with "+" behind it if tracked files differ from it.

    Where the code runs without its repository, or beside another one, the environment variable RATIONALES_COMMIT tells.
    """
    if told := os.environ.get("RATIONALES_COMMIT"):
        return told
    here = Path(__file__).parent
    try:
        commit = _git(here, "rev-parse", "--short", "HEAD")
        return commit + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(where), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Of the packages that figures hang on."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Processor, cores, memory, and the accelerator if PyTorch is there and sees one."""
    described: dict[str, Any] = {"processor": _processor(), "cores": os.cpu_count()}
    if hasattr(os, "sysconf"):
        described["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        described["accelerator"] = torch.cuda.get_device_name()
    return described


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
