"""The reader of the docs' code sees what is there: otherwise a page could be wrong and nobody would know."""

from __future__ import annotations

import pytest
from blocks import Command, blocks

PAGE = """# Page

```python
x = 1  # a remark
print(x)
# 1
```

<!-- not run: needs the moon -->
```python
import moon
```

```console
$ rationales explain --model m \\
    "a text"   # a remark
some output
$ cat texts.txt | rationales explain --json
```
"""


@pytest.fixture
def found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return blocks(page)


def test_blocks_have_their_language_their_place_and_a_reason_not_to_be_run(found):
    assert [(block.language, block.line, block.reason) for block in found] == [
        ("python", 3, ""),
        ("python", 10, "needs the moon"),
        ("console", 14, ""),
    ]


def test_what_a_block_prints_begins_its_line(found):
    assert found[0].printed == ["1"]


def test_commands_are_joined_and_fed(found):
    assert found[2].commands == [
        Command(("rationales", "explain", "--model", "m", "a text")),
        Command(("rationales", "explain", "--json"), "texts.txt"),
    ]
