"""The command `rationales`: parse, call, print."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

from rationales import __version__
from rationales.cli import compare, demo, explain, lists, train
from rationales.errors import RationalesError

COMMANDS = (explain, compare, train, lists, demo)


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
    called = next((argument for argument in arguments if not argument.startswith("-")), "")
    for module in COMMANDS:
        module.register(app, called)
    return app


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

    def say(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if not issubclass(category, DeprecationWarning | FutureWarning):
            console.print(f"warning: {message}", style="yellow", markup=False, highlight=False)

    warnings.showwarning = say
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a mark in its place
    try:
        build(sys.argv[1:])()
    except BrokenPipeError:  # the reader of a pipe, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (RationalesError, OSError) as error:
        console.print(f"error: {error}", style="bold red", markup=False, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("stopped", style="bold red")
        sys.exit(130)
