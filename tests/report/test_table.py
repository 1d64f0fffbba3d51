"""A comparison in a terminal and in a pipe."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rationales.comparison import Agreement, Figure, Measure, Standing, Summary
from rationales.report.table import print_summary

NAN = float("nan")


def figure(mean: float, gain: float = NAN) -> Figure:
    return Figure(mean, mean - 0.05, mean + 0.05, 50, 0, (gain, gain + 0.1))


def summary(**changes) -> Summary:
    measures = (Measure("comprehensiveness", "high", {}), Measure("sufficiency", "low", {}, ()))
    figures = {"comprehensiveness": figure(0.5, 0.3), "sufficiency": figure(0.1, -0.2)}
    floor = {"comprehensiveness": figure(0.111), "sufficiency": figure(0.4)}
    single = {"comprehensiveness": Figure(0.49, NAN, NAN, 1, 49), "sufficiency": Figure(NAN, NAN, NAN, 0, 50)}
    standings = (
        Standing("m", "lime(samples=10)", {}, 1, True, figures, 12.5, notes=("it wobbles",)),
        Standing("m", "deeplift", {}, 2, True, single, 0.25),
        Standing("m", "random", {}, 3, False, floor, 0.001),
        Standing("m", "attention", {}, 0, False, {}, NAN, failure="no attention [bold]here[/]"),
    )
    agreement = Agreement("m", ("lime(samples=10)", "deeplift"), ((1.0, 0.25), (0.25, NAN)))
    given = {
        "command": "rationales compare",
        "data": "[red]reviews[/]",
        "models": ("m",),
        "texts": 1234,
        "tokens": 9,
        "measures": measures,
        "ranked_by": "comprehensiveness",
        "standings": standings,
        "agreements": (agreement,),
        "advice": {"m": "Take `lime`. \x1b[31mIt is good."},
        "versions": {},
        "hardware": {},
    }
    return Summary(**{**given, **changes})


@pytest.fixture(params=[False, True], ids=["pipe", "terminal"])
def shown(request) -> str:
    file = io.StringIO()
    print_summary(summary(), Console(file=file, force_terminal=request.param, width=120, color_system=None))
    return file.getvalue()


def lines_with(shown: str, *words: str) -> list[str]:
    return [line for line in shown.splitlines() if all(word in line for word in words)]


def test_each_method_has_a_row_with_figures_and_cost(shown):
    [row] = lines_with(shown, "lime(samples=10)", "0.500 [0.450, 0.550]")
    assert row.split()[0] == "1"
    assert "12" in row.split()[-1]
    assert lines_with(shown, "0.100 [0.050, 0.150] ○")  # not clearly better than random


def test_ties_the_floor_and_what_is_undefined(shown):
    [row] = lines_with(shown, "2=", "deeplift")
    assert "0.490 ○" in row
    assert "–" in row
    assert lines_with(shown, "random: 0.111", "random: 0.400")


def test_failures_notes_and_advice_are_printed_as_they_are(shown):
    assert lines_with(shown, "attention", "could not run")
    assert "it wobbles" in shown
    assert "Take `lime`." in shown
    assert "\x1b[31m" not in shown  # what a user's name says must not steer the terminal
    assert "[red]reviews" in shown


def test_agreement(shown):
    assert lines_with(shown, "1 lime(samples=10)", "1.00", "0.25")
    assert lines_with(shown, "2 deeplift", "0.25", "–")


def test_method_names_are_whole_at_80_columns():
    methods = tuple(f"a_method_of_some_length_{number:02}" for number in range(14))
    agreement = Agreement("m", methods, tuple(tuple(0.5 for _ in methods) for _ in methods))
    usual = summary()
    named = (replace(usual.standings[0], method=methods[0]), *usual.standings[1:])
    file = io.StringIO()
    given = summary(agreements=(agreement,), standings=named)
    print_summary(given, Console(file=file, force_terminal=True, width=80, color_system=None))
    shown = file.getvalue()
    assert "…" not in shown
    rows = [line.split() for line in lines_with(shown, methods[-1])]
    assert [row[:2] for row in rows] == [["14", methods[-1]], ["14", methods[-1]]]
    assert sum(row.count("0.50") for row in rows) == 14
    assert lines_with(shown, methods[0], "0.500")


def test_what_rounds_to_nothing_has_no_sign():
    nothing = Figure(-0.0001, -0.0002, -0.0001, 50, 0, (-0.0004, -0.0001))
    standing = Standing("m", "lime", {}, 1, False, {"comprehensiveness": nothing, "sufficiency": nothing}, 1.0)
    file = io.StringIO()
    print_summary(summary(standings=(standing,), agreements=()), Console(file=file, width=120, color_system=None))
    assert "0.000 [0.000, 0.000]" in file.getvalue()
    assert "-0.000" not in file.getvalue()


def test_directions(shown):
    assert "comprehensiveness ↑" in shown
    assert "sufficiency ↓" in shown
