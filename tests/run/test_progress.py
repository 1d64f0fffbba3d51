"""The time that is left."""

import pytest

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


def test_nobody_watching_nothing_shown(capsys):
    with Steps(["one"], 4, None) as steps:
        steps.done("one", 2, 1.0)
    assert capsys.readouterr() == ("", "")
