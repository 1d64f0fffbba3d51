"""The page as a file: what is in it, what may not be in it, and that it is written as cases come."""

import base64
import hashlib
import itertools
import json
import math
import re
import weakref
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_cases import METHODS, case, cases, explanation, pair_cases, summary
from outside import HOSTILE, NUMBERS, TEXTS, explanations, fed
from parsed import MARK_ATTRIBUTES, MARKS, Element, parsed

from rationales.comparison.types import Case, Figure, Measure, Summary
from rationales.report import write_page
from rationales.report.cases import CHUNK
from rationales.report.safe import asset, shown

TAGS = MARKS | {"article", "header", "h3", "h4", "strong"}
ATTRIBUTES = MARK_ATTRIBUTES | {"data-method", "aria-hidden"}


def unpacked(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()


def index_of(root: Element) -> dict:
    (index,) = [script for script in root.all("script") if script.attributes.get("id") == "index"]
    return json.loads(unpacked(index.text))


def drawn_cases(root: Element) -> list[Element]:
    """Every case, out of its chunk, checked."""
    found = []
    for chunk in root.all("script", "chunk"):
        for html in unpacked(chunk.text).split("\0"):
            (article,) = parsed(html).inside
            for element in article.all():
                assert element.tag in TAGS, element.tag
                assert set(element.attributes) <= ATTRIBUTES, element.attributes
            found.append(article)
    return found


def page(tmp_path: Path, given_cases, **options) -> Element:
    return parsed(write_page(given_cases, tmp_path / "page.html", **options).read_text(encoding="utf-8"))


def texts_of(article: Element) -> list[str]:
    return [text.text for text in article.all("p", "text")]


def words(element: Element) -> str:
    return " ".join(element.text.split())


# What is in it


def test_cases_are_drawn_in_chunks_and_the_first_ones_without_any_script(tmp_path):
    given_cases = list(cases(2 * CHUNK + 3))
    root = page(tmp_path, iter(given_cases))
    assert len(root.all("script", "chunk")) == 3
    drawn = drawn_cases(root)
    assert [article.one("h3").text for article in drawn] == [one.id for one in given_cases]
    (holder,) = [div for div in root.all("div") if div.attributes.get("id") == "cases"]
    assert [article.text for article in holder.all("article")] == [article.text for article in drawn[:CHUNK]]
    assert f"The first {CHUNK} texts" in root.one("noscript").text


def test_a_case_says_what_is_predicted_what_is_true_and_shows_every_method(tmp_path):
    (drawn,) = drawn_cases(page(tmp_path, cases(1), summaries=[summary()]))
    assert "says negative 0.82 true label positive ✗ wrong model reviews-model" in words(drawn.one("header"))
    cells = drawn.all("div", "cell")
    assert [cell.attributes["data-method"] for cell in cells] == ["human", *METHODS]
    assert [cell.classes for cell in cells[:2]] == [["cell", "human"], ["cell"]]
    assert all("mark" in {element.tag for element in cell.all()} for cell in cells)


@pytest.mark.parametrize(
    ("label", "predicted", "expected"),
    [("good", "good", "✓ right"), ("bad", "good", "✗ wrong"), (None, "good", "says good"), ("", "", "✓ right")],
)
def test_right_and_wrong_are_words_and_signs(tmp_path, label, predicted, expected):
    (drawn,) = drawn_cases(page(tmp_path, [case("soup", label=label, predicted=predicted)]))
    assert expected in words(drawn.one("header"))
    assert (label is None) == ("true label" not in drawn.text)


def test_methods_come_in_the_order_of_their_ranks_and_people_first(tmp_path):
    order = list(METHODS)
    shuffled = [replace(one, explanations=dict(reversed(one.explanations.items()))) for one in cases(1)]
    root = page(tmp_path, shuffled, summaries=[summary()])
    (drawn,) = drawn_cases(root)
    assert [cell.attributes["data-method"] for cell in drawn.all("div", "cell")] == ["human", *order]
    assert index_of(root)["methods"] == ["human", *order]


def test_what_explains_another_label_says_so(tmp_path):
    one = replace(case("soup"), explanations={"m": explanation("soup", label="bad")})
    (drawn,) = drawn_cases(page(tmp_path, [one]))
    assert "explains bad" in drawn.text
    (same,) = drawn_cases(page(tmp_path, [case("soup")]))
    assert "explains" not in same.text


def test_pairs_with_their_links_and_sentences(tmp_path):
    (drawn,) = drawn_cases(page(tmp_path, pair_cases(1)))
    assert len(drawn.all("svg", "pair")) == len(drawn.all("table", "links")) == 2
    assert drawn.one("blockquote").text
    plain, wide = drawn.all("div", "cells")
    assert "wide" in wide.classes
    assert [cell.attributes["data-method"] for cell in wide.all("div", "cell")] == ["human links", "links"]
    assert next(cell.attributes["data-method"] for cell in plain.all("div", "cell")) == "human"


def test_the_index_has_what_the_filters_need(tmp_path):
    given_cases = [
        replace(case("Soup", id="a", label="good", predicted="bad", model="one"), data="reviews"),
        case("x", "y", id="b", label=None, predicted="bad", model="two"),
        replace(case("z", id="c"), probability=math.nan),
    ]
    assert index_of(page(tmp_path, given_cases)) == {
        "size": CHUNK,
        "linked": False,
        "data": ["reviews", ""],
        "models": ["one", "two", "m"],
        "labels": ["good", "bad"],
        "methods": ["human", "one", "two"],
        "rows": [[0, 0, 0, 1, 0.75, "a Soup"], [1, 1, -1, 1, 0.75, "b x y"], [1, 2, 0, 0, None, "c z"]],
    }


def test_the_ranked_table(tmp_path):
    root = page(tmp_path, cases(1), summaries=[summary()])
    table = root.one("table", "ranking")
    heads = [words(head) for head in table.one("thead").all("th")]
    assert heads[2] == "comprehensiveness ↑ higher is better random 0.050"
    assert heads[3] == "sufficiency ↓ lower is better random 0.400"
    rows = table.one("tbody").all("tr")
    assert [row.one("th").all("bdi")[0].text for row in rows] == [*METHODS, "attention_rollout"]
    first = words(rows[0])
    for said in (
        "1 integrated_gradients steps=50, seed=0",
        "do not add up",
        "0.510",
        "0.480 to 0.540",
        "better than random",
    ):
        assert said in first
    assert "within noise" not in first
    assert "within noise of the first" in words(rows[1])
    assert "within noise" not in words(rows[3])
    assert "undefined for 3 of 203 texts" in first
    assert "floor-row" in rows[-2].classes
    assert words(rows[-1]) == "– attention_rollout could not run: the model has no attention to tap"


def test_verdicts_against_random(tmp_path):
    made = summary()
    gains = {1: (0.1, 0.2), 2: (-0.1, 0.1), 3: (-0.2, -0.1), 4: (math.nan, math.nan)}
    standings = [
        replace(
            s, figures={name: replace(figure, gain=gains.get(s.rank, (1, 1))) for name, figure in s.figures.items()}
        )
        for s in made.standings
    ]
    root = page(tmp_path, [], summaries=[replace(made, standings=tuple(standings))])
    rows = root.one("table", "ranking").one("tbody").all("tr")
    said = [{span.text for span in row.all("span", "unseen")} for row in rows[:4]]
    assert [
        ("better than random" in one, "no better than random" in one, "worse than random" in one) for one in said
    ] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
        (False, False, False),
    ]
    assert [row.all("span", "sign")[0].text for row in rows[:4]] == ["▲", "≈", "▼", ""]


def test_the_matrix_the_advice_the_charts_the_command_and_the_versions(tmp_path):
    made = summary()
    root = page(tmp_path, cases(1), summaries=[made], command="rationales report x")
    assert root.all("p", "advice")[0].text == made.advice["reviews-model"]
    matrix = root.one("table", "agreement")
    assert len(matrix.one("tbody").all("td")) == len(METHODS) ** 2
    assert len(matrix.all("td", "own")) == len(METHODS)
    assert "a1" in matrix.one("tbody").all("td")[8].classes  # below 0
    assert len(root.all("svg", "chart")) == 3
    assert [code.text for code in root.all("code")] == [made.command, "rationales report x"]
    assert "5.22.2" in root.one("dl").text
    assert "two cores" in root.one("dl").text


def test_a_section_for_each_model(tmp_path):
    models = ("one/model", "two/model")
    root = page(tmp_path, [*cases(1, model=models[0]), *cases(1, model=models[1])], summaries=[summary(models)])
    assert len(root.all("table", "ranking")) == 2
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = {a.attributes["href"][1:] for a in root.one("nav").all("a")}
    assert links <= set(ids)
    assert index_of(root)["models"] == list(models)


def test_several_comparisons_on_one_page(tmp_path):
    one, two = summary(), replace(summary(("pairs-model",), texts=30), command="rationales compare pairs", data="pairs")
    root = page(tmp_path, [*cases(2), *pair_cases(2)], summaries=[one, two], command="rationales demo")
    assert [words(head) for head in root.all("h2")][:2] == [
        "reviews-model: Which method to believe",
        "pairs-model: Which method to believe",
    ]
    assert "30 texts (1,830 tokens) of pairs" in words(root.one("main"))
    assert [code.text for code in root.all("code")] == [one.command, two.command, "rationales demo"]
    names = [name.text for name in root.one("dl").all("dt")]
    assert names.count("torch") == names.count("cores") == names.count("sufficiency") == 1
    assert index_of(root)["methods"][:3] == ["human", "human links", "integrated_gradients"]


def test_names_in_the_advice_stand_out(tmp_path):
    for advice, names in (("Use `a<b>`, not `c`.", ["a<b>", "c"]), ("Half ` a pair", [])):
        made = replace(summary(), advice={"reviews-model": advice}, command="")
        (paragraph, _) = page(tmp_path, [], summaries=[made]).all("p", "advice")
        assert [code.text for code in paragraph.all("code")] == names
        assert paragraph.text == (advice.replace("`", "") if names else advice)


def test_headings_labels_and_landmarks(tmp_path):
    root = page(tmp_path, cases(2), summaries=[summary()])
    levels = [int(element.tag[1]) for element in root.all() if re.fullmatch(r"h\d", element.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(root.all("main")) == len(root.all("nav")) == 1
    (html,) = root.all("html")
    assert html.attributes["lang"] == "en"
    ids = {element.attributes.get("id") for element in root.all()}
    for element in root.all():
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(name, "").split()) <= ids
    form = root.one("form")
    labelled = {id(field) for label in form.all("label") for field in label.all()}
    assert all(id(field) in labelled for field in form.all("input") + form.all("select"))


def test_titles(tmp_path):
    assert page(tmp_path, []).one("h1").text == "Explanations"
    assert page(tmp_path, [], summaries=[summary()]).one("h1").text == "Which explanation can be believed?"
    assert page(tmp_path, [], title="</title><b>").one("h1").text == "</title><b>"


def test_no_cases_and_a_summary_of_nothing(tmp_path):
    empty = Summary("", "", (), 0, 0, (), "", (), (), {}, {}, {})
    root = page(tmp_path, [], summaries=[empty])
    assert index_of(root)["rows"] == []
    bare = replace(summary(), ranked_by="no such metric", agreements=(), advice={})
    assert len(page(tmp_path, [], summaries=[bare]).all("svg", "chart")) == 2


# What may not be in it


def test_the_policy_names_the_only_style_and_script_and_nothing_comes_from_elsewhere(tmp_path):
    root = page(tmp_path, cases(3), summaries=[summary()])
    (policy,) = [meta.attributes["content"] for meta in root.all("meta") if "http-equiv" in meta.attributes]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (style,) = root.all("style")
    (script,) = [one for one in root.all("script") if "type" not in one.attributes]
    for source, rule in ((style.text, "style-src"), (script.text, "script-src")):
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
    assert script.text == asset("page.js")
    for element in root.all():
        assert not [name for name in element.attributes if name.startswith("on") or name in ("src", "style", "srcset")]
        href = element.attributes.get("href", "#")
        assert href.startswith(("#", "data:image/svg+xml,"))
    assert "@import" not in style.text
    assert "url(" not in style.text
    assert "://" not in style.text + script.text


def test_our_own_files_cannot_close_their_elements():
    for name in ("page.js", "page.css", "highlights.css", "figures.css"):
        assert "</" not in asset(name)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_everywhere(tmp_path, text):
    one = Case(text, text, (text, text), text, text, 0.5, {text: explanation(text, text, id=text, label=text)})
    made = summary((text,))
    standings = [replace(s, params={text: text}, notes=(text,), failure=s.failure and text) for s in made.standings]
    standings[0] = replace(standings[0], method=text)
    hostile = replace(made, command=text, data=text, standings=tuple(standings), advice={text: text})
    root = page(tmp_path, [one], summaries=[hostile], title=text or "x", command=text)
    allowed = {script.attributes.get("class", script.attributes.get("id", "")) for script in root.all("script")}
    assert allowed == {"chunk", "index", ""}
    assert len(root.all("script")) == 3
    (drawn,) = drawn_cases(root)
    assert texts_of(drawn) == [shown(text)] * 2
    assert drawn.one("h3").text == shown(text)
    assert root.one("h1").text == (shown(text) or "x")


@fed
@given(st.data())
def test_any_cases_make_a_page(tmp_path_factory, data):
    made = []
    for _ in range(data.draw(st.integers(1, 3))):
        texts = data.draw(st.lists(TEXTS, min_size=1, max_size=2).map(tuple))
        found = data.draw(st.dictionaries(TEXTS, explanations(texts), max_size=3))
        label = data.draw(st.none() | TEXTS)
        made.append(Case(data.draw(TEXTS), data.draw(TEXTS), texts, label, data.draw(TEXTS), data.draw(NUMBERS), found))
    root = page(tmp_path_factory.mktemp("page"), made, title=data.draw(TEXTS), command=data.draw(TEXTS))
    drawn = drawn_cases(root)
    assert [article.one("h3").text for article in drawn] == [shown(one.id) for one in made]
    for article, one in zip(drawn, made, strict=True):
        cells = [cell.attributes["data-method"] for cell in article.all("div", "cell")]
        assert sorted(cells) == sorted(map(shown, one.explanations))
    rows = index_of(root)["rows"]
    assert [row[5] for row in rows] == [shown(" ".join((one.id, *one.texts))) for one in made]


@settings(fed, max_examples=20)
@given(st.data())
def test_any_figures_make_a_page(tmp_path_factory, data):
    made = summary()
    number = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.7e308, 1.7e308, 5e-324]) | NUMBERS
    standings = []
    for one in made.standings:
        figures = {
            name: Figure(*(data.draw(number) for _ in range(3)), 1, 1, (data.draw(number), data.draw(number)))
            for name in one.figures
        }
        standings.append(replace(one, figures=figures, seconds_per_1000_tokens=data.draw(number)))
    measures = [Measure(measure.name, measure.best, {"x": data.draw(number)}) for measure in made.measures]
    odd = replace(made, standings=tuple(standings), measures=tuple(measures))
    root = page(tmp_path_factory.mktemp("page"), [], summaries=[odd])
    assert len(root.one("table", "ranking").one("tbody").all("tr")) == len(standings)
    for image in root.all("svg"):
        for element in image.all():
            assert not re.search(r"nan|inf\b", " ".join(element.attributes.values()))


# How it is written


def test_cases_are_let_go_as_the_page_is_written(tmp_path):
    alive: list[weakref.ref] = []
    most = 0

    def stream():
        nonlocal most
        for one in cases(6 * CHUNK):
            alive.append(weakref.ref(one))
            most = max(most, sum(ref() is not None for ref in alive))
            yield one

    write_page(stream(), tmp_path / "page.html")
    assert most <= CHUNK + 1


def test_a_stream_that_breaks_leaves_the_old_page(tmp_path):
    path = write_page(cases(1), tmp_path / "page.html")
    before = path.read_bytes()

    def stream():
        yield from cases(CHUNK + 1)
        raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        write_page(stream(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_input_makes_the_same_page(tmp_path):
    pages = [write_page(cases(3), tmp_path / name, summaries=[summary()]).read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
