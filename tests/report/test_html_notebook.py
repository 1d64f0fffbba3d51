"""Explanations by themselves: in a notebook, in a terminal, in a pipe, and the HTML they bring along."""

import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from made_cases import cases, explanation, summary
from outside import TEXTS, explanations, fed
from parsed import MARK_ATTRIBUTES, MARKS, parsed

from rationales.explanation import Alignment, Explanations, Selection
from rationales.report import summary_html, to_html
from rationales.report.safe import shown


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As if Python ran in a notebook; what is displayed."""
    displayed: list[str] = []
    display = SimpleNamespace(HTML=lambda html: html, display=displayed.append)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    return displayed


def test_an_explanation_says_what_is_explained_and_by_what():
    root = parsed(explanation("<b> soup", id="a&b", label="<good>", method="<m>").to_html())
    assert root.one("p", "head").text.split() == ["<good>", "0.75", "explained", "by", "<m>", "·", "a&b"]
    assert root.one("p", "text").text == "<b> soup"
    assert root.one("p", "legend").text == "for against the label"
    assert not parsed(explanation("soup", body=Selection([True])).to_html()).all("p", "legend")


@pytest.mark.parametrize(
    ("links", "dashed"),
    [(Alignment([[1, -1]]), True), (Alignment([[1, 0]]), False), (Alignment([[1, -1]], [[True, False]]), False)],
)
def test_the_legend_of_links_has_directions_only_where_they_are_shown(links, dashed):
    legend = parsed(explanation("a", "b c", body=links).to_html()).one("p", "legend").text
    assert legend.startswith("A line links phrases of two texts: the thicker, the stronger")
    assert ("dashed where it speaks against the label" in legend) == dashed


def test_a_notebook_shows_the_first_few_and_their_number():
    many = Explanations(explanation(f"number {place}", id=str(place)) for place in range(1234))
    root = parsed(many._repr_html_())
    assert len(root.all("div", "explanation")) == 5
    assert root.all("p", "aside")[-1].text == "5 of 1,234 explanations"
    assert len(parsed(many[:7].to_html()).all("div", "explanation")) == 7
    assert len(parsed(many.to_html(first=2)).all("div", "explanation")) == 2
    assert parsed(Explanations().to_html()).all("div", "rationales")
    assert explanation("one")._repr_html_() == explanation("one").to_html()


def test_the_style_reaches_nothing_outside():
    for html in (explanation("soup").to_html(), summary_html(summary())):
        style = re.sub(r"/\*.*?\*/|@(?:media|container)[^{]*\{", "", parsed(html).one("style").text)
        selectors = [selector.strip() for selector in re.findall(r"([^{}]+)\{", style)]
        assert len(selectors) > 30
        for selector in selectors:
            for part in re.split(r",(?![^(]*\))", selector):
                assert ".rationales" in part, part


def test_showing_in_a_notebook(notebook):
    one = explanation("the soup")
    one.show()
    many = Explanations([one] * 8)
    many.show()
    many.show(first=None)
    assert notebook == [one.to_html(), many.to_html(first=5), many.to_html()]


def test_showing_in_a_pipe_and_in_a_terminal(capsys, monkeypatch):
    one = explanation("the [b]soup[/b]")
    one.show()
    assert "[x] good 0.750 · test\nthe [b]soup[/b]\n  +1.0000  the\n" in capsys.readouterr().out
    Explanations([one] * 8).show()
    assert capsys.readouterr().out.endswith("5 of 8 explanations\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    one.show()
    assert "\x1b[" in capsys.readouterr().out


def test_ipython_in_a_terminal_is_no_notebook(notebook, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    explanation("soup").show()
    assert notebook == []
    assert "soup" in capsys.readouterr().out


def test_the_figures_of_a_comparison():
    root = parsed(summary_html(summary()))
    assert root.one("p", "advice").text.startswith("Use integrated_gradients")
    assert len(root.one("table", "ranking").all("tr")) == 11
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids)) > 5
    other = parsed(summary_html(summary(texts=30)))  # beside the first, in the same notebook
    assert not {element.attributes.get("id") for element in other.all()} & set(ids)


def test_cases_of_a_comparison_are_explanations_like_all_others():
    for case in cases(2):
        for one in case.explanations.values():
            assert one.provenance.method in to_html([one])


@fed
@given(explanations(), TEXTS)
def test_any_explanation_in_a_notebook(one, other):
    root = parsed(Explanations([one, explanation(other, id=other)]).to_html())
    for element in root.all():
        assert element.tag in MARKS | {"style", "strong"}
        assert set(element.attributes) <= MARK_ATTRIBUTES
    assert shown(one.provenance.method) in root.all("p", "head")[0].text
    assert root.all("p", "text")[-1].text == shown(other)
