"""The page on data tells the truth: its code runs and prints what it says, and it names every data set."""

import re
from pathlib import Path

from rationales.data import named_sets
from rationales.data.columns import Columns
from rationales.registry import options_of

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def test_the_code_prints_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) > 3
    for block in blocks:
        exec(block, scope)
        said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
        printed = capsys.readouterr().out.splitlines()
        assert not said or printed == said


def test_every_name_and_every_field_is_on_the_page():
    for name in (*named_sets, *(option.name for option in options_of(Columns))):
        assert f"`{name}`" in PAGE
