"""A tiny model in a directory, and the command as a user calls it, in this process or in one of its own."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rationales.cli import main
from tiny import classifier

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("model") / "bert"
    classifier("bert").save_pretrained(directory)
    return directory


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the command; (exit status, standard output, standard error). A traceback fails the test."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        capsys.readouterr()  # what the test itself has printed
        monkeypatch.setattr(sys, "argv", ["rationales", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def refused(call: Call) -> Callable[..., str]:
    """Run a command that must fail: one line of error, nothing on standard output. Returns the line."""

    def run(*arguments: object, stdin: str = "") -> str:
        status, out, err = call(*arguments, stdin=stdin)
        assert (status, out) == (2, ""), err
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err

    return run


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status (negative: the signal that killed it) and what it said."""

    status: int
    out: str
    err: str
    seconds: float


@pytest.fixture(scope="session")
def apart(model_directory: Path) -> Iterator[Callable[..., Ended]]:
    """Run the command in a process of its own, where it can be stopped: `signal` after `after` seconds."""
    script = Path(__file__).with_name("zygote.py")
    settings = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with subprocess.Popen(
        [sys.executable, str(script), str(model_directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    ) as zygote:

        def run(*command: object, **how: Any) -> Ended:
            print(json.dumps({"command": [*map(str, command)], **how}), file=zygote.stdin, flush=True)
            return Ended(**json.loads(zygote.stdout.readline()))

        yield run


@pytest.fixture
def small_disk() -> Callable[[int], AbstractContextManager[None]]:
    """A block in which no file can grow beyond some bytes: what a full disk does to whoever writes."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
