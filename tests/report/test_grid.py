"""Several data sets side by side: in a terminal, in a notebook, on the page."""

import io
import re
from dataclasses import replace
from unittest.mock import Mock

import pytest
from made_cases import cases, summary
from outside import HOSTILE
from parsed import Element, parsed
from rich.console import Console

from rationales.comparison import Answers, Contrast, Figure, Measure, Standing, Summary
from rationales.report import grid_html, write_page
from rationales.report.blocks import grid_blocks
from rationales.report.grid import view
from rationales.report.safe import shown
from rationales.report.table import print_grid

NAN = float("nan")
MODELS = ("plain", "faithful")


def figure(mean: float, gain: float = 0.1) -> Figure:
    return Figure(mean, mean - 0.05, mean + 0.05, 50, 0, (gain, gain + 0.1))


def standing(model: str, method: str, rank: int, high: float, low: float) -> Standing:
    figures = {"comprehensiveness": figure(high, -0.2 if method == "lime" else 0.1), "sufficiency": figure(low)}
    return Standing(model, method, {}, rank, False, figures, 0.1)


def found(data: str, high: float, **changes) -> Summary:
    """Gradient is the better by comprehensiveness, where higher is better, lime by sufficiency, where lower is."""
    standings = tuple(
        item
        for model in MODELS
        for item in (
            standing(model, "random", 1, 0.9, 0.001),
            standing(model, "gradient", 2, high, 0.4),
            standing(model, "lime", 3, high - 0.1, 0.3),
            Standing(model, "attention", {}, 0, False, {}, NAN, failure="no attention"),
        )
    )
    measures = (Measure("sufficiency", "low", {}), Measure("comprehensiveness", "high", {}))
    usual = replace(summary(MODELS), data=data, measures=measures, standings=standings)
    return replace(
        usual, **{"answers": {"plain": Answers(40, 0.75, 0.5), "faithful": Answers(40, 0.8, 0.625)}, **changes}
    )


def words(element: Element) -> str:
    return " ".join(element.text.split())


def in_terminal(*summaries: Summary, width: int = 100) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(grid_blocks(view(summaries), width))
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_one_data_set_is_no_grid_and_neither_are_several_with_a_model_for_each():
    assert view([summary(("one",)), replace(summary(("two",)), data="other")]) is None
    assert view([found("one", 0.5)]) is None
    assert view([found("one", 0.5), found("one", 0.6)]) is None


def test_columns_are_models_on_data_sets_and_those_of_one_data_set_stand_together():
    grid = view([found("one", 0.5), found("two", 0.6), found("one", 0.7, models=("third",))])
    assert [(column.data, column.model, column.first) for column in grid.columns] == [
        ("one", "plain", True),
        ("one", "faithful", False),
        ("one", "third", True),
        ("two", "plain", True),
        ("two", "faithful", False),
    ]
    assert grid.data == [("one", 200, 3), ("two", 200, 2)]


def test_the_ranking_metric_is_first_the_floor_last_and_what_could_not_run_left_out():
    grid = view([found("one", 0.5), found("two", 0.6)])
    assert [measure.name for measure, _ in grid.sections] == ["comprehensiveness", "sufficiency"]
    for _, rows in grid.sections:
        assert [row.method for row in rows] == ["gradient", "lime", "random"]


def test_best_is_meant_as_the_metric_means_it_and_never_the_floor():
    grid = view([found("one", 0.5), found("two", 0.6)])
    best = {measure.name: [row.method for row in rows if all(row.best)] for measure, rows in grid.sections}
    assert best == {"comprehensiveness": ["gradient"], "sufficiency": ["lime"]}


def alike(data: str, noise: float = 0.0, floor: float = 0.9) -> Summary:
    """Every method has the same figure, but for some noise, and random another."""
    usual = found(data, 0.5)
    same = [
        replace(item, figures={"comprehensiveness": figure(floor if item.method == "random" else 1.0 - place * noise)})
        for place, item in enumerate(usual.standings)
        if not item.failure
    ]
    return replace(usual, measures=usual.measures[1:], standings=tuple(same))


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_nothing_is_best_where_all_methods_have_the_same_figure(tmp_path, noise):
    summaries = [alike("one", noise), found("two", 0.6)]
    best = {row.method: row.best for row in view(summaries).sections[0][1]}
    assert best == {"gradient": (False, False, True, True), "lime": (False,) * 4, "random": (False,) * 4}
    assert "gradient 1.000 1.000 *0.600 *0.600" in in_terminal(*summaries)
    root = page(tmp_path, *summaries)
    assert [mean.text for mean in root.all("span", "best")][:2] == ["0.600", "0.600"]


def test_in_a_terminal():
    lines = in_terminal(found("one", 0.5), found("two", 0.6))
    assert "one one two two" in lines
    assert "plain faithful plain faithful" in lines
    assert "macro-F1 0.500 0.625 0.500 0.625" in lines
    place = lines.index("comprehensiveness ↑")
    assert lines[place + 2 : place + 4] == ["one one two two", "plain faithful plain faithful"]
    assert lines[place + 5 : place + 8] == [
        "gradient *0.500 *0.500 *0.600 *0.600",
        "lime 0.400 ○ 0.400 ○ 0.500 ○ 0.500 ○",
        "random 0.900 0.900 0.900 0.900",
    ]
    assert "sufficiency ↓" in lines


LONG = "integrated_gradients"


def narrow(names: tuple[str, ...]) -> list[str]:
    """As `in_terminal` has it at 80 columns, of a method with a long name."""
    summaries = [found(name, 0.5) for name in names]
    longer = [
        replace(one, standings=tuple(replace(item, method=LONG) if item.rank == 2 else item for item in one.standings))
        for one in summaries
    ]
    return in_terminal(*longer, width=80)


def test_names_are_whole_and_figures_in_one_line_at_80_columns():
    lines = narrow(("one", "two", "three"))
    assert [line for line in lines if line.startswith(LONG)] == [
        f"{LONG}{' *0.500' * 6}",
        f"{LONG}{' 0.400' * 6}",
    ]
    assert not any("…" in line for line in lines)


def test_no_figure_is_folded():
    large = {"gradient": figure(-123.4567, -0.2), "lime": figure(123.4567, -0.2)}

    def larger(summary: Summary) -> Summary:
        own = [item for item in summary.standings if item.method in large]
        return replace(
            summary, standings=tuple(replace(item, figures={"sufficiency": large[item.method]}) for item in own)
        )

    lines = in_terminal(larger(found("one", 0.5)), larger(found("two", 0.5)), width=80)
    assert f"gradient{' *-123.457 ○' * 4}" in lines
    assert f"lime{' 123.457 ○' * 4}" in lines


def test_data_sets_that_have_no_room_go_on_beneath_and_their_models_stay_together():
    lines = narrow(("reviews-electronics", "reviews-kitchens", "reviews-books"))
    places = [place for place, line in enumerate(lines) if line == "comprehensiveness ↑"]
    assert [lines[place + 2] for place in places] == ["reviews- reviews- reviews- reviews-", "reviews- reviews-"]
    assert [lines[place + 3] for place in places] == ["electronics electronics kitchens kitchens", "books books"]
    assert [line.count("0.500") for line in lines if line.startswith(LONG)][:2] == [4, 2]


def test_a_name_that_cannot_be_parted_is_folded_and_loses_nothing():
    lines = in_terminal(found("q" * 30, 0.5), found("two", 0.6), width=80)
    assert sum(line.count("q") for line in lines) == 30 * 2 * 3


def test_a_pipe_has_every_column_beside_the_others():
    file = io.StringIO()
    summaries = [found(f"data-{number}", 0.5) for number in range(12)]
    given = {each.data: Mock(summary=each) for each in summaries}
    print_grid(given, Console(file=file, width=80, color_system=None))
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert f"gradient{' *0.500' * 24}" in lines


def test_without_labels_nothing_is_said_of_answers():
    assert not any(
        "macro-F1" in line for line in in_terminal(found("one", 0.5, answers={}), found("two", 0.6, answers={}))
    )
    lines = in_terminal(found("one", 0.5, answers={}), found("two", 0.6))
    assert "macro-F1 – – 0.500 0.625" in lines


def test_without_a_floor_nothing_is_said_of_it():
    alone = [found(data, 0.5) for data in ("one", "two")]
    for place, each in enumerate(alone):
        standings = tuple(
            replace(item, figures={name: replace(own, gain=(NAN, NAN)) for name, own in item.figures.items()})
            for item in each.standings
        )
        alone[place] = replace(each, standings=standings)
    assert "lime 0.400 0.400 0.400 0.400" in in_terminal(*alone)


def test_a_method_that_was_only_tried_on_one_of_them_leaves_a_gap():
    other = found("two", 0.6)
    other = replace(other, standings=tuple(item for item in other.standings if item.method != "lime"))
    assert "lime 0.400 ○ 0.400 ○ – –" in in_terminal(found("one", 0.5), other)


def test_what_was_measured_with_other_options_has_a_section_of_its_own(tmp_path):
    def erasing(data: str, high: float, how: str) -> Summary:
        measures = (Measure("sufficiency", "low", {}), Measure("comprehensiveness", "high", {"erasure": how}))
        return replace(contrasted(data, high), measures=measures)

    summaries = [erasing("one", 0.5, "delete"), erasing("two", 0.6, "pad"), erasing("three", 0.7, "delete")]
    lines = in_terminal(*summaries, width=140)
    assert [line for line in lines if "↑" in line or "↓" in line] == [
        "comprehensiveness ↑ (erasure=delete)",
        "comprehensiveness ↑ (erasure=pad)",
        "sufficiency ↓",
    ]
    assert "gradient *0.500 *0.500 + – – *0.700 *0.700 +" in lines
    assert "gradient – – *0.600 *0.600 + – –" in lines
    page = write_page([], tmp_path / "page.html", summaries=summaries).read_text(encoding="utf-8")
    heads = [words(head) for head in parsed(page).all("tr") if "metric" in head.classes]
    assert heads[0].startswith("comprehensiveness erasure=delete, ↑ higher")
    assert heads[2].startswith("sufficiency ↓ lower")


def test_each_number_of_texts_stands_above_its_own_columns():
    few = replace(found("one", 0.5), texts=20)
    assert view([found("one", 0.5), found("two", 0.6), few]).data == [("one", 200, 2), ("two", 200, 2), ("one", 20, 2)]


def test_names_from_outside_do_not_steer_the_terminal():
    shown = "\n".join(in_terminal(found("[red]one[/]", 0.5), found("\x1b[31mtwo", 0.6)))
    assert "[red]one[/]" in shown
    assert "\x1b[31m" not in shown


# Model beside model


def contrasted(data: str, high: float) -> Summary:
    """By gradient the second model is clearly better, by random clearly worse, and by lime neither."""
    means = {"gradient": 0.12, "lime": 0.01, "random": -0.05}
    contrasts = tuple(
        Contrast("comprehensiveness", method, "plain", "faithful", mean, mean - 0.02, mean + 0.02, 50)
        for method, mean in means.items()
    )
    return found(data, high, contrasts=contrasts)


def test_what_is_clearly_better_or_worse_than_the_first_model_is_marked():
    lines = in_terminal(contrasted("one", 0.5), found("two", 0.6))
    place = lines.index("comprehensiveness ↑")
    assert lines[place + 5 : place + 8] == [
        "gradient *0.500 *0.500 + *0.600 *0.600",
        "lime 0.400 ○ 0.400 ○ 0.500 ○ 0.500 ○",
        "random 0.900 0.900 − 0.900 0.900",
    ]
    assert "clearly better, or worse, than the first model" in " ".join(lines)
    assert "first model" not in " ".join(in_terminal(found("one", 0.5), found("two", 0.6)))


def test_figures_stand_beneath_one_another_whatever_marks_they_have():
    file = io.StringIO()
    grid = view([contrasted("one", 0.5), contrasted("two", 0.6)])
    Console(file=file, width=100, color_system=None).print(grid_blocks(grid, 100))
    figures = [line for line in file.getvalue().splitlines() if line.startswith((" macro", " gradient", " lime"))]
    assert len(figures) == 5
    assert len({tuple(found.end() for found in re.finditer(r"0\.\d{3}", line)) for line in figures}) == 1


# On the page


def page(tmp_path, *summaries: Summary) -> Element:
    given = [replace(case, data=each.data) for each in summaries for case in cases(2)]
    return parsed(write_page(given, tmp_path / "page.html", summaries=summaries).read_text(encoding="utf-8"))


def test_the_page_begins_with_all_data_sets_and_names_them_from_there_on(tmp_path):
    root = page(tmp_path, found("one", 0.5), found("two", 0.6))
    first = root.all("section")[0]
    assert words(first.one("h2")) == "Does it hold on other data?"
    links = [words(link) for link in root.one("nav").all("a")]
    assert links[:3] == ["All data sets", "Ranking: plain on one", "Ranking: faithful on one"]
    assert {"one", "two"} <= {words(item).removeprefix("data ") for item in root.all("span", "data")}
    rows = [words(row) for row in first.all("tr")]
    assert rows[0] == "one 200 texts two 200 texts"
    assert rows[1] == "plain faithful plain faithful"
    assert rows[2].startswith("macro-F1 of the model’s answers 0.500 75.0 % right 0.625 80.0 % right")
    assert rows[3] == "comprehensiveness ↑ higher is better"
    means = ("0.500", "0.500", "0.600", "0.600")
    assert rows[4] == "gradient" + "".join(f" {mean} ▲the best here better than random" for mean in means)
    assert rows[5].startswith("lime 0.400 ▼worse than random")


def test_the_page_says_by_how_much_a_model_is_better_than_the_first_where_that_is_clear(tmp_path):
    first = page(tmp_path, contrasted("one", 0.5), found("two", 0.6)).all("section")[0]
    rows = [words(row) for row in first.all("tr")]
    said = [re.findall(r"0\.\d+ (?:better|worse)(?! than)", row) for row in rows[4:7]]
    assert said == [["0.120 better"], [], ["0.050 worse"]]
    assert "than that of the first model" in words(first)
    other = page(tmp_path, found("one", 0.5), found("two", 0.6)).all("section")[0]
    assert "than that of the first model" not in words(other)


def test_a_page_of_one_data_set_has_none_of_that(tmp_path):
    root = page(tmp_path, found("one", 0.5))
    assert "on other data" not in words(root)
    assert "Ranking: plain" in [words(link) for link in root.one("nav").all("a")]


def test_how_often_a_model_is_right_stands_beside_its_ranking(tmp_path):
    root = page(tmp_path, found("one", 0.5))
    assert "right on 75.0 % of 40 texts, macro-F1 0.500" in words(root)


def test_a_notebook_shows_the_table_alone_with_ids_of_its_own():
    one, other = ([found("one", high), found("two", 0.6)] for high in (0.5, 0.7))
    ids = [parsed(grid_html(each)).one("h2").attributes["id"] for each in (one, other)]
    assert ids[0] != ids[1]
    assert len(parsed(grid_html(one)).all("section")) == 1


@pytest.mark.parametrize("name", [name for name in HOSTILE if name.strip()])
def test_names_from_outside_are_text(tmp_path, name):
    root, usual = (page(tmp_path, found(each, 0.5), found("two", 0.6)) for each in (name, "one"))
    assert " ".join(shown(name).split()) in words(root.all("section")[0].all("tr")[0])
    assert [element.tag for element in root.all()] == [element.tag for element in usual.all()]
