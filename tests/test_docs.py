"""The docs keep up with the code: every name has its page, tables are true, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from rationales.explainers import aligners, explainers, method_named
from rationales.explanation import read_jsonl
from rationales.metrics import metrics
from rationales.registry import summary
from rationales.train.rationalizers import rationalizers

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("**/*.md"), *ROOT.glob("results/*.md")])
sys.path.insert(0, str(DOCS))

import make_tables  # noqa: E402
from _site import navigation  # noqa: E402

METHODS = [*(("methods", name) for name in explainers), *(("links", name) for name in aligners)]
"""Every method, behind the folder of its page."""


def pages_in(folder: str) -> set[str]:
    return {page.stem for page in (DOCS / folder).glob("*.md")} - {"index"}


def test_every_method_and_every_metric_has_a_page_and_the_reverse():
    assert pages_in("methods") == set(explainers)
    assert pages_in("links") == set(aligners)
    assert pages_in("metrics") == set(metrics)


@pytest.mark.parametrize(("folder", "name"), METHODS)
def test_the_page_of_a_method_says_all_it_should(folder, name):
    page = (DOCS / folder / f"{name}.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert heads[:2] == [f"On a planted {'review' if folder == 'methods' else 'pair'}", "Cost"]
    assert heads[-3:] == ["Options", "Example", "Source"]
    assert "When not" in heads
    assert page.startswith(f"# `{name}`\n")
    assert page.count("<!-- picture -->") == page.count("<!-- options -->") == 1
    assert page.count("<!-- measured -->") == 1 or folder == "links"
    assert "\n$$" in page
    assert f"--method {name}" in page
    assert re.search(r"\(\d{4}\), \*", page.partition("## Source")[2])


@pytest.mark.parametrize("name", list(metrics))
def test_the_page_of_a_metric_says_all_it_should(name):
    page = (DOCS / "metrics" / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == ["By hand", "Pitfalls", "Options", "Source"]
    assert page.startswith(f"# `{name}`\n")
    assert page.count("<!-- facts -->") == page.count("<!-- options -->") == 1
    assert "\n$$" in page
    assert "**Range.**" in page
    assert "**Undefined**" in page
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    assert f"print({name}(" in example
    assert re.search(r"^# ", example, re.MULTILINE)
    assert re.search(r"\(\d{4}\),\s\*", page.partition("## Source")[2])


@pytest.mark.parametrize("page", make_tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tables_of_a_page_are_true(page):
    assert make_tables.refreshed(page) == page.read_text(encoding="utf-8"), "run: python docs/make_tables.py"


def test_the_overviews_list_every_name_once():
    for folder, names in (("methods", explainers), ("links", aligners), ("metrics", metrics)):
        page = (DOCS / folder / "index.md").read_text(encoding="utf-8")
        assert sorted(re.findall(r"^\| \[`(\w+)`\]", page, re.MULTILINE)) == sorted(names)


@pytest.mark.parametrize("name", list(metrics))
def test_the_row_of_a_metric_is_true(name):
    page = (DOCS / "metrics" / "index.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| \[`{name}`\].+$", page, re.MULTILINE)
    assert f"| {metrics[name].best} |" in row
    assert re.findall(r"`(\w+)`", row.strip("| ").rpartition("|")[2]) == [item.name for item in metrics[name].options]


def test_every_rationalizer_is_recommended_for_something():
    page = (DOCS / "rationalizers.md").read_text(encoding="utf-8")
    advice = re.search(r"^\| you have, or see \|.+?\n\n", page, re.MULTILINE | re.DOTALL)[0]
    taken = [line.split("|")[2] for line in advice.strip().splitlines()[2:]]
    assert sorted(re.findall(r"`(\w+)`", " ".join(taken))) == sorted(rationalizers)


def test_the_reference_names_what_can_be_imported():
    asked = re.findall(r"<!-- reference: \S+ (.+?) as (\S+) -->", (DOCS / "api.md").read_text(encoding="utf-8"))
    assert len(asked) > 10
    for names, package in asked:
        for name in names.split(", "):
            assert hasattr(import_module(package), name), f"{package} has no {name}"


@pytest.mark.parametrize(("file", "methods"), [("review", explainers), ("pair", aligners)])
def test_every_method_has_its_picture(file, methods):
    drawn = {found.provenance.method for found in read_jsonl(DOCS / "pictures" / f"{file}.jsonl")}
    assert drawn == {"human", *methods}, f"run: python docs/make_pictures.py {file}"


@pytest.mark.parametrize("name", [*explainers, *aligners])
def test_every_method_has_a_summary_with_its_cost_and_a_source(name):
    method = method_named(name)
    assert "pass" in summary(method) or name in ("random", "link_random")
    assert "s_i" in (method.__doc__ or "") or re.search(r"\(\d{4}\)", method.__doc__ or "")


def test_every_page_of_a_name_is_in_the_sidebar():
    for folder in ("methods", "links", "metrics"):
        ((_, listed),) = navigation.PAGES[f"{folder}/index"]
        assert sorted(listed) == sorted(pages_in(folder))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {_anchor(head) for head in heads}, f"{page.name} links to {target}#{anchor}"


def _anchor(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-")


def test_the_example_of_an_own_explainer_works(tmp_path):
    page = (DOCS / "write-an-explainer.md").read_text(encoding="utf-8")
    method, line, test = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    file = tmp_path / "gradient_max.py"
    file.write_text(method)
    script = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("rationales.explainers.gradient_max", {str(file)!r})
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
{line}
{test}
test_equals_the_equation()
from rationales import explain
(found,) = explain(classifier("bert"), "the soup was good", "gradient_max")
assert found.provenance.params == {{"power": 1.0}}
"""
    path = {"PYTHONPATH": str(ROOT / "tests"), "PATH": ""}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, env=path)
    assert done.returncode == 0, done.stderr
