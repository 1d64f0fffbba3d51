"""Files of figures say where they come from, and their Markdown says the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rationales import results
from rationales.results import Row

ROWS = [
    Row("accuracy", 91.25, method="regex", data="sst2", std=0.5, n=3, paper=92.0, note="short | of the paper"),
    Row("f1", 1 / 3, method="regex", data="imdb"),
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py", "--out", "a b"])
    return results.write("some", ROWS, seeds=[0, 1], directory=tmp_path / "new")


def test_the_file_says_how_it_was_made(written):
    content = json.loads(written.read_text())
    assert content["table"] == "some"
    assert content["command"] == "python benchmarks/some.py --out 'a b'"
    assert content["seeds"] == [0, 1]
    assert content["versions"]["rationales"]
    assert {"python", "torch", "numpy"} <= set(content["versions"])
    assert content["hardware"]["cores"] >= 1
    assert content["hardware"]["processor"]
    assert content["commit"]


def test_every_row_has_every_field_and_null_where_one_does_not_apply(written):
    first, second = json.loads(written.read_text())["rows"]
    assert set(first) == set(second) == set(Row.__dataclass_fields__)
    assert first["paper"] == 92.0
    assert second["paper"] is None


def test_the_table_has_the_columns_that_say_something(written):
    lines = written.with_suffix(".md").read_text().splitlines()
    head = next(line for line in lines if line.startswith("| method"))
    assert head == "| method | data | metric | mean | std | n | paper | note |"
    assert "| regex | imdb | f1 | 0.3333 |  |  |  |  |" in lines
    assert "| regex | sst2 | accuracy | 91.25 | 0.5 | 3 | 92 | short \\| of the paper |" in lines
    assert "`python benchmarks/some.py --out 'a b'`" in lines[2]


def test_a_table_of_parts_says_what_made_each():
    made = {"versions": {"torch": "2"}, "hardware": {"cores": 2}}
    parts = {
        "sst2": {**made, "command": "rationales reproduce --part sst2", "commit": "aaa"},
        "imdb": {**made, "command": "rationales reproduce --part imdb", "commit": "bbb", "hardware": {"cores": 16}},
    }
    row = dict.fromkeys(Row.__dataclass_fields__) | {"metric": "accuracy", "mean": 1.0}
    lines = results.markdown(
        {"table": "t", **parts["imdb"], "parts": parts, "seeds": [1, 2], "rows": [row]}
    ).splitlines()
    assert lines[2:10] == [
        "- `rationales reproduce --part sst2`, commit aaa",
        "- `rationales reproduce --part imdb`, commit bbb",
        "",
        "Seeds 1, 2.",
        "",
        "- cores 2",
        "- cores 16",
        "- torch 2",
    ]


TABLES = sorted((Path(__file__).parent.parent / "results").glob("*.json"))


@pytest.mark.parametrize("path", TABLES, ids=[path.stem for path in TABLES])
def test_our_own_tables_are_drawn_from_their_files(path):
    drawn = results.markdown(json.loads(path.read_text(encoding="utf-8")))
    assert path.with_suffix(".md").read_text(encoding="utf-8") == drawn


def test_nothing_is_left_beside_the_files(written):
    assert sorted(path.name for path in written.parent.iterdir()) == ["some.json", "some.md"]


def test_the_commit_is_the_repositorys_with_a_mark_for_changes(monkeypatch):
    answers = {"rev-parse": "abc1234", "status": " M file"}
    monkeypatch.setattr(results, "_git", lambda where, verb, *rest: answers[verb])
    assert results._commit() == "abc1234+"
    answers["status"] = ""
    assert results._commit() == "abc1234"


def test_without_a_repository_the_environment_may_tell_the_commit(monkeypatch):
    def none(*_):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(results, "_git", none)
    assert results._commit() == "unknown"
    monkeypatch.setenv("RATIONALES_COMMIT", "fff")
    assert results._commit() == "fff"


def test_a_machine_that_does_not_say_its_processor(monkeypatch):
    def unreadable(*_, **__):
        raise OSError

    monkeypatch.setattr(results.Path, "read_text", unreadable)
    assert results._processor()


def test_a_package_that_is_not_there_has_no_version(monkeypatch):
    monkeypatch.setattr(results, "PACKAGES", ("numpy", "no-such-package"))
    assert set(results.versions()) == {"numpy"}
