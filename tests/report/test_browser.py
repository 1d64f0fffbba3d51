"""The page in headless Chromium: it opens without a word, its filters work, and text stays text.

Every page that these tests open must leave its console empty and make no request; see `opening` in driving.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from driving import count, settled, shows
from made_cases import METHODS, case, cases, explanation, pair_cases, short_cases, summary
from outside import HOSTILE
from playwright.sync_api import expect

from rationales.comparison.types import Case, Measure, Standing, Summary
from rationales.report import to_html, write_page
from rationales.report.safe import shown

SIZE = 60
DRAWN = ("integrated_gradients", "lime", "deeplift")
GIVEN = list(cases(SIZE, methods=DRAWN))
WRONG = [one for one in GIVEN if not one.right]


@pytest.fixture(scope="session")
def reviews_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(GIVEN, tmp_path_factory.mktemp("page") / "page.html", summaries=[summary()])


@pytest.fixture(scope="session")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, labels that are missing, pairs."""
    one, two = case("Soup of the day", id="one", label=None), case("no SOUP", id="two", label="bad", model="other")
    return write_page([one, two, *pair_cases(4)], tmp_path_factory.mktemp("page") / "mixed.html")


# Opening


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_it_opens_in_either_theme_on_any_screen(opened, reviews_page, scheme, width):
    page = opened(reviews_page, color_scheme=scheme, viewport={"width": width, "height": 900})
    shows(page, GIVEN[:25])
    count(page, f"Texts 1–25 of {SIZE}")
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(18, 20, 24)") == (scheme == "dark")


def six_metrics() -> Summary:
    """The usual figures, and three metrics more with long names and negative intervals."""
    usual = summary()
    copies = {"normalised_comprehensiveness": "comprehensiveness", "normalised_sufficiency": "sufficiency"}
    copies["largest_alignment_f1"] = "auroc"

    def longer(standing: Standing) -> Standing:
        found = {new: standing.figures[old] for new, old in copies.items() if old in standing.figures}
        turned = {
            name: replace(one, mean=-one.mean, low=-one.high, high=-one.low, undefined=1) for name, one in found.items()
        }
        return replace(standing, figures={**standing.figures, **turned})

    return replace(
        usual,
        measures=(*usual.measures, *(Measure(name, "high", {}, ()) for name in copies)),
        standings=tuple(map(longer, usual.standings)),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_six_metrics_fit_on_a_screen_of_1000_and_nothing_is_lost(opened, tmp_path, scheme):
    path = write_page(GIVEN[:1], tmp_path / "six.html", summaries=[six_metrics()])
    for width in (1700, 1280, 1000, 720):
        page = opened(path, color_scheme=scheme, viewport={"width": width, "height": 900})
        box = page.get_by_role("group", name="Ranked methods")
        assert box.evaluate("e => e.scrollWidth - e.clientWidth") == 0, width
        cell = page.locator("table.ranking tbody td.number:nth-of-type(4)").first
        assert cell.locator(".bounds").text_content() == "0.912 to 0.972"
        assert cell.locator(".bounds").is_visible()
        assert cell.locator(".interval").is_visible()
    phone = opened(path, color_scheme=scheme, viewport={"width": 390, "height": 800})
    assert phone.evaluate("document.documentElement.scrollWidth") == 390  # the table scrolls in its box


def test_the_theme_can_be_chosen_and_is_remembered(opened, reviews_page):
    page = opened(reviews_page, color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(ground) == "rgb(246, 246, 243)"
    page.reload()
    page.wait_for_selector("#filters")
    assert page.evaluate(ground) == "rgb(246, 246, 243)"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) == "rgb(18, 20, 24)"


def test_without_javascript_there_is_something_to_read(opened, reviews_page):
    page = opened(reviews_page, ready=False, java_script_enabled=False)
    assert page.locator(".case").count() == 25
    assert page.locator("table.ranking tbody tr").count() == len(METHODS) + 1
    assert page.locator("noscript p").is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator(".pager").first.is_visible()


def test_an_old_browser_says_so(browser, reviews_page):
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(reviews_page.as_uri())
    expect(page.get_by_text("need a browser of 2023 or later")).to_be_visible()
    assert page.locator(".case").count() == 25
    page.close()


def test_for_and_against_differ_by_more_than_colour(opened, reviews_page):
    page = opened(reviews_page)
    look = "mark => [getComputedStyle(mark).borderBottomStyle, Number(getComputedStyle(mark).fontWeight) > 500]"
    assert page.locator(".case mark.f5").first.evaluate(look) == ["solid", True]
    assert page.locator(".case mark[class^=a]").first.evaluate(look) == ["dashed", False]


# Filters


@pytest.mark.parametrize(
    ("field", "option", "keep"),
    [
        ("True label", "positive", lambda one: one.label == "positive"),
        ("Prediction", "negative", lambda one: one.predicted == "negative"),
        ("Right or wrong", "wrong", lambda one: not one.right),
        ("Right or wrong", "right", lambda one: one.right),
    ],
)
def test_filters_by_label_prediction_and_verdict(opened, reviews_page, field, option, keep):
    page = opened(reviews_page)
    expected = [one for one in GIVEN if keep(one)]
    select = page.get_by_label(field)
    value = select.locator("option", has_text=option).first.get_attribute("value")
    select.select_option(value)
    count(page, f"Texts 1–{min(25, len(expected))} of {len(expected)} found of {SIZE}")
    shows(page, expected[:25])


def test_free_text_finds_all_words_in_any_case(opened, reviews_page):
    page = opened(reviews_page)
    words = GIVEN[33].texts[0].split()[1], GIVEN[33].texts[0].split()[-1]
    expected = [one for one in GIVEN if all(word.lower() in one.texts[0].lower() for word in words)]
    page.get_by_label("Search").fill(f" {words[1].upper()}  {words[0]} ")
    count(page, f"Texts 1–{len(expected)} of {len(expected)} found of {SIZE}")
    shows(page, expected)
    page.get_by_label("Search").fill(GIVEN[40].id)
    count(page, f"Texts 1–1 of 1 found of {SIZE}")
    shows(page, [GIVEN[40]])
    page.get_by_label("Search").fill("no such words")
    count(page, f"None of {SIZE} texts")
    expect(page.get_by_text("No text matches these filters.")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    shows(page, GIVEN[:25])


def test_methods_can_be_hidden(opened, reviews_page):
    page = opened(reviews_page)
    shown_methods = ".case:first-child .cell:not([hidden])"
    assert page.locator(shown_methods).count() == len(DRAWN) + 1
    page.get_by_label("lime", exact=True).uncheck()
    expect(page.locator(shown_methods)).to_have_count(len(DRAWN))
    assert not page.locator('.cell[data-method="lime"]').first.is_visible()
    page.get_by_role("button", name="none").click()
    expect(page.locator(shown_methods)).to_have_count(0)
    page.get_by_label("deeplift", exact=True).check()
    expect(page.locator(shown_methods)).to_have_count(1)
    page.get_by_role("button", name="Next").first.click()  # it lasts
    count(page, f"Texts 26–50 of {SIZE}")
    settled(page)
    expect(page.locator(shown_methods)).to_have_count(1)
    page.get_by_role("button", name="all", exact=True).click()
    expect(page.locator(shown_methods)).to_have_count(len(DRAWN) + 1)
    page.get_by_label("lime", exact=True).uncheck()
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.locator(shown_methods)).to_have_count(len(DRAWN) + 1)


def test_texts_of_several_data_sets(opened, tmp_path):
    given = [replace(one, data=data) for data in ("reviews", "letters") for one in GIVEN[:3]]
    summaries = [replace(summary(), data=data) for data in ("reviews", "letters")]
    page = opened(
        write_page(given, tmp_path / "page.html", summaries=summaries), viewport={"width": 390, "height": 900}
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390  # the wide table scrolls within its frame
    expect(page.locator(".case .data").first).to_be_visible()
    expect(page.locator(".case .model").first).to_be_hidden()
    page.locator('select[name="data"]').select_option("1")
    count(page, "Texts 1–3 of 3 found of 6")
    expect(page.locator(".case .data bdi")).to_have_text(["letters"] * 3)
    assert page.evaluate("location.hash") == "#data=letters"


def test_models_missing_labels_and_pairs(opened, mixed_page):
    page = opened(mixed_page)
    count(page, "Texts 1–6 of 6")
    assert page.locator("table.links").count() == 8
    page.get_by_label("Model").select_option("1")
    count(page, "Texts 1–1 of 1 found of 6")
    expect(page.locator(".case h3")).to_have_text(["two"])
    page.get_by_label("Model").select_option("")
    page.get_by_label("True label").select_option("-1")
    count(page, "Texts 1–1 of 1 found of 6")
    expect(page.locator(".case h3")).to_have_text(["one"])
    for verdict in ("right", "wrong"):  # what has no true label is neither
        page.get_by_label("Right or wrong").select_option(verdict)
        count(page, "None of 6 texts")
    page.get_by_role("button", name="Clear the filters").click()
    page.get_by_label("Search").fill("SOUP")
    count(page, "Texts 1–2 of 2 found of 6")


def test_order_by_how_sure_the_model_is(opened, reviews_page):
    page = opened(reviews_page)
    ordered = sorted(GIVEN, key=lambda one: one.probability)
    page.get_by_label("Order").select_option("least")
    expect(page.locator(".case h3").first).to_have_text(ordered[0].id)
    page.get_by_label("Order").select_option("most")
    expect(page.locator(".case h3").first).to_have_text(ordered[-1].id)


def test_scores_can_be_shown(opened, reviews_page):
    page = opened(reviews_page)
    mark = page.locator(".case mark[title]").first
    after = "mark => getComputedStyle(mark, '::after').content"
    assert mark.evaluate(after) == "none"
    page.get_by_label("show the scores").check()
    settled(page)
    expect(page.locator("html.scores")).to_have_count(1)
    assert mark.evaluate(after) == f'"{mark.get_attribute("title")}"'


# Paging and the address


def test_paging_from_above_and_below(opened, reviews_page):
    page = opened(reviews_page)
    first, below = page.locator(".pager").first, page.locator(".pager").last
    expect(first.get_by_role("button", name="Previous")).to_have_attribute("aria-disabled", "true")
    first.get_by_role("button", name="Next").click()
    count(page, f"Texts 26–50 of {SIZE}")
    shows(page, GIVEN[25:50])
    below.get_by_role("button", name="Next").click()
    count(page, f"Texts 51–60 of {SIZE}")
    expect(first.get_by_role("button", name="Next")).to_be_focused()
    expect(first).to_be_in_viewport()
    expect(first.get_by_role("button", name="Next")).to_have_attribute("aria-disabled", "true")
    first.get_by_role("button", name="Next").click(force=True)
    count(page, f"Texts 51–60 of {SIZE}")
    first.get_by_role("button", name="Previous").click()
    count(page, f"Texts 26–50 of {SIZE}")
    page.get_by_label("Right or wrong").select_option("wrong")  # a new question starts at its beginning
    count(page, f"Texts 1–{len(WRONG)} of {len(WRONG)} found of {SIZE}")


def test_the_address_keeps_the_state(opened, reviews_page):
    page = opened(reviews_page)
    page.get_by_label("Right or wrong").select_option("right")
    page.get_by_label("lime", exact=True).uncheck()
    page.get_by_label("Search").fill("the & a=b#é")
    count(page, f"None of {SIZE} texts")
    page.get_by_label("Search").fill("the")
    expect(page.locator("#count")).to_contain_text("found of")
    page.get_by_role("button", name="Next").first.click()
    expect(page.locator("#count")).to_contain_text("Texts 26–")
    settled(page)
    said, found = page.locator("#count").inner_text(), page.locator(".case h3").all_inner_texts()
    state = page.evaluate("location.hash")
    again = opened(reviews_page, state)
    count(again, said)
    expect(again.locator(".case h3")).to_have_text(found)
    assert not again.get_by_label("lime", exact=True).is_checked()
    assert again.get_by_label("Search").input_value() == "the"
    again.evaluate("location.hash = 'right=wrong'")
    count(again, f"Texts 1–{len(WRONG)} of {len(WRONG)} found of {SIZE}")


@pytest.mark.parametrize("state", ["#page=99", "#page=-3&label=nobody&order=x", "#right=%00&hide=%FF", "#texts", "#a"])
def test_odd_addresses(opened, reviews_page, state):
    page = opened(reviews_page, state)
    assert page.locator(".case").count() in (10, 25)


def test_links_to_parts_of_the_page_leave_the_filters_alone(opened, reviews_page):
    page = opened(reviews_page, "#right=wrong")
    page.get_by_role("link", name="How this page was made").click()
    expect(page.locator("#made")).to_be_in_viewport()
    count(page, f"Texts 1–{len(WRONG)} of {len(WRONG)} found of {SIZE}")


# Keyboard and screen readers


def test_by_keyboard_alone(opened, reviews_page):
    page = opened(reviews_page)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the texts")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Search")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.type(GIVEN[30].id)
    count(page, f"Texts 1–1 of 1 found of {SIZE}")
    page.keyboard.press("Enter")  # does not leave the page
    count(page, f"Texts 1–1 of 1 found of {SIZE}")
    page.get_by_label("Search").fill("")
    count(page, f"Texts 1–25 of {SIZE}")
    page.get_by_role("button", name="Next").first.focus()
    page.keyboard.press("Enter")
    count(page, f"Texts 26–50 of {SIZE}")
    expect(page.get_by_role("button", name="Next").first).to_be_focused()


def test_what_a_screen_reader_is_told(opened, reviews_page):
    page = opened(reviews_page)
    expect(page.get_by_role("status")).to_have_text(f"Texts 1–25 of {SIZE}")
    assert page.get_by_role("img").count() == 3
    expect(page.get_by_role("img", name="Without the best words")).to_be_visible()
    cell = page.locator('.case .cell[data-method="integrated_gradients"]').first
    assert cell.locator("p.unseen").inner_text().startswith("For: appetising.")
    assert page.get_by_role("search").count() == 1
    fields = page.locator("button, input, select")
    assert all(fields.evaluate_all("all => all.map(e => e.labels?.length || e.textContent.trim().length)"))


def test_the_table_sorts_by_click_and_keyboard(opened, reviews_page):
    page = opened(reviews_page)
    methods = page.locator("table.ranking tbody th > bdi")
    cost = page.get_by_role("button", name="cost")
    cost.click()
    assert methods.all_inner_texts()[0] == "random"
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    cost.press("Enter")
    assert methods.all_inner_texts()[0] == "kernel_shap"
    assert methods.all_inner_texts()[-1] == "attention_rollout"  # which has no figures
    page.get_by_role("button", name="method").click()
    assert methods.all_inner_texts() == sorted([*METHODS, "attention_rollout"])
    page.get_by_role("button", name="rank").click()
    assert methods.all_inner_texts() == [*METHODS, "attention_rollout"]


def test_the_command_can_be_copied(opened, reviews_page):
    page = opened(reviews_page)
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()


# Hostile text


def test_hostile_text_is_shown_and_does_not_run(opened, tmp_path):
    given = [case(text, id=f"{number} {text}", label=text, predicted=text) for number, text in enumerate(HOSTILE)]
    given += [Case(text, "m", ("x",), None, "x", 0.5, {text: explanation("x", method=text)}) for text in HOSTILE[:10]]
    path = write_page(given, tmp_path / "hostile.html", title=HOSTILE[1], command=HOSTILE[1])
    page = opened(path)
    seen = page.evaluate(
        "[...document.querySelectorAll('.case')].map(c => [...c.querySelectorAll('.text')].map(t => t.textContent))"
    )
    assert seen == [[shown(text)] * 3 for text in HOSTILE] + [["x"]] * 10  # the models of one text are not parted
    assert page.locator("h1").text_content() == HOSTILE[1]
    page.get_by_label("Search").fill("window.ran")
    expect(page.locator("#count")).to_contain_text("found of")
    page.get_by_role("button", name="none").click()
    settled(page)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('#cases :is(script, img, style, iframe, template)').length") == 0


def test_hostile_text_in_a_notebook(opened, tmp_path):
    path = tmp_path / "notebook.html"
    given = [explanation(text, id=text, label=text, method=text) for text in HOSTILE]
    path.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{to_html(given)}", encoding="utf-8")
    page = opened(path, ready=False)
    assert page.locator(".text").evaluate_all("all => all.map(e => e.textContent)") == list(map(shown, HOSTILE))
    assert page.evaluate("window.ran") is None


def test_the_policy_stops_what_should_never_get_in(browser, reviews_page):
    """The second wall: even if markup got in, it could neither run nor load anything."""
    page = browser.new_page()
    refused: list[str] = []
    page.on("requestfailed", lambda request: refused.append(request.failure))
    page.goto(reviews_page.as_uri())
    page.wait_for_selector("#filters")
    image = '<img src="http://127.0.0.1:9/x.png" onerror="window.ran = true">'
    page.evaluate(
        "html => document.querySelector('#cases').innerHTML = html",
        f'{image}<p style="color: red" onclick="window.ran = true">x</p>',
    )
    page.locator("#cases p").click()
    assert page.evaluate("window.ran") is None
    assert refused == ["csp"]
    page.close()


def test_right_to_left_text_stays_in_its_place(opened, tmp_path):
    arabic, override = "كان الحساء رائعا", "\u202eabc"
    page = opened(write_page([case(arabic, id=override, label=arabic)], tmp_path / "rtl.html"))
    text = page.locator(".text").first
    assert text.evaluate("e => getComputedStyle(e).direction") == "rtl"
    heading, paragraph = page.locator(".case h3"), page.locator(".case header p")
    assert heading.bounding_box()["x"] < paragraph.bounding_box()["x"]
    assert page.locator(".case header p span").first.evaluate("e => getComputedStyle(e).direction") == "ltr"


# Size


@pytest.fixture(scope="session")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(short_cases(5000), tmp_path_factory.mktemp("large") / "large.html")


def test_5000_texts_cost_no_more_than_what_is_shown(opened, large_page):
    page = opened(large_page)
    count(page, "Texts 1–25 of 5,000")
    assert page.evaluate("window.inflated") <= 2  # the index and the first chunk
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    page.get_by_label("Search").fill("word7")
    expect(page.locator("#count")).to_contain_text("found of 5,000")
    settled(page)
    assert page.evaluate("window.inflated") <= 27
    page.get_by_label("Search").fill("id-4999")
    count(page, "Texts 1–1 of 1 found of 5,000")
    expect(page.locator(".case h3")).to_have_text(["id-4999"])
    settled(page)
    assert page.evaluate("window.inflated") <= 28
    page.get_by_label("Search").fill("")
    count(page, "Texts 1–25 of 5,000")
    before = page.evaluate("window.inflated")
    page.get_by_label("one", exact=True).uncheck()
    page.get_by_label("two", exact=True).uncheck()
    settled(page)
    assert page.evaluate("window.inflated") == before  # what was seen just now is not inflated again
    page.get_by_label("Order").select_option("least")
    settled(page)
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    for _ in range(5):
        page.get_by_role("button", name="Next").first.click()
    count(page, "Texts 126–150 of 5,000")
    expect(page.locator(".case")).to_have_count(25)
