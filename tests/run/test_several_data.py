"""`Grid`: comparisons on several data sets, which keep their own names and directories."""

import gc
import json

import pytest

from rationales import Grid, compare
from rationales.comparison.grid import begin_grid, finish_grid, grid_places
from rationales.data import Example
from rationales.errors import FileFormatError, InputError
from tiny import classifier

HERE = [Example("a", ("the soup was good",), 0), Example("b", ("the pasta was bad",), 1)]
THERE = [Example("a", ("so the food was awful",), 1)]


@pytest.fixture(scope="module")
def model():
    return classifier("bert")


def compared(model, texts, **options):
    return compare(model, texts, ["gradient"], ["comprehensiveness"], **options)


def test_data_are_called_as_they_are_given(model):
    grid = Grid({"here": compared(model, HERE), "there": compared(model, THERE)})
    assert list(grid) == ["here", "there"]
    assert [found.summary.data for found in grid.values()] == ["here", "there"]
    assert grid["there"].summary.texts == 1
    assert {case.data for case in grid["here"].cases()} == {"here"}


def test_what_a_comparison_is_called_elsewhere_stays(model):
    found = compared(model, HERE)
    Grid({"here": found, "there": compared(model, THERE)})
    assert found.summary.data == "2 texts"


def test_directories_live_as_long_as_the_grid(model, tmp_path):
    grid = Grid({"here": compared(model, HERE), "there": compared(model, THERE)})
    gc.collect()
    places = [found.directory for found in grid.values()]
    assert all(place.exists() for place in places)
    assert "Does it hold on other data?" in grid.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Does it hold on other data?" in grid._repr_html_()
    del grid
    gc.collect()
    assert not any(place.exists() for place in places)


def test_a_table_of_them_all(model):
    grid = Grid({"here": compared(model, HERE), "there": compared(model, THERE)})
    table = grid.to_pandas()
    assert list(table.columns)[:4] == ["data", "model", "rank", "method"]
    assert list(table["data"]) == ["here"] * 2 + ["there"] * 2
    means = [item.figures["comprehensiveness"].mean for found in grid.values() for item in found.summary.standings]
    assert list(table["mean"]) == means


def test_a_grid_reads_what_was_written(model, tmp_path):
    places = grid_places(tmp_path / "all", ["over here", "there"])
    begin_grid(tmp_path / "all")
    for name, place in places.items():
        compared(model, HERE if name == "there" else THERE, out=place)
    with pytest.raises(InputError, match="are not finished; run the command that began them again"):
        Grid.load(tmp_path / "all")
    finish_grid(tmp_path / "all", places)
    grid = Grid.load(tmp_path / "all")
    assert {name: found.summary.texts for name, found in grid.items()} == {"over here": 1, "there": 2}
    assert grid["over here"].summary.data == "over here"


def test_one_comparison_is_no_grid_and_neither_are_those_of_different_models(model):
    with pytest.raises(InputError, match="several data sets, got here"):
        Grid({"here": compared(model, HERE)})
    other = compare({"another": model}, THERE, ["gradient"], ["comprehensiveness"])
    with pytest.raises(InputError, match="have no model in common"):
        Grid({"here": compared(model, HERE), "there": other})


def test_figures_that_were_measured_otherwise_do_not_stand_in_one_row(model):
    options = {"comprehensiveness": {"erasure": "pad"}}
    with pytest.raises(InputError, match="comprehensiveness was measured with other options on there than on here"):
        Grid({"here": compared(model, HERE), "there": compared(model, THERE, options=options)})


def test_directories_without_a_grid_and_damaged_ones(model, tmp_path):
    with pytest.raises(InputError, match="no comparisons on several data sets"):
        Grid.load(tmp_path)
    for content in ({"format": 99, "data": {}}, {"format": 1}, [], {"format": 1, "data": ["here"]}):
        (tmp_path / "grid.json").write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match="is damaged"):
            Grid.load(tmp_path)
