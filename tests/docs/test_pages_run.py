"""Every piece of Python on every page runs, and prints what the page says it prints."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest
from blocks import PAGES, Block, blocks, name

WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_the_code_of_the_page_runs(page: Path, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.language != "python":
            continue
        where = f"{name(page)}, line {block.line}"
        if block.reason:
            ast.parse(block.code, where)
        elif block.code.startswith(">>>"):
            _doctest(block, space, where)
        else:
            exec(compile("\n" * block.line + block.code, where, "exec"), space)
            printed = capsys.readouterr().out.splitlines()
            assert not block.printed or printed == block.printed, where


def _doctest(block: Block, space: dict[str, object], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, space, where, where, block.line)
    said: list[str] = []
    runner = doctest.DocTestRunner()
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    space.update(test.globs)
    assert not failed, "".join(said)
