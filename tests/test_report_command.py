"""`rationales report`, called as a user calls it."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from rationales.cli import report
from rationales.comparison import Case, Comparison, Summary
from rationales.comparison.grid import begin_grid, finish_grid, grid_places
from rationales.data.gold import gold_selection
from rationales.data.planted import reviews
from rationales.errors import InputError
from rationales.explanation import Explanation, Explanations


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run the command in an empty directory; what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["rationales", "report", *arguments])
        app = typer.Typer()
        app.callback()(lambda: None)
        report.register(app, "report")
        app(["report", *arguments], standalone_mode=False)
        return capsys.readouterr().out.strip()

    return run


def explained(size: int = 30) -> list[Explanation]:
    return [gold_selection(example) for example in reviews(size)]


class Finished:
    """What `Comparison.load` gives, without a run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.summary = Summary("rationales compare …", "data", ("one", "two"), 3, 9, (), "", (), (), {}, {}, {})

    def called(self, data: str) -> Finished:
        self.summary = replace(self.summary, data=data)
        return self

    def first_texts(self):
        return [("soup",)] if self.directory.name != "elsewhere" else [("film",)]

    def cases(self, model: str):
        for one in explained(3):
            yield Case(model, one.id, one.texts, None, "good", 0.5, {"human": one})


def test_files_make_a_page_beside_them(call, tmp_path):
    (tmp_path / "runs").mkdir()
    Explanations(explained()).save(tmp_path / "runs" / "people.parquet")
    printed = call("runs/people.parquet", "--title", "What <people> say")
    assert printed == str(Path("runs") / "report.html")
    page = (tmp_path / printed).read_text(encoding="utf-8")
    assert "What &lt;people&gt; say" in page
    assert shlex.join(["rationales", "report", "runs/people.parquet", "--title"]) in page


def test_out_limit_and_open(call, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    Explanations(explained()).to_jsonl(tmp_path / "people.jsonl")
    assert call("people.jsonl", "--out", "deep/page.html", "--limit", "2", "--open") == str(Path("deep") / "page.html")
    page = tmp_path / "deep" / "page.html"
    assert page.read_text(encoding="utf-8").count("<article") == 2
    assert opened == [page.as_uri()]


def test_a_comparison_makes_a_page_in_its_directory(call, tmp_path, monkeypatch):
    monkeypatch.setattr(Comparison, "load", Finished)
    (tmp_path / "run").mkdir()
    assert call("run", "--limit", "2") == str(Path("run") / "report.html")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count("<article") == 4  # two texts of each model
    assert "rationales compare …" in page
    assert "rationales report run --limit 2" in page


def test_a_directory_that_is_no_comparison(call, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises((InputError, OSError, ValueError), match="empty"):
        call("empty")


def test_what_cannot_be_drawn(call, tmp_path):
    (tmp_path / "run").mkdir()
    Explanations(explained(2)).save(tmp_path / "people.parquet")
    with pytest.raises(InputError, match="run is a directory among files"):
        call("people.parquet", "run")
    with pytest.raises(InputError, match="--limit must be at least 1, got 0"):
        call("people.parquet", "--limit", "0")
    with pytest.raises(InputError, match=r"there is no file or directory nothing\.parquet"):
        call("nothing.parquet")
    assert not list(tmp_path.glob("*.html"))


def test_help_shows_an_example(call):
    assert "rationales report runs/reviews" in call("--help")


def test_a_path_that_leads_nowhere(call):
    with pytest.raises(InputError, match="there is no file or directory nosuch"):
        call("nosuch", "--out", "p.html")


def test_comparisons_on_several_data_sets_are_shown_from_their_common_directory(call, tmp_path, monkeypatch):
    monkeypatch.setattr(Comparison, "load", Finished)
    places = grid_places(tmp_path / "run", ["reviews", "letters"])
    begin_grid(tmp_path / "run")
    finish_grid(tmp_path / "run", places)
    assert list(places.values()) == [tmp_path / "run" / "reviews", tmp_path / "run" / "letters"]
    assert call("run") == str(Path("run") / "report.html")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count("<article") == 12  # three texts of each model, twice
    assert "Does it hold on other data?" in page


def test_other_data_of_the_same_name_are_called_after_their_directories_too(call, tmp_path, monkeypatch):
    monkeypatch.setattr(Comparison, "load", Finished)
    for name in ("here", "there", "elsewhere"):
        (tmp_path / name).mkdir()
    call("here", "there")
    assert "(here)" not in (tmp_path / "here/report.html").read_text(encoding="utf-8")
    call("here", "there", "elsewhere")
    page = (tmp_path / "here/report.html").read_text(encoding="utf-8")
    assert all(f"data ({name})" in page for name in ("here", "there", "elsewhere"))
