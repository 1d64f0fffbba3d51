"""One page of several models and data sets: what belongs together looks alike and stands together."""

import weakref
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest
from driving import count, shows
from made_cases import cases, summary
from parsed import Element, parsed
from playwright.sync_api import expect

from rationales.comparison import Case, Likeness, Overlap, Pair, Stability, Summary
from rationales.report import write_comparisons, write_page
from rationales.report.cases import CHUNK

MODELS = ("plain", "faithful")


def turned(data: str) -> Summary:
    """The usual figures, with the ranks of the methods the other way round, and with stability."""
    usual = summary(MODELS)
    overlap = Overlap(0.5, 0.4, 0.6, 50, 0, (0.1, 0.2), 0.155, 0.96)
    alike = tuple(Likeness(name, (Pair(*MODELS, overlap),), overlap, None) for name in ("lime", "gradient"))
    return replace(
        usual,
        data=data,
        standings=usual.standings[::-1],
        stability=Stability(0.25, "tokens", MODELS, "", alike, ""),
    )


def looks(root: Element) -> dict[str, set[tuple[str, str]]]:
    """The colours and markers of each method, in charts and beside its name."""
    found = defaultdict(set)
    for dot in root.all("path", "dot"):
        for title in dot.all("title"):
            found[title.text.partition(":")[0]].add((dot.attributes["class"], dot.attributes["d"]))
    for row in root.all("tr"):
        for dot in (dot for sample in row.all("svg", "sample") for dot in sample.all("path", "dot")):
            found[row.one("bdi", "method").text].add((dot.attributes["class"], dot.attributes["d"]))
    return found


def test_a_method_looks_the_same_in_every_chart_and_table(tmp_path):
    page = write_page((), tmp_path / "page.html", summaries=[summary(MODELS), turned("other")])
    found = looks(parsed(page.read_text(encoding="utf-8")))
    assert {"lime", "gradient", "random"} <= set(found)
    assert {method: len(each) for method, each in found.items()} == dict.fromkeys(found, 1)
    assert len({frozenset(each) for each in found.values()}) == len(found)


# On a narrow screen

BROKEN = """all => all.flatMap(e => {
  const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), range = document.createRange(), found = [];
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    if (range.getClientRects().length > 1) found.push(texts.currentNode.data);
  }
  return found;
})"""
"""Pieces of names that go over more than one line."""


@pytest.mark.parametrize("width", [420, 1200])
def test_tables_scroll_and_break_no_word(opened, tmp_path, width):
    summaries = [summary(MODELS), turned("other")]
    page = opened(write_page((), tmp_path / "page.html", summaries=summaries), viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    names = page.locator(".ranking tbody th .method, .ranking thead bdi")
    assert "comprehensiveness" in names.all_text_contents()
    assert names.evaluate_all(BROKEN) == []
    over = page.get_by_role("group", name="Ranked methods").first.evaluate("e => e.scrollWidth - e.clientWidth")
    assert (over > 0) == (width == 420)


def test_the_name_of_a_data_set_begins_where_its_columns_do(opened, tmp_path):
    page = opened(write_page((), tmp_path / "page.html", summaries=[summary(MODELS), turned("other")]))
    heads = page.locator(".across th[scope=colgroup]")
    assert heads.locator("bdi").all_inner_texts() == ["planted-reviews", "other"]
    for head in heads.all():
        beginning, name = head.bounding_box()["x"], head.locator("bdi").bounding_box()["x"]
        assert 0 < name - beginning < 20
    rows = page.locator(".across tbody tr:not(.metric)")
    lines = rows.evaluate_all("all => all.map(r => [...r.cells].map(c => getComputedStyle(c).borderLeftWidth))")
    assert lines == [["0px", "2px", "0px", "2px", "0px"]] * rows.count()


# The texts


class Kept:
    """A comparison of two models that was made by hand; it counts the cases that are alive."""

    def __init__(self, data: str, size: int, methods: tuple[str, ...] = ("lime",)) -> None:
        self.summary = replace(summary(MODELS), data=data)
        self.size, self.methods = size, methods
        self.alive: list[weakref.ref[Case]] = []
        self.most = 0

    def cases(self, model: str) -> Iterator[Case]:
        for one in cases(self.size, model=model, methods=self.methods):
            case = replace(one, data=self.summary.data)
            self.alive.append(weakref.ref(case))
            self.most = max(self.most, sum(ref() is not None for ref in self.alive))
            yield case


def shown(page) -> list[tuple[str, str, str]]:
    parts = [page.locator(f".case {part}").all_inner_texts() for part in ("h3", ".model bdi", ".data bdi")]
    return list(zip(*parts, strict=True))


def test_what_the_models_say_of_one_text_stands_beneath_one_another(opened, tmp_path):
    page = opened(write_comparisons([Kept("one", 3), Kept("two", 2)], tmp_path / "page.html"))
    ids = [case.id for case in cases(3)]
    expected = [(id, model, data) for data, size in (("one", 3), ("two", 2)) for id in ids[:size] for model in MODELS]
    assert shown(page) == expected
    joined = page.locator(".case").evaluate_all("all => all.map(e => e.classList.contains('again'))")
    assert joined == [False, True] * 5
    page.locator('select[name="model"]').select_option("1")
    count(page, "Texts 1–5 of 5 found of 10")
    expect(page.locator(".case.again")).to_have_count(0)


def test_a_limit_is_of_texts_and_each_model_has_them(tmp_path):
    path = write_comparisons([Kept("one", 5)], tmp_path / "page.html", limit=2)
    articles = parsed(path.read_text(encoding="utf-8")).all("article")
    assert [article.one("span", "model").one("bdi").text for article in articles] == [*MODELS, *MODELS]


def test_a_page_of_results_does_not_part_the_models_of_a_text(opened, tmp_path):
    assert CHUNK % len(MODELS)
    kept = Kept("one", 30)
    page = opened(write_comparisons([kept], tmp_path / "page.html"))
    both = [case for pair in zip(*map(kept.cases, MODELS), strict=True) for case in pair]
    count(page, f"Texts 1–{CHUNK + 1} of 60")
    shows(page, both[: CHUNK + 1])
    page.get_by_role("button", name="Next").first.click()
    count(page, f"Texts {CHUNK + 2}–{2 * (CHUNK + 1)} of 60")
    shows(page, both[CHUNK + 1 : 2 * (CHUNK + 1)])
    page.get_by_role("button", name="Next").first.click()
    count(page, "Texts 53–60 of 60")


def test_the_texts_of_several_models_are_let_go_as_the_page_is_written(tmp_path):
    kept = Kept("one", 4 * CHUNK)
    write_comparisons([kept], tmp_path / "page.html")
    assert len(kept.alive) == 8 * CHUNK
    assert kept.most <= CHUNK + 2 * len(MODELS)
