"""Options of one value are given once; those of several values as often as wanted."""

from __future__ import annotations

import sys

import pytest
import typer

from rationales.cli import build, main
from rationales.cli.fields import Once, parted
from rationales.errors import InputError


@pytest.fixture
def refused(monkeypatch, capsys):
    """What the command says of arguments that it refuses."""

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["rationales", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (2, "")
        return err

    return run


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("attack", "--model", "m", "--data", "a", "--data", "b"), "--data"),
        (("attack", "--model", "m", "--data=a", "--seed", "1", "--seed=2"), "--seed"),
        (("train", "classifier", "--data", "a", "--data", "b"), "--data"),
        (("train", "rnp", "--data", "a", "--epochs", "1", "--epochs", "1"), "--epochs"),
        (("train", "fresh", "--data", "a", "--data", "b"), "--data"),
        (("explain", "--model", "one", "-m", "two", "a text"), "--model"),
        (("explain", "--model", "one", "--samples", "5", "--samples", "6", "a text"), "--samples"),
        (("compare", "--model", "m", "--data", "a", "--page", "--no-page"), "--page/--no-page"),
    ],
)
def test_the_last_of_two_values_does_not_win_silently(refused, arguments, flag):
    assert refused(*arguments) == f"error: {flag} may be given only once, and was given 2 times; leave one of them\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("attack", "--model", "one", "-m", "two", "--data", "a.csv"),
        ("compare", "--model", "one", "-m", "two", "--data", "a.csv", "--data", "b.csv"),
        ("compare", "--model", "one", "--method", "lime", "--method", "random", "--data", "a.csv"),
    ],
)
def test_options_of_several_values_may_be_given_again(refused, arguments):
    assert "a.csv" in refused(*arguments)  # which is not there


def test_what_stands_behind_two_dashes_is_no_option(refused):
    arguments = ("explain", "--model", "one", "--limit", "0", "--", "--target", "--target")
    assert refused(*arguments) == "error: --limit must be at least 1, got 0\n"


def test_help_is_given_also_where_an_option_was_given_again(capsys):
    with pytest.raises(SystemExit) as ended:
        build(["attack"])(["attack", "--data", "a", "--data", "b", "--help"])
    assert ended.value.code == 0
    assert "--alternatives" in capsys.readouterr().out


def commands(group, names=()):
    """Every command there is, by its names."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, (*names, name))
        else:
            yield (*names, name), each


@pytest.mark.parametrize("words", [["attack"], ["train", "esim"], ["train", "diffmask"], ["methods"]], ids=" ".join)
def test_no_command_is_left_out(words):
    found = dict(commands(typer.main.get_command(build(words))))
    assert tuple(words) in found
    assert [names for names, each in found.items() if not isinstance(each, Once)] == []


def test_an_option_behind_a_name_stands_there_once():
    assert parted("lime:samples=5:seed=1") == ("lime", {"samples": "5", "seed": "1"})
    with pytest.raises(InputError, match=r"keep_only may be given only once.*'lime:keep-only=5:keep_only=6'"):
        parted("lime:keep-only=5:keep_only=6")


def test_an_option_stands_behind_the_name_of_a_method_or_by_itself(refused):
    said = refused("explain", "--model", "one", "--method", "lime:samples=5", "--samples", "6", "a text")
    assert said == "error: samples is given in --method lime:samples=5 and as --samples too; leave one of them\n"


def test_a_shell_may_complete_a_line_that_would_be_refused():
    command = typer.main.get_command(build(["attack"])).commands["attack"]
    with command.make_context("attack", ["--data", "a", "--data", "b"], resilient_parsing=True) as context:
        assert context.params["data"] == "b"
