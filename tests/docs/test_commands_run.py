"""Every command on every page is one that exists, and every `rationales …` runs."""

from __future__ import annotations

import io
import re
import sys
import warnings
from pathlib import Path

import pytest
from blocks import PAGES, ROOT, Command, blocks, name

from rationales.cli import main

WITH_COMMANDS = [page for page in PAGES if any(block.commands for block in blocks(page) if block.language == "console")]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_the_commands_of_the_page_run(page, desk, monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    for block in blocks(page):
        if block.language != "console":
            continue
        assert block.commands, f"{name(page)}, line {block.line}: a console block without a command"
        for command in block.commands:
            where = f"{name(page)}, line {block.line}: {' '.join(command.words)}"
            if command.words[0] != "rationales":
                _known(command, where)
            else:
                assert _run(command, monkeypatch) == 0, where + "\n" + capsys.readouterr().err
                capsys.readouterr()


def _run(command: Command, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", list(command.words))
    monkeypatch.setattr(sys, "stdin", io.StringIO(Path(command.stdin).read_text() if command.stdin else ""))
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the command shows them; they are no errors there
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


def _known(command: Command, where: str) -> None:
    """Other commands of the docs: `make` with our targets, scripts that are here, and installing."""
    match command.words:
        case ("make", target, *_):
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), where
        case ("python", script, *_) if script.endswith(".py"):
            assert (ROOT / script).is_file(), where
        case ("pip", "install", *_) | ("python", "-m", "http.server", *_):
            pass
        case _:
            pytest.fail(f"{where}: not a command that the tests know")
