"""Names → objects, and the options of those objects.

A method or metric registers itself under a name; the command, the comparison and the docs find it there.
Packages of other people add theirs through the entry-point groups `rationales.explainers` and
`rationales.metrics`, or simply by using the decorator before calling us.
"""

from __future__ import annotations

import dataclasses
import difflib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar, get_type_hints

from rationales.errors import InputError, UnknownName

T = TypeVar("T")
S = TypeVar("S")


class Registry(Mapping[str, T]):
    """A read-only mapping from names to objects, filled by decorators.

    >>> colours: Registry[type] = Registry("colour")
    >>> @colours("red")
    ... class Red: ...
    >>> colours["rde"]
    Traceback (most recent call last):
    rationales.errors.UnknownName: no colour is called 'rde'; did you mean 'red'? Known: red
    """

    def __init__(self, kind: str, *, plugins: str | None = None) -> None:
        self.kind = kind
        self._objects: dict[str, T] = {}
        self._plugins = plugins

    def __call__(self, name: str) -> Callable[[S], S]:
        def register(thing: S) -> S:
            if name in self._objects:
                raise InputError(f"a second {self.kind} called {name!r} was registered; choose another name")
            self._objects[name] = thing  # type: ignore[assignment]
            return thing

        return register

    def _load_plugins(self) -> None:
        if self._plugins is not None:
            group, self._plugins = self._plugins, None
            for point in entry_points(group=group):
                try:
                    point.load()
                except Exception as error:  # somebody else's package must not break ours
                    warnings.warn(
                        f"the {self.kind} {point.name!r} of another package is left out: {error}", stacklevel=4
                    )

    def __getitem__(self, name: str) -> T:
        self._load_plugins()
        try:
            return self._objects[name]
        except KeyError:
            raise unknown(self.kind, name, self) from None

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._objects

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter(sorted(self._objects))

    def __len__(self) -> int:
        self._load_plugins()
        return len(self._objects)


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """What to tell a user who asked for something that is not there."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return UnknownName(f"no {kind} is called {name!r}{hint} Known: {', '.join(names)}")


def option(default: Any, help: str) -> Any:
    """A dataclass field that is also a command-line option: its default and one sentence of help."""
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True)
class Option:
    """One field of a method or recipe, as the command and the docs need it."""

    name: str
    type: Any
    default: Any
    help: str


def options_of(cls: type) -> tuple[Option, ...]:
    """The fields of a dataclass as options, in order."""
    hints = get_type_hints(cls)
    return tuple(
        Option(field.name, hints[field.name], field.default, field.metadata.get("help", ""))
        for field in dataclasses.fields(cls)
    )


def summary(thing: object) -> str:
    """The first line of a docstring, which is what lists show."""
    return (thing.__doc__ or "").strip().split("\n")[0]
