"""The command `rationales`: parse, call, print."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from typer import rich_utils

from rationales import __version__
from rationales.cli import attack, compare, demo, diagnose, explain, lists, report, reproduce, train
from rationales.cli.fields import Once
from rationales.errors import RationalesError

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
"""How the program ends by Ctrl-C, and when it is asked to go: 128 and the number of the signal, as shells have it."""

rich_utils.STYLE_OPTIONS_TABLE_PADDING = (0, 1, 0, 0)  # type: ignore[assignment]  # room for names at 80 columns

COMMANDS = (explain, compare, report, train, attack, lists, demo, diagnose, reproduce)


def build(arguments: Sequence[str]) -> typer.Typer:
    """The command for these arguments.

    Options come from the fields of methods and recipes, which bring PyTorch with them; so only the command that is
    called gets its options, and `rationales --help` answers at once.
    """
    app = typer.Typer(
        name="rationales",
        help="Train, extract, measure and show explanations of neural text models.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    words = [argument for argument in arguments if not argument.startswith("-")]
    for module in COMMANDS:
        module.register(app, words)
    _once(app)
    return app


def _once(app: typer.Typer) -> None:
    """Let no command, nor one of its sub-commands, take an option of one value again."""
    for command in app.registered_commands:
        command.cls = Once
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _once(group.typer_instance)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rationales {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    assert not version  # its callback has ended the program


def main() -> None:
    """Run the command; errors we know are one line, not a traceback."""
    console = Console(stderr=True)

    def tell(message: str, style: str) -> None:
        from rationales.report.terminal import printable  # names in files and data could steer a terminal

        console.print(printable(message), style=style, markup=False, highlight=False, soft_wrap=True)

    def say(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if not issubclass(category, DeprecationWarning | FutureWarning):
            tell(f"warning: {message}", "yellow")

    warnings.showwarning = say
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a mark in its place
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        try:
            build(sys.argv[1:])()
        finally:
            sys.stdout.flush()  # as long as there is somebody to say what goes wrong
    except BrokenPipeError:  # the reader of a pipe, such as head, has had enough
        _drop_output()
        sys.exit(0)
    except (RationalesError, OSError) as error:
        tell(f"error: {error}", "bold red")
        try:
            sys.stdout.flush()
        except OSError:  # it was this that went wrong, and would again when the interpreter goes
            _drop_output()
        sys.exit(2)
    except KeyboardInterrupt:
        tell("stopped", "bold red")
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        if ended.code in (INTERRUPTED, TERMINATED):  # Typer turns Ctrl-C inside a command into this
            tell("stopped", "bold red")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(*_: object) -> None:
    """End in order, as by Ctrl-C: what was begun is put away."""
    sys.exit(TERMINATED)
