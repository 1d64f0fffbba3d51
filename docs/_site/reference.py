"""The reference: signatures and docstrings, read from the source without importing it, where a page says
`<!-- reference: module name, name as package -->`; the package is where users import them from.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

SOURCE = Path(__file__).parents[2] / "src"
MARK = re.compile(r"<!-- reference: (\S+) (.+?) as (\S+) -->")
Documented = ast.FunctionDef | ast.ClassDef
WIDTH = 100


@cache
def module(name: str) -> ast.Module:
    """The syntax tree of a module."""
    path = SOURCE / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def entry(home: str, name: str, package: str) -> str:
    """One function or class as Markdown: signature, docstring and, for a class, its public methods."""
    node = _find(module(home).body, name, home)
    parts = [f"### `{name}`", _code(_signature(node, f"{package}.{name}")), _docstring(node)]
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and ast.get_docstring(member):
                parts += [f"**`{name}.{member.name}`**", _code(_signature(member, member.name)), _docstring(member)]
    return "\n\n".join(part for part in parts if part)


def _find(body: list[ast.stmt], name: str, home: str) -> Documented:
    for node in body:
        if isinstance(node, Documented) and node.name == name:
            return node
    raise LookupError(f"docs/api.md asks for {name}, which {home} does not define")


def _signature(node: Documented, shown: str) -> str:
    if isinstance(node, ast.FunctionDef):
        made = [ast.unparse(item) for item in node.decorator_list if isinstance(item, ast.Name)]
        if "property" in made:
            return f"{shown}: {ast.unparse(node.returns)}" if node.returns else shown
        arguments = [text for text in _arguments(node.args) if text not in ("self", "cls")]
        end = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return _call(shown, arguments, end)
    started = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if started is not None:
        return _call(shown, _arguments(started.args)[1:], "")
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item)]
    return _call(shown, [_field(item) for item in fields], "")


def _field(item: ast.AnnAssign) -> str:
    default = item.value
    if isinstance(default, ast.Call) and ast.unparse(default.func) == "option":
        default = default.args[0]
    end = "" if default is None else " = ..." if isinstance(default, ast.Call) else f" = {ast.unparse(default)}"
    return f"{ast.unparse(item.target)}: {ast.unparse(item.annotation)}{end}"


def _arguments(given: ast.arguments) -> list[str]:
    """The arguments one by one, `*` among them."""
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    found = [_argument(item, default) for item, default in zip(plain, defaults, strict=True)]
    if given.vararg or given.kwonlyargs:
        found.append(f"*{_argument(given.vararg, None)}" if given.vararg else "*")
    found += [_argument(item, default) for item, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [*found, *([f"**{_argument(given.kwarg, None)}"] if given.kwarg else [])]


def _argument(item: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(item.annotation)}" if item.annotation else ""
    end = "" if default is None else f" = {ast.unparse(default)}" if kind else f"={ast.unparse(default)}"
    return item.arg + kind + end


def _call(name: str, arguments: list[str], end: str) -> str:
    line = f"{name}({', '.join(arguments)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){end}"


def _code(signature: str) -> str:
    return f"```py\n{signature}\n```"


def _docstring(node: Documented) -> str:
    """The docstring, its examples as code."""
    lines, example = [], False
    for line in inspect.cleandoc(ast.get_docstring(node) or "").splitlines():
        begins = line.startswith(">>>")
        if begins and not example:
            lines.append("```pycon")
        elif example and not line.strip():
            lines.append("```")
        example = begins or (example and bool(line.strip()))
        lines.append(line)
    return "\n".join([*lines, *(["```"] if example else [])])


def replace(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put the entries where the page wants them."""

    def entries(match: re.Match[str]) -> str:
        return "\n\n".join(entry(match[1], name.strip(), match[3]) for name in match[2].split(","))

    source[0] = MARK.sub(entries, source[0])


def setup(app: Sphinx) -> ExtensionMetadata:
    """What Sphinx calls."""
    app.connect("source-read", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
