"""The code of the docs: which blocks a page has, and how each is run.

A `python` block is run, page by page from the top, in one namespace. A line that begins with `# ` is what the block
prints. A block that begins with `>>>` is a doctest. In a `console` block, every line that begins with `$ rationales`
is run; output below it is for people. A `python` block is left out only where the page gives the reason in a line
before it, `<!-- not run: … -->`; it must still be Python.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"<!-- not run: (.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its code, the line it begins at, and why it is not run, if it is not."""

    language: str
    code: str
    line: int
    reason: str

    @property
    def printed(self) -> list[str]:
        """What the block says that it prints."""
        return [line.removeprefix("# ") for line in self.code.splitlines() if line.startswith("# ")]

    @property
    def commands(self) -> list[Command]:
        """The commands of a console block; a backslash at the end of a line joins it to the next."""
        joined = self.code.replace("\\\n", " ")
        return [Command.read(line[2:]) for line in joined.splitlines() if line.startswith("$ ")]


@dataclass(frozen=True)
class Command:
    """A command line: its words, and the file whose content goes into it (`cat FILE | …`)."""

    words: tuple[str, ...]
    stdin: str = ""

    @classmethod
    def read(cls, line: str) -> Command:
        words = shlex.split(line, comments=True)
        if words[:1] == ["cat"] and words[2:3] == ["|"]:
            return cls(tuple(words[3:]), words[1])
        return cls(tuple(words))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        before, (indent, language, code) = text[: match.start()], match.groups()
        reason = REASON.search(before)
        plain = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        found.append(Block(language, plain, before.count("\n") + 1, reason[1] if reason else ""))
    return found


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))
