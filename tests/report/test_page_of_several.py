"""One page of several models and data sets: what belongs together looks alike and stands together."""

from collections import defaultdict
from dataclasses import replace

from made_cases import summary
from parsed import Element, parsed

from rationales.comparison import Likeness, Overlap, Pair, Stability, Summary
from rationales.report import write_page

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
