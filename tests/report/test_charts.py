"""The charts: the right numbers at the right places, for eyes and for screen readers."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from made_cases import MEASURES, METHODS, summary
from parsed import Element, parsed

from rationales.comparison.types import Curves, Figure, Measure, Standing
from rationales.report import charts, palette, svg
from rationales.report.svg import Box, Scale

LOOKS = svg.looks(METHODS, ("random",), palette.SERIES)
STANDINGS = summary().standings
NAN = math.nan


def standing(method: str, mean: float, seconds: float, curves: Curves | None = None) -> Standing:
    figure = Figure(mean, mean - 0.1, mean + 0.1, 10, 0)
    return Standing("m", method, {}, 1, False, {"comprehensiveness": figure}, seconds, curves)


def drawn(chart: charts.Chart | None) -> Element:
    assert chart is not None
    return parsed(chart.picture)


def places(root: Element) -> dict[str, list[tuple[float, float]]]:
    """The markers of each method, by what their tooltips say."""
    found: dict[str, list[tuple[float, float]]] = {}
    for dot in root.all("path", "dot"):
        x, y = map(float, re.findall(r"[-\d.]+", dot.attributes["transform"]))
        found.setdefault(dot.one("title").text.partition(":")[0], []).append((x, y))
    return found


# Scales


def test_scales_go_from_end_to_end():
    even, root, log = Scale(0, 10, 100, 200), Scale(0, 1, 0, 100, "root"), Scale(0.01, 100, 0, 400, "log")
    assert [even(0), even(5), even(10)] == [100, 150, 200]
    assert [root(0), root(0.25), root(1)] == [0, 50, 100]
    assert [log(0.01), log(0.1), log(1), log(100)] == [0, 100, 200, 400]


@pytest.mark.parametrize("ends", [(0, 1), (-0.013, 0.41), (0.3, 0.3001), (-5e-9, 7e-9), (0, 123456)])
def test_ticks_are_round_few_and_inside(ends):
    ticks = Scale(*ends, 0, 100).ticks()
    assert 3 <= len(ticks) <= 8
    assert ticks == sorted(ticks)
    assert all(ends[0] - 1e-12 <= tick <= ends[1] * (1 + 1e-9) for tick in ticks)
    steps = {f"{b - a:.3g}" for a, b in itertools.pairwise(ticks)}
    assert len(steps) == 1
    assert re.fullmatch(r"(1|2|2\.5|5)(0*)?|0?\.0*(1|2|25|5)|(1|2|2\.5|5)e[-+]\d+", steps.pop())


@pytest.mark.parametrize(("low", "high"), [(0.001, 5), (0.02, 0.5), (1e-6, 1e6), (1, 1.1)])
def test_logarithmic_ticks(low, high):
    ticks = Scale(low, high, 0, 100, "log").ticks()
    assert 1 <= len(ticks) <= 7
    assert all(low <= tick <= high for tick in ticks)


def ticks_of(root: Element) -> tuple[list[str], list[str]]:
    """What is written along both axes: across, and upright."""
    ticks = root.all("text", "tick")
    return tuple(
        [tick.text for tick in ticks if tick.attributes["text-anchor"] == anchor] for anchor in ("middle", "end")
    )


def decimals(ticks: list[str]) -> set[int]:
    return {len(tick.removesuffix(" %").partition(".")[2]) for tick in ticks}


@pytest.mark.parametrize("ends", [(-0.031, 0.24), (0.3, 0.3001), (-0.4, 0.4), (0, 1), (0, 1e5), (-0.00007, 0.0003)])
def test_ticks_have_equal_decimals_and_differ(ends):
    scale = Scale(*ends, 0, 100)
    said = scale.said(scale.ticks())
    assert len(decimals(said)) == 1
    assert len(set(said)) == len(said)
    assert not any(float(tick.replace(",", "").replace("−", "-")) == 0 and "−" in tick for tick in said)


def test_the_axes_of_a_chart_have_equal_decimals():
    curves = Curves((0.0, 0.05, 0.125, 0.5), (0.8, 0.4, 0.1, -0.1), (0.1, 0.2, 0.3, 0.4))
    across, upright = ticks_of(drawn(charts.curves("c", [standing("lime", 0.5, 1, curves)], LOOKS)[0]))
    assert across == ["0.0 %", "5.0 %", "12.5 %", "50.0 %"]
    assert len(upright) > 3
    assert decimals(upright) == {1}
    rows = [standing("lime", 0.2, 3), standing("gradient", 0.15, 0.018)]
    across, upright = ticks_of(drawn(charts.cost("k", rows, MEASURES[0], LOOKS)))
    assert {"0.02", "0.50", "2.00"} <= set(across)
    assert decimals(across) == {2}
    assert decimals(upright) == {2}
    many = [standing("lime", 0.2, 5000), standing("gradient", 0.15, 0.0009)]
    across, _ = ticks_of(drawn(charts.cost("k", many, MEASURES[0], LOOKS)))
    assert across[:4] == ["0.001", "0.01", "0.1", "1"]


def test_numbers_of_the_upright_axis_keep_clear_of_its_label():
    rows = [standing("lime", -0.02, 3), standing("gradient", -0.04, 0.02)]
    close = [
        replace(row, figures={"comprehensiveness": Figure(row.figures["comprehensiveness"].mean, NAN, NAN, 1, 0)})
        for row in rows
    ]
    root = drawn(charts.cost("k", close, MEASURES[0], LOOKS))
    ticks = [tick for tick in root.all("text", "tick") if tick.attributes["text-anchor"] == "end"]
    [label] = [text for text in root.all("text", "label") if "transform" in text.attributes]
    assert "−0.025" in [tick.text for tick in ticks]
    edge = float(label.attributes["x"]) + svg.LINE / 2
    assert all(float(tick.attributes["x"]) - len(tick.text) * svg.LETTER > edge for tick in ticks)


def test_a_scale_around_one_value_has_a_width():
    for values in ([0.0], [0.5], [-3.0, -3.0]):
        scale = svg.fitted(values, 0, 100)
        assert scale.low < values[0] < scale.high
        assert scale.ticks()


def test_labels_keep_apart_in_order_and_inside():
    found = svg.apart([50, 50, 50, 51, 99, 5], gap=10, low=0, high=100)
    ordered = sorted(found)
    assert all(b - a >= 10 - 0.11 for a, b in itertools.pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 100
    assert found[5] == 5
    crowd = svg.apart([1.0] * 40, gap=10, low=0, high=100)  # no room: as far apart as it goes
    assert min(crowd) >= 0
    assert max(crowd) <= 100.1


def test_names_beside_points_do_not_cover_each_other():
    places = {"one": (100, 100), "two": (104, 100), "three": (100, 110), "four": (5, 395)}
    dots = {name: Box(x - 5, y - 20, x + 5, y + 20) for name, (x, y) in places.items()}
    frame, taken = Box(0, 0, 400, 400), Box(109, 80, 200, 120)
    labels = svg.beside([(box, name) for name, box in dots.items()], [taken], frame)
    boxes = [svg._label_box(label, len(name) * svg.LETTER) for label, name in zip(labels, dots, strict=True)]
    for number, box in enumerate(boxes):
        assert sum(box.overlap(other) for other in [*boxes[:number], *dots.values(), taken]) == 0
        assert box.overlap(frame) == pytest.approx((box.right - box.left) * (box.bottom - box.top))


def test_looks_differ_in_colour_dash_and_marker():
    many = svg.looks([f"method {number}" for number in range(30)], ("random",), palette.SERIES)
    assert len(set(many.values())) == 31
    first = list(many.values())[:6]
    for part in ("style", "dash", "marker"):
        assert len({getattr(look, part) for look in first}) == 6
    assert many["random"].style == "floor"


# Curves


def test_curves_go_where_the_numbers_are():
    curves = Curves((0.5, 0.0), (0.2, 0.8), (0.9, 0.4))  # in any order
    without, only = charts.curves("c", [standing("lime", 0.5, 1, curves)], LOOKS)
    ((x0, y0), (x1, y1)) = places(drawn(without))["lime"]
    assert x0 == charts.LEFT
    assert x1 > x0
    assert y1 > y0  # lower on the screen: the probability falls
    ((_, y0), (_, y1)) = places(drawn(only))["lime"]
    assert y1 < y0
    assert without.heads == ("method", "0 %", "50 %")
    assert without.rows == (("lime", "0.800", "0.200"),)
    assert only.rows == (("lime", "0.400", "0.900"),)


def test_where_all_tokens_are_gone_all_methods_meet_and_nothing_is_drawn():
    curves = Curves((0.0, 0.01, 0.011, 0.5, 1.0), (0.9, 0.8, 0.7, 0.6, 0.5), (0.1, 0.2, 0.3, 0.4, 0.9))
    without, _ = charts.curves("c", [standing("lime", 0.5, 1, curves)], LOOKS)
    assert len(places(drawn(without))["lime"]) == 4
    assert without.rows[0][-1] == "0.500"  # but it is among the numbers
    said = [text.text for text in drawn(without).all("text", "tick") if text.text.endswith("%")]
    assert said == ["0 %", "1 %", "50 %"]  # 1.1 % would touch 1 %


def test_every_method_has_a_line_with_its_dash_a_name_and_its_numbers():
    without, _ = charts.curves("c", STANDINGS, LOOKS)
    root = drawn(without)
    lines = root.all("path", "curve")
    assert len(lines) == len(METHODS)
    assert len({(line.attributes["class"], line.attributes["stroke-dasharray"]) for line in lines}) == len(METHODS)
    assert [text.text for text in root.all("text", "name")] == list(METHODS)
    assert [row[0] for row in without.rows] == list(METHODS)


def test_a_chart_is_an_image_with_a_title_and_a_description():
    for chart in [*charts.curves("c", STANDINGS, LOOKS), charts.cost("k", STANDINGS, MEASURES[0], LOOKS)]:
        (image,) = drawn(chart).inside
        assert image.attributes["role"] == "img"
        title, about = image.attributes["aria-labelledby"].split()
        texts = {e.attributes["id"]: e.text for e in image.all() if "id" in e.attributes}
        assert texts[title] == chart.title
        assert "integrated_gradients" in texts[about]
        assert not any("style" in e.attributes for e in image.all())  # the policy of the page forbids them
        assert "#" not in chart.picture  # colours are the theme's


def test_what_is_not_finite_is_left_out():
    holes = Curves((0.0, 0.1, 0.2), (0.9, NAN, 0.5), (NAN, NAN, NAN))
    (without,) = charts.curves("c", [standing("lime", 0.5, 1, holes), standing("gradient", 0.5, 1)], LOOKS)
    assert len(places(drawn(without))["lime"]) == 2
    assert without.rows == (("lime", "0.900", "0.500"),)
    assert charts.curves("c", [standing("lime", 0.5, 1)], LOOKS) == []
    huge = [standing("lime", 1.7e308, 1), standing("gradient", -1.7e308, 1), standing("attention", 0.5, 1)]
    assert set(places(drawn(charts.cost("k", huge, MEASURES[0], LOOKS)))) == {"attention"}
    odd = [standing("lime", NAN, 1), standing("gradient", 0.5, NAN), standing("attention", 0.5, 0)]
    assert charts.cost("k", odd, MEASURES[0], LOOKS) is None


# Cost


def test_cost_puts_the_dear_right_and_the_good_up():
    rows = [standing("lime", 0.2, 10), standing("gradient", 0.6, 0.1), standing("random", 0.05, 0.001)]
    root = drawn(charts.cost("k", rows, MEASURES[0], LOOKS))
    found = places(root)
    assert set(found) == {"lime", "gradient"}
    ((lime_x, lime_y),), ((gradient_x, gradient_y),) = found["lime"], found["gradient"]
    assert lime_x > gradient_x
    assert lime_y > gradient_y
    floor = root.one("line", "floorline")
    assert float(floor.attributes["y1"]) > lime_y
    assert "random 0.050" in root.text
    assert "(higher is better)" in root.text
    low = Measure("comprehensiveness", "low", {})
    assert "(lower is better)" in drawn(charts.cost("k", rows, low, LOOKS)).text


def test_a_figure_without_an_interval_is_still_drawn():
    bare = replace(standing("lime", 0.4, 2), figures={"comprehensiveness": Figure(0.4, NAN, NAN, 1, 0)})
    root = drawn(charts.cost("k", [bare], MEASURES[0], LOOKS))
    assert not root.all("line", "whisker")
    assert places(root)["lime"]


def test_names_from_outside_are_text():
    name = '"><script>x</script>' + "x" * 50
    looks = svg.looks([name], ("random",), palette.SERIES)
    rows = [standing(name, 0.4, 2, Curves((0.0, 1.0), (1.0, 0.0), (0.0, 1.0)))]
    measure = Measure("comprehensiveness", "high", {})
    for chart in [*charts.curves("c", rows, looks), charts.cost("k", rows, measure, looks)]:
        root = drawn(chart)
        assert {e.tag for e in root.all()} <= {"svg", "title", "desc", "line", "text", "path"}
        assert any(text.text == name[:21] + "…" for text in root.all("text"))


# In the table


def test_an_interval_in_a_table():
    root = parsed(charts.interval(Figure(0.5, 0.4, 0.6, 9, 0), 0.0, 0.0, 1.0, LOOKS["lime"]))
    (whisker,) = root.all("line", "whisker")
    assert float(root.one("circle").attributes["cx"]) == 48
    assert float(whisker.attributes["x1"]) < 48 < float(whisker.attributes["x2"])
    assert float(root.one("line", "floortick").attributes["x1"]) == 5
    assert root.inside[0].attributes["aria-hidden"] == "true"
    assert charts.interval(Figure(NAN, NAN, NAN, 0, 9), 0.0, 0.0, 1.0, LOOKS["lime"]) == ""
    assert charts.interval(Figure(0.5, 0.5, 0.5, 1, 0), 0.5, 0.5, 0.5, LOOKS["lime"]) == ""
