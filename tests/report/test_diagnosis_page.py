"""Charts of training runs, and the page of a diagnosis drawn from its JSON."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest
from parsed import Element, parsed

from rationales.report import palette, svg
from rationales.report.charts import BOTTOM, LEFT, RIGHT, Chart
from rationales.report.diagnosis import findings, sections, write_diagnosis
from rationales.report.trends import Line, Spread, Words, bars, trend

LOOKS = svg.looks(("rnp", "ver"), (), palette.SERIES)
WORDS = Words("Title", "Note.", "updates", "F1")


def points(*values: tuple[float, float, float, float]) -> tuple[tuple[float, Spread], ...]:
    return tuple((x, Spread(mean, low, high)) for x, mean, low, high in values)


def drawn(chart: Chart | None) -> Element:
    assert chart is not None
    return parsed(chart.picture)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?[\d.]+", text)]


# Lines


def test_a_line_lies_in_its_band() -> None:
    line = Line("rnp", LOOKS["rnp"], points((10, 0.2, 0.1, 0.4), (20, 0.5, 0.5, 0.5)))
    root = drawn(trend("t", WORDS, [line]))
    x0, high, x1, same, x2, same_again, x3, low = numbers(root.one("path", "band").attributes["d"])
    assert (x0, x1) == (x3, x2)
    assert same == same_again
    a, mean, b, end = numbers(root.one("path", "curve").attributes["d"])
    assert (a, b) == (x0, x1)
    assert end == same
    assert high < mean < low  # on a page, up is less
    assert LEFT < a < b == RIGHT
    assert [dot.one("title").text for dot in root.all("path", "dot")] == [
        "rnp: 0.200 after 10 updates",
        "rnp: 0.500 after 20 updates",
    ]


def test_the_numbers_of_lines_stand_in_a_table() -> None:
    lines = [
        Line("rnp", LOOKS["rnp"], points((10, 0.2, 0.1, 0.4), (20, 0.5, 0.5, 0.5))),
        Line("ver", LOOKS["ver"], points((20, 0.7, 0.6, 0.8))),
    ]
    chart = trend("t", WORDS, lines)
    assert chart is not None
    assert chart.heads == ("updates", "10", "20")
    assert chart.rows == (("rnp", "0.200 (0.100 to 0.400)", "0.500"), ("ver", "–", "0.700 (0.600 to 0.800)"))
    assert "At the right end: rnp 0.500, ver 0.700." in drawn(chart).one("desc").text


def test_scales_begin_at_zero_unless_they_need_not() -> None:
    line = Line("rnp", LOOKS["rnp"], points((10, 0.8, 0.8, 0.8), (20, 0.9, 0.9, 0.9)))

    def ticks(chart: Chart | None) -> list[str]:
        return [text.text for text in drawn(chart).all("text", "tick")]

    assert "0.5" not in ticks(trend("t", WORDS, [line], from_zero=False))
    assert "0.2" in ticks(trend("t", WORDS, [line]))
    zeros = Line("rnp", LOOKS["rnp"], points((10, 0.0, 0.0, 0.0)))
    assert drawn(trend("t", WORDS, [zeros])).one("path", "curve")


def test_without_points_there_is_no_chart() -> None:
    assert trend("t", WORDS, [Line("rnp", LOOKS["rnp"], ())]) is None
    assert bars("b", WORDS, {"0": {"rnp": None}}, {"rnp": LOOKS["rnp"]}) is None


def test_what_is_no_number_is_left_out_of_a_spread() -> None:
    assert Spread.of([math.nan, 1.0, math.inf]) == Spread(1.0, 1.0, 1.0)
    assert Spread.of([math.nan]) is None
    assert Spread.of([]) is None


# Bars


def test_bars_are_as_high_as_their_means() -> None:
    groups: dict[str, dict[str, Spread | None]] = {
        "0": {"rnp": Spread(0.5, 0.4, 0.6), "ver": Spread(1.0, 1.0, 1.0)},
        "0.3": {"rnp": None, "ver": Spread(0.25, 0.25, 0.25)},
    }
    chart = bars("b", WORDS, groups, {kind: LOOKS[kind] for kind in ("rnp", "ver")})
    root = drawn(chart)
    rects = [
        {name: float(rect.attributes[name]) for name in ("x", "y", "width", "height")} for rect in root.all("rect")
    ]
    heights = [rect["height"] for rect in rects]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.2)
    assert heights[2] == pytest.approx(heights[0] / 2, abs=0.2)
    assert all(rect["y"] + rect["height"] == pytest.approx(BOTTOM, abs=0.1) for rect in rects)
    lefts, rights = [rect["x"] for rect in rects], [rect["x"] + rect["width"] for rect in rects]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))
    assert lefts[0] > LEFT
    assert rights[-1] < RIGHT
    assert chart is not None
    assert chart.rows == (("0", "0.500 (0.400 to 0.600)", "1.000"), ("0.3", "–", "0.250"))


# The page


def run(method: str, rate: float, seed: int, **measures: list[float | None]) -> dict[str, Any]:
    updates = [10 * (place + 1) for place in range(len(next(iter(measures.values()))))]
    return {"method": method, "rate": rate, "seed": seed, "updates": updates, **measures}


def curve(method: str, rate: float, seed: int) -> dict[str, Any]:
    names = ("non_overlap", "f1", "train_accuracy", "dev_accuracy", "lipschitz", "accuracy")
    return run(method, rate, seed, **{name: [0.1 * seed, 0.2 * seed] for name in names})


def best(rate: float, seed: int) -> dict[str, Any]:
    names = ("f1", "accuracy", "sparsity", "entropy", "marked_accuracy", "marked_entropy", "lipschitz")
    return run("ver" if rate else "rnp", rate, seed, **{name: [0.3 * seed] for name in names})


CONTENT: dict[str, Any] = {
    "command": "rationales diagnose --seeds 1,2",
    "versions": {"rationales": "0.1.0"},
    "hardware": {"cores": 2},
    "data": {"name": "planted <reviews>", "train": 2000, "marked": 300},
    "seeds": [1, 2],
    "options": {"rates": [0.0, 0.3], "hidden": 32},
    "curves": [curve(method, rate, seed) for method, rate in (("rnp", 0.0), ("ver", 0.3)) for seed in (1, 2)],
    "sweep": [best(rate, seed) for rate in (0.0, 0.3, 0.6) for seed in (1, 2)],
    "predictors": [run("random_selection", 0.0, seed, train_accuracy=[0.5, 0.6]) for seed in (1, 2)],
    "selectors": [curve("held_predictor", 0.0, seed) for seed in (1, 2)],
}


def test_the_page_has_all_charts_and_asks_for_nothing(tmp_path) -> None:
    page = write_diagnosis(CONTENT, tmp_path / "page.html").read_text(encoding="utf-8")
    root = parsed(page.removeprefix("<!doctype html>"))
    assert len(root.all("svg", "chart")) == 9
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert not root.all("script")
    assert any("default-src 'none'" in meta.attributes.get("content", "") for meta in root.all("meta"))
    assert "planted <reviews>: 2,000 training texts, measured on 300 texts" in root.one("main").text
    assert root.one("code").text == CONTENT["command"]
    assert not re.search(r'(src|href)="', page)


def test_findings_are_those_of_the_numbers() -> None:
    rnp, ver, control = findings(CONTENT)
    assert rnp.startswith("RNP: two choices in a row differ by 30 % at the end.")
    assert "an F1 of 0.450; the predictor is right for 45 % of the texts" in ver
    assert "a selector ends with an F1 of 0.300 and an accuracy of 30 %" in control


def test_the_control_goes_on_where_its_predictor_ended() -> None:
    (chart,) = sections(CONTENT)[-1].charts
    assert chart.heads == ("updates", "10", "20", "30", "40")
    assert {name: values for name, *values in chart.rows}["F1"][:2] == ["–", "–"]
    turn = float(drawn(chart).one("line", "turn").attributes["x1"])
    assert turn == (LEFT + RIGHT) / 2


def test_what_was_not_measured_is_not_drawn(tmp_path) -> None:
    content = copy.deepcopy(CONTENT)
    content["predictors"] = content["selectors"] = []
    content["sweep"] = content["sweep"][:2]
    for trace in content["curves"]:
        trace["lipschitz"] = [None, None]
    assert [section.title for section in sections(content)] == [
        "Does the selector still explore?",
        "Does the predictor recognise what people marked?",
    ]
    assert "Steepness of the predictor" not in [chart.title for chart in sections(content)[0].charts]
    assert len(findings(content)) == 2
    write_diagnosis(content, tmp_path / "page.html")


def test_text_from_outside_stays_text(tmp_path) -> None:
    content = {**CONTENT, "command": "rationales diagnose --data '<script>x</script>'"}
    root = parsed(write_diagnosis(content, tmp_path / "p.html").read_text("utf-8").removeprefix("<!doctype html>"))
    assert not root.all("script")
    assert root.one("code").text == content["command"]
