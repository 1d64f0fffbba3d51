"""How alike models are explained, on the page, in a notebook and in a terminal."""

import io
import itertools
import math
import re
from dataclasses import replace

import pytest
from made_cases import cases, summary
from outside import HOSTILE
from parsed import Element, parsed
from rich.console import Console

from rationales.comparison import Likeness, Overlap, Pair, Stability, Summary
from rationales.report import summary_html, write_page
from rationales.report.table import print_summary

NAN = math.nan


def overlap(mean: float, gain: float = 0.1) -> Overlap:
    return Overlap(mean, mean - 0.02, mean + 0.02, 50, 0, (gain, gain + 0.1), 0.155, 0.96)


def stable(method: str, seeds: float, beside: float, gap: float, names=("seed-1", "seed-2", "untrained")) -> Likeness:
    one, two, raw = names
    pairs = (
        Pair(one, two, overlap(seeds)),
        Pair(one, raw, overlap(beside - 0.01)),
        Pair(two, raw, overlap(beside + 0.01)),
    )
    return Likeness(method, pairs, overlap(seeds), overlap(beside), (gap, gap + 0.1))


def stability(**changes) -> Stability:
    methods = (
        stable("integrated_gradients", 0.52, 0.2, 0.25),
        stable("attention", 0.38, 0.4, -0.05),
    )
    given = Stability(0.25, "tokens", ("seed-1", "seed-2", "untrained"), "untrained", methods, "Look at `attention`.")
    return replace(given, **changes)


def made(**changes) -> Summary:
    return replace(summary(), stability=stability(**changes))


def page(tmp_path, *summaries) -> Element:
    path = write_page(cases(1), tmp_path / "page.html", summaries=summaries)
    return parsed(path.read_text(encoding="utf-8"))


def words(element: Element) -> str:
    return " ".join(element.text.split())


def section(root: Element) -> Element:
    [found] = [each for each in root.all("section") if each.attributes["aria-labelledby"].startswith("stability")]
    return found


def matrices(root: Element) -> list[Element]:
    return section(root).all("table", "agreement")


def test_a_table_of_the_methods_with_intervals_chance_and_verdicts(tmp_path):
    root = section(page(tmp_path, made()))
    table = root.one("table", "ranking")
    heads = [words(head) for head in table.one("thead").all("th")]
    assert heads == ["method", "between trained models", "with the untrained model", "chance"]
    first, second = (words(row) for row in table.one("tbody").all("tr"))
    assert first == (
        "integrated_gradients 0.520 0.500 to 0.540 more than chance 0.200 0.180 to 0.220 less than trained models 0.155"
    )
    assert "! not clearly less than trained models" in second
    assert "best 25 % of the tokens" in root.text
    assert [code.text for code in root.one("p", "advice").all("code")] == ["attention"]


def test_a_matrix_for_each_method_has_every_number_twice_and_the_same_in_a_table(tmp_path):
    first, second = matrices(page(tmp_path, made()))
    rows = first.one("tbody").all("tr")
    assert [[cell.text for cell in row.all("td")] for row in rows] == [
        ["1.00", "0.52", "0.19"],
        ["0.52", "1.00", "0.21"],
        ["0.19", "0.21", "1.00"],
    ]
    assert [cell.attributes["class"] for cell in rows[0].all("td")] == ["own", "f3", "f1"]
    assert [words(row.one("th")) for row in rows] == ["seed-1 1", "seed-2 2", "untrained 3"]
    assert [row.classes for row in rows] == [[], [], ["untrained"]]
    assert [words(head) for head in first.one("thead").all("th")] == ["1seed-1", "2seed-2", "3untrained"]
    assert "by attention" in second.one("caption").text
    details = section(page(tmp_path, made())).all("details")[0]
    row, *_ = details.one("tbody").all("tr")
    assert [cell.text for cell in row.all("td")] == ["0.520", "0.500 to 0.540", "0.155", "96 %"]
    assert row.one("th").text == "seed-1 – seed-2"


def test_words_and_models_without_an_untrained_one(tmp_path):
    only = Likeness("lime", (Pair("seed-1", "seed-2", overlap(0.3, -0.05)),), overlap(0.3, -0.05), None)
    root = section(page(tmp_path, made(unit="words", untrained="", models=("seed-1", "seed-2"), methods=(only,))))
    assert "whole words are compared" in root.text
    assert "untrained" not in root.text
    assert "no more than chance" in root.text
    assert len(root.one("table", "agreement").all("td", "own")) == 2


def test_one_model_beside_the_untrained(tmp_path):
    only = Likeness("lime", (Pair("seed-1", "untrained", overlap(0.3)),), None, overlap(0.3))
    root = section(page(tmp_path, made(models=("seed-1", "untrained"), methods=(only,))))
    assert [words(head) for head in root.one("table", "ranking").one("thead").all("th")] == [
        *("method", "with the untrained model", "chance"),
    ]
    assert "more than chance" in words(root.one("table", "ranking"))


def test_what_is_not_known_is_a_dash(tmp_path):
    nothing = Overlap(NAN, NAN, NAN, 0, 9)
    only = Likeness("lime", (Pair("seed-1", "seed-2", nothing),), nothing, None)
    root = section(page(tmp_path, made(methods=(only,), models=("seed-1", "seed-2"), untrained="")))
    assert "–" in words(root.one("table", "agreement"))
    assert "nan" not in root.text.lower()


def test_a_page_without_stability_has_no_such_section(tmp_path):
    root = page(tmp_path, summary())
    assert "Stability" not in root.one("nav").text
    assert not [each for each in root.all("section") if each.attributes["aria-labelledby"].startswith("stability")]


def test_ids_differ_links_lead_somewhere_and_headings_nest(tmp_path):
    root = page(tmp_path, made(), replace(made(), models=("other",)))
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = [a.attributes["href"][1:] for a in root.one("nav").all("a")]
    assert [link for link in links if link.startswith("stability")] == ["stability-0", "stability-1"]
    for element in root.all():
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(name, "").split()) <= set(ids)
    levels = [int(element.tag[1]) for element in root.all() if re.fullmatch(r"h\d", element.tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert not any("style" in element.attributes for element in root.all())  # the policy of the page forbids them


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names(tmp_path, text):
    names = (f"a{text}", f"b{text}", f"c{text}")
    methods = (stable("integrated_gradients", 0.5, 0.2, 0.1, names),)
    root = page(tmp_path, made(models=names, untrained=names[2], methods=methods))
    plain = page(tmp_path, made(methods=(stable("integrated_gradients", 0.5, 0.2, 0.1),)))
    assert [element.tag for element in section(root).all()] == [element.tag for element in section(plain).all()]


def test_it_is_shown_in_a_notebook():
    root = parsed(summary_html(made()))
    assert len(matrices(root)) == 2


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_it_is_printed(terminal):
    file = io.StringIO()
    print_summary(made(), Console(file=file, force_terminal=terminal, width=120, color_system=None))
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert "How far the best 25 % of the tokens overlap between models (Jaccard)" in lines
    assert "integrated_gradients 0.520 [0.500, 0.540] 0.200 [0.180, 0.220] 0.155" in lines
    assert "attention 0.380 [0.360, 0.400] 0.400 [0.380, 0.420] ○ 0.155" in lines
    assert "Look at `attention`." in lines


def test_what_is_not_known_is_printed_as_a_dash():
    nothing = Overlap(NAN, NAN, NAN, 0, 9)
    only = Likeness("lime", (Pair("seed-1", "seed-2", nothing),), nothing, None)
    file = io.StringIO()
    print_summary(made(methods=(only,), untrained=""), Console(file=file, width=120))
    assert "lime – – –" in " ".join(file.getvalue().split())
