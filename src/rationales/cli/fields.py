"""Dataclass fields → command-line options, so that a new field of a method or recipe is a new option at once."""

from __future__ import annotations

import inspect
import types
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from rationales.errors import InputError
from rationales.registry import Option, options_of

DataDir = Annotated[
    str | None, typer.Option("--data-dir", envvar="RATIONALES_DATA", help="Directory of the named data sets.")
]

OnError = Annotated[Literal["fail", "skip"], typer.Option(help="What to do with a bad row.")]
Quotes = Annotated[bool, typer.Option(help="Whether quotation marks enclose fields of CSV and TSV.")]


class Once(TyperCommand):
    """A command that refuses an option of one value where it is given again, and the last would silently win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, list(args))  # the parser eats what it is given
        if ctx.resilient_parsing:  # a shell asks how the line could go on
            return rest
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for given, times in Counter(order).items():
            if times > 1 and not given.multiple:
                flag = "/".join([given.opts[0], *given.secondary_opts[:1]])
                raise InputError(f"{flag} may be given only once, and was given {times} times; leave one of them")
        return rest


@dataclass(frozen=True)
class Given:
    """The options of one object: how each is called on the command line."""

    cls: type
    names: Mapping[str, str]

    def take(self, values: dict[str, Any]) -> Any:
        """Build the object from what was given, which is removed from `values`; the rest keeps its defaults."""
        chosen = {field: values.pop(name) for field, name in self.names.items() if name in values}
        return self.cls(**{field: value for field, value in chosen.items() if value is not None})


def _kind(annotation: Any) -> Any:
    """The type an option has on the command line: lists with commas are strings, None means "not given"."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        return _kind(inner[0]) if len(inner) == 1 else str
    return str if get_origin(annotation) in (tuple, list) else annotation


def parameter(name: str, option: Option, *, panel: str) -> inspect.Parameter:
    """A keyword parameter as Typer reads it; its default is None, "not given", and the help shows the real one.

    Values to choose from stand in the help too, which wraps: in the column of types they would push out the names.
    """
    kind: Any = _kind(option.type)
    flag = "--" + name.replace("_", "-")
    if kind is bool:
        flag += f"/--no-{name.replace('_', '-')}"
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    notes = [f"one of {', '.join(map(str, choices))}"] if choices else []
    notes += [] if option.default in (None, "") else [f"default: {option.default}"]
    text = option.help.rstrip(".") + (f" ({'; '.join(notes)})." if notes else ".")
    metavar = "<choice>" if choices else None
    info = typer.Option(flag, help=text, show_default=False, rich_help_panel=panel, metavar=metavar)
    annotation: Any = Annotated[kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def with_fields(
    command: Callable[..., Any], *objects: tuple[type, str, Callable[[str], str]], merged: Sequence[Any] = ()
) -> Callable[..., Any]:
    """The command with options for the fields of dataclasses behind its own.

    `objects` are (dataclass, panel in the help, field name → option name); the command gets one instance of each
    as positional arguments. `merged` are further parameters; those that were given arrive as `extra`.
    """
    given = []
    signature = inspect.signature(command, eval_str=True)
    parameters = {name: item for name, item in signature.parameters.items() if name not in ("objects", "extra")}
    own = set(parameters)
    for cls, panel, rename in objects:
        assert is_dataclass(cls)
        names = {option.name: rename(option.name) for option in options_of(cls)}
        given.append(Given(cls, names))
        for option in options_of(cls):
            parameters[names[option.name]] = parameter(names[option.name], option, panel=panel)
    for item in merged:
        parameters[item.name] = item

    def run(**values: Any) -> Any:
        instances = tuple(item.take(values) for item in given)
        extra = {name: values.pop(name) for name in list(values) if name not in own}
        keywords: dict[str, Any] = dict(values)
        if "objects" in signature.parameters:
            keywords["objects"] = instances
        if "extra" in signature.parameters:
            keywords["extra"] = {name: value for name, value in extra.items() if value is not None}
        return command(**keywords)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters.values()]
    )
    return run


def without_options(name: str, about: str | None) -> Callable[[], None]:
    """A command of that name and description, for a list of commands; it is never called."""

    def listed() -> None:
        raise AssertionError(f"{name} was listed without its options")

    listed.__name__, listed.__doc__ = name, about
    return listed


def merged_parameters(classes: Mapping[str, type], panel: str, reserved: Collection[str]) -> list[inspect.Parameter]:
    """One parameter for each field that any of the classes has; the help says whose it is.

    Where classes give one name different types, the option is text, and `built` reads it as the chosen class wants it.
    """
    owners: dict[str, dict[str, Option]] = {}
    for name, cls in classes.items():
        for option in options_of(cls):
            if option.name in reserved:
                raise InputError(f"{name} has a field {option.name!r}, which the command uses itself; rename the field")
            owners.setdefault(option.name, {})[name] = option
    return [_merged(name, options, panel) for name, options in sorted(owners.items())]


def _merged(name: str, owners: Mapping[str, Option], panel: str) -> inspect.Parameter:
    kinds = {_kind(option.type) for option in owners.values()}
    by_help: dict[tuple[str, Any], list[str]] = {}
    for owner, option in owners.items():
        by_help.setdefault((option.help.rstrip("."), option.default), []).append(owner)
    text = "; ".join(
        f"{', '.join(names)}: {help}" + ("" if default in (None, "") else f" (default: {default})")
        for (help, default), names in by_help.items()
    )
    return parameter(name, Option(name, kinds.pop() if len(kinds) == 1 else str, None, text), panel=panel)


def built(name: str, cls: type, given: Mapping[str, Any]) -> Any:
    """An instance of the class with the options that were given; one that it does not have is an error."""
    return cls(**read_options(name, options_of(cls), given))


def read_options(name: str, known: Sequence[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given on the command line, as the types of the options that are known."""
    options = {option.name: option for option in known}
    if unknown := sorted(set(given) - set(options)):
        flags = ", ".join("--" + item.replace("_", "-") for item in unknown)
        has = ", ".join("--" + item.replace("_", "-") for item in options) or "none"
        raise InputError(f"{name} has no option {flags}; its options: {has}")
    return {item: _read(options[item], value) for item, value in given.items()}


def _read(option: Option, value: Any) -> Any:
    """Text from the command line as the field's type; lists are separated by commas."""
    if not isinstance(value, str):
        return value
    if get_origin(option.type) in (tuple, list):
        item = get_args(option.type)[0]
        return tuple(_converted(option.name, item, part.strip()) for part in value.split(",") if part.strip())
    return _converted(option.name, _kind(option.type), value)


def _converted(name: str, kind: Any, text: str) -> Any:
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"--{name.replace('_', '-')} must be a number, got {text!r}") from None


def parted(given: str) -> tuple[str, Mapping[str, str]]:
    """`lime:samples=1000:seed=1` → its name and options."""
    name, *options = given.split(":")
    pairs = [option.partition("=") for option in options]
    if wrong := [option for option, (_, sign, _) in zip(options, pairs, strict=True) if not sign]:
        raise InputError(f"options are written name:option=value:option=value; got {wrong[0]!r} in {given!r}")
    names = [option.replace("-", "_") for option, _, _ in pairs]
    if again := [option for option, times in Counter(names).items() if times > 1]:
        raise InputError(
            f"{again[0]} may be given only once, and stands more than once in {given!r}; leave one of them"
        )
    return name, dict(zip(names, (value for _, _, value in pairs), strict=True))
