"""Links between two texts in headless Chromium: both pictures, by mouse and keyboard, with and without a script."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from driving import count, settled
from made_cases import case, explanation, pair_cases
from outside import HOSTILE
from playwright.sync_api import expect

from rationales.comparison.types import Case
from rationales.explanation import Alignment
from rationales.explanation.views import word_tokens
from rationales.report import to_html, write_page

MATRIX = "details.matrix"


def linked(*texts: str, id: str = "x") -> Case:
    """Two texts that say the same word by word, by a method that keeps links and by one that weighs them."""
    sizes = [len(word_tokens((text,))) for text in texts]
    keep = np.eye(*sizes, dtype=bool)
    weights = np.where(np.eye(*sizes), 1.0, np.random.default_rng(0).normal(size=sizes) / 3)
    bodies = {"arec": Alignment(weights, keep), "leave_one_out": Alignment(weights)}
    found = {name: explanation(*texts, body=body, id=id, method=name) for name, body in bodies.items()}
    return Case("m", id, texts, "good", "good", 0.75, found)


@pytest.fixture(scope="module")
def pairs_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted pairs, and one as large as a matrix may be without being scrolled."""
    large = linked("several words " * 15, "other words " * 10, id="large")
    return write_page([*pair_cases(3), large], tmp_path_factory.mktemp("page") / "pairs.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_on_a_screen_of_1000(opened, pairs_page, scheme):
    page = opened(pairs_page, "#matrices=1", color_scheme=scheme, viewport={"width": 1000, "height": 900})
    count(page, "Texts 1–4 of 4")
    assert page.locator("svg.pair").count() == page.locator(f"{MATRIX}[open]").count() == 8
    assert page.evaluate("document.documentElement.scrollWidth") == 1000
    boxes = page.locator("div.scroll.matrix")
    assert boxes.evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)") == [0] * 8
    one, other = page.locator(".case:last-of-type .cell").evaluate_all("all => all.map(e => e.offsetTop)")
    assert one == other  # methods are side by side
    phone = opened(pairs_page, "#matrices=1", color_scheme=scheme, viewport={"width": 390, "height": 800})
    assert phone.evaluate("document.documentElement.scrollWidth") == 390


def test_matrices_open_by_keyboard_one_by_one_and_together(opened, pairs_page):
    page = opened(pairs_page)
    table = page.locator("table.links").first
    assert not table.is_visible()
    page.locator(f"{MATRIX} summary").first.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(table).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "scroll matrix"
    assert page.locator(f"{MATRIX}[open]").count() == 1
    page.get_by_label("open the matrices").focus()
    page.keyboard.press("Space")
    expect(page.locator(f"{MATRIX}[open]")).to_have_count(8)
    assert page.evaluate("location.hash") == "#matrices=1"
    page.keyboard.press("Space")
    settled(page)
    expect(page.locator(f"{MATRIX}[open]")).to_have_count(0)


def test_a_page_without_pairs_has_nothing_to_open(opened, tmp_path):
    page = opened(write_page([case("Soup of the day")], tmp_path / "page.html"))
    assert not page.get_by_label("open the matrices").is_visible()
    assert page.get_by_text("A line links phrases").count() == 0


def test_both_pictures_without_javascript(opened, pairs_page):
    page = opened(pairs_page, ready=False, java_script_enabled=False)
    assert page.locator("svg.pair").first.is_visible()
    page.locator(f"{MATRIX} summary").first.click()
    assert page.locator("table.links").first.is_visible()


def test_the_text_of_a_picture_can_be_selected(opened, pairs_page):
    page = opened(pairs_page)
    select = "e => { const s = getSelection(); s.selectAllChildren(e); return s.toString(); }"
    copied = page.locator("svg.pair").first.evaluate(select)
    (first,) = pair_cases(1)
    assert copied.split() == " ".join(first.texts).split()
    assert copied.count("\n") <= 3


def test_words_lie_in_their_frames_and_apart(opened, tmp_path):
    texts = "An elderly WOMAN, 'wimpy' & fillily, jumps! (illicit)", "Été naïve Straße ¿qué? über ñandú résumé mmm"
    page = opened(write_page([linked(*texts)], tmp_path / "page.html"))
    places = page.locator("svg.pair").first.evaluate(
        """e => [...e.querySelectorAll("text")].map(line => [...line.querySelectorAll("tspan")].map(
            word => [word.getBoundingClientRect().left, word.getBoundingClientRect().right]))"""
    )
    frames = (
        page.locator("svg.pair")
        .first.locator("rect")
        .evaluate_all("all => all.map(e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])")
    )
    for line in places:
        for (_, end), (start, _) in pairwise(line):
            assert end < start
        for left, right in line:
            assert any(a <= left + 1 and right - 1 <= b for a, b in frames), (left, right)


def test_frames_shades_and_directions_are_seen(opened, pairs_page):
    page = opened(pairs_page, "#matrices=1")
    style = "(e, name) => getComputedStyle(e)[name]"
    kept = page.locator(".case:last-of-type td.kept").first
    assert [kept.evaluate(style, f"border{side}Width") for side in ("Top", "Left")] == ["2px", "2px"]
    weighed = page.locator('.case:last-of-type [data-method="leave_one_out"]')
    assert weighed.locator("path.minus").first.evaluate(style, "strokeDasharray") != "none"
    assert weighed.locator("path:not(.minus)").first.evaluate(style, "strokeDasharray") == "none"
    signs = "(e) => getComputedStyle(e, '::before').content"
    assert weighed.locator("td.f1").first.evaluate(signs) == '"+"'
    assert weighed.locator("td.a1").first.evaluate(signs) == '"−"'
    colours = page.locator("svg.pair text").first.evaluate("e => [getComputedStyle(e).fill, getComputedStyle(e).color]")
    assert colours[0] == colours[1]


def test_dense_cells_without_direction_have_no_signs(opened, tmp_path):
    texts = "a", "word " * 20
    one = explanation(*texts, body=Alignment(np.full((1, 20), 0.5)), method="coattention")
    given = Case("m", "x", texts, "good", "good", 0.75, {"coattention": one})
    page = opened(write_page([given], tmp_path / "page.html"), "#matrices=1")
    assert page.locator("td.f5").first.evaluate("e => getComputedStyle(e, '::before').content") == '"•"'


def test_a_screen_reader_is_told_the_links(opened, tmp_path):
    page = opened(write_page([linked("two dogs", "they sleep")], tmp_path / "page.html"))
    label = page.locator("svg.pair").first.get_attribute("aria-label")
    assert label.replace("\u2068", "").replace("\u2069", "") == (
        "First text: two dogs. Second text: they sleep. 2 of 4 links kept, in 2 pairs of phrases. "
        "Linked: “two” with “they”, +1; “dogs” with “sleep”, +1."
    )
    assert page.get_by_role("img", name="2 of 4 links kept").count() == 1
    assert page.get_by_role("img", name="First text:").count() == 2


def test_hostile_texts_are_shown_and_do_not_run(opened, tmp_path):
    given = [linked(text, other, id=str(place)) for place, (text, other) in enumerate(pairwise(HOSTILE))]
    page = opened(write_page(given, tmp_path / "hostile.html"), "#matrices=1")
    page.locator("svg.pair path").first.hover(force=True)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('#cases :is(script, img, style, iframe, template)').length") == 0
    assert "<script>window.ran" in page.locator("svg.pair").first.text_content()
    path = tmp_path / "notebook.html"
    shown = to_html([one for each in given for one in each.explanations.values()])
    path.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{shown}", encoding="utf-8")
    notebook = opened(path, ready=False)
    assert notebook.evaluate("window.ran") is None
    assert notebook.locator("svg.pair").count() > 20


def test_right_to_left_words_go_from_right_to_left(opened, tmp_path):
    page = opened(write_page([linked("كان الحساء رائعا", "it was good")], tmp_path / "rtl.html"))
    places = (
        page.locator("svg.pair").first.locator("tspan").evaluate_all("all => all.map(e => e.getBoundingClientRect().x)")
    )
    assert places[0] > places[1] > places[2]
    assert places[3] < places[4] < places[5]
