"""What is done and the time that is left, in a bar or in lines."""

import sys

import pytest

from rationales.run import progress
from rationales.run.progress import Steps


def test_time_left_is_what_each_kind_has_to_do_times_what_it_costs():
    with Steps(["slow", "fast"], 10, False) as steps:
        assert steps.remaining() is None
        steps.done("slow", 5, 50.0)
        assert steps.remaining() == pytest.approx(5 * 10 + 10 * 10)  # nothing is known of the fast one
        steps.done("fast", 5, 0.5)
        assert steps.remaining() == pytest.approx(5 * 10 + 5 * 0.1)
        steps.done("slow", 5, None)  # had been done before
        assert steps.remaining() == pytest.approx(0.5)


def test_the_bar_shows_what_is_done_and_the_time_left(capsys):
    with Steps(["one"], 4, True) as steps:
        steps.begin("one")
        steps.done("one", 2, 7200.0)
    shown = capsys.readouterr().err
    assert "one" in shown
    assert "50 %" in shown
    assert "2:00:00 left" in shown


def test_where_there_is_no_terminal_a_line_now_and_then(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    def said(step, *given, after):
        now[0] += after
        step(*given)
        return capsys.readouterr()

    with Steps(["one", "two"], 20, None) as steps:
        assert said(steps.begin, "one", after=0) == ("", "")
        assert said(steps.begin, "one", after=10) == ("", "one: 0 of 40 explanations done\n")
        assert said(steps.done, "one", 5, 3.0, after=3) == ("", "")
        assert said(steps.done, "one", 5, 7.0, after=7) == ("", "one: 10 of 40 explanations done, 0:00:30 left\n")
        assert said(steps.done, "one", 10, 2.0, after=2) == (
            "",
            "one finished: 20 of 40 explanations done, 0:00:12 left\n",
        )
        assert said(steps.begin, "two", after=9) == ("", "")
        assert said(steps.begin, "two", after=1) == ("", "two: 20 of 40 explanations done, 0:00:12 left\n")
        assert said(steps.done, "two", 20, None, after=0) == ("", "")  # had been done before


@pytest.mark.parametrize("wanted", [True, None])
def test_a_terminal_shows_no_lines(wanted, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Steps(["one"], 4, wanted) as steps:
        steps.begin("one")
        steps.done("one", 4, 1.0)
    assert "explanations" not in capsys.readouterr().err


def test_nothing_is_shown_to_those_who_want_nothing(capsys):
    with Steps(["one"], 4, False) as steps:
        steps.begin("one")
        steps.done("one", 4, 1.0)
    assert capsys.readouterr() == ("", "")
