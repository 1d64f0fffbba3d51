"""The page of a diagnosis (`rationales diagnose`): what went on between selector and predictor while they were trained.

It is drawn from the content of the command's JSON file alone: `curves` are runs of RNP and VER as they went, `sweep`
runs of all rates at their best, `predictors` and `selectors` the two halves of the control. Each run has its `method`,
`rate`, `seed`, `updates`, and lists of as many values of each measure, null where there is none.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from markupsafe import Markup

from rationales.explanation.files import replacing
from rationales.report import palette, svg
from rationales.report.charts import Chart
from rationales.report.figures import counted, fixed, number
from rationales.report.safe import asset, environment
from rationales.report.svg import Look
from rationales.report.trends import Line, Spread, Words, bars, trend

Run: TypeAlias = Mapping[str, Any]

SELECTED, MARKED = "selected tokens", "marked tokens"
UPDATES, EXCHANGED = "updates", "share of the chosen tokens that is exchanged"


@dataclass(frozen=True)
class Section:
    """Some charts that answer one question."""

    title: str
    about: str
    charts: list[Chart]


def write_diagnosis(content: Mapping[str, Any], path: Path | str) -> Path:
    """Write one self-contained page of a diagnosis."""
    style = palette.css() + asset("highlights.css") + asset("figures.css") + asset("page.css") + asset("diagnosis.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    data = content["data"]
    seeds = counted(len(content["seeds"]), "seed")
    page = (
        environment()
        .get_template("diagnosis.html")
        .render(
            title="What goes on between selector and predictor",
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            style=Markup(style),
            about=f"{data['name']}: {counted(data['train'], 'training text')}, measured on "
            f"{counted(data['marked'], 'text')} with marked words; {seeds} of each run. Lines and bars are means over "
            "seeds; bands and thin lines go from the lowest to the highest seed.",
            findings=findings(content),
            sections=sections(content),
            command=content["command"],
            facts=[(name, str(value)) for part in ("versions", "hardware") for name, value in content[part].items()]
            + [(name, _option(value)) for name, value in content["options"].items()],
        )
    )
    path = Path(path)
    with replacing(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")
    return path


def _option(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def sections(content: Mapping[str, Any]) -> list[Section]:
    """The charts, by the question that they answer; questions without an answer are left out."""
    looks = svg.looks(("rnp", "ver", "held_predictor", "random_selection"), (), palette.SERIES)
    found = [
        Section(
            "Does the selector still explore?",
            "Two random choices from the same texts, one measurement apart. As they become alike, the predictor sees "
            "less and less of what there is to choose, while it may go on to learn the training texts by heart.",
            _exploring(content["curves"], looks),
        ),
        Section(
            "Does the predictor recognise what people marked?",
            "The marked words say most of the class. A predictor that has learned its selector's habits may still "
            "judge them worse than what its selector chooses.",
            _recognising(content["sweep"], looks),
        ),
        Section(
            "How much should be exchanged?",
            "VER exchanges a share of the chosen tokens for others while the predictor learns; with 0 it is RNP.",
            _sweeping(content["sweep"], looks),
        ),
        Section(
            "What if the predictor learns from random tokens?",
            "A control: first a predictor learns from tokens that are chosen by chance, then a selector learns against "
            "it, and the predictor does not change any more.",
            _controlled(content, looks),
        ),
    ]
    return [section for section in found if section.charts]


def findings(content: Mapping[str, Any]) -> list[str]:
    """The figures that the charts end with, in words."""
    said = []
    for method, rate in (("rnp", 0.0), ("ver", _ver_rate(content))):
        curves, best = _at(content["curves"], rate), _at(content["sweep"], rate)
        moved, f1 = _last(curves, "non_overlap"), _last(best, "f1")
        own, marked = _last(best, "accuracy"), _last(best, "marked_accuracy")
        said.append(
            f"{method.upper()}: two choices in a row differ by {_share(moved)} at the end. At its best the selection "
            f"has an F1 of {_mean(f1)}; the predictor is right for {_share(own)} of the texts by what is selected, and "
            f"for {_share(marked)} by what people marked."
        )
    controlled = _last(content["selectors"], "f1")
    if controlled is not None:
        accuracy = _last(content["selectors"], "accuracy")
        said.append(
            f"Against a predictor that learned from random tokens, a selector ends with an F1 of {_mean(controlled)} "
            f"and an accuracy of {_share(accuracy)}."
        )
    return said


def _ver_rate(content: Mapping[str, Any]) -> float:
    """The rate that stands for VER."""
    return float(next(run["rate"] for run in content["curves"] if run["method"] == "ver"))


def _at(runs: Iterable[Run], rate: float) -> list[Run]:
    return [run for run in runs if run["rate"] == rate]


def _values(runs: Iterable[Run], measure: str, place: int) -> list[float]:
    """What runs had at a measurement; nan where there is nothing."""
    found = [run[measure][place] for run in runs if run.get(measure)]
    return [math.nan if value is None else float(value) for value in found]


def _last(runs: Iterable[Run], measure: str) -> Spread | None:
    return Spread.of(_values(runs, measure, -1))


def _mean(spread: Spread | None) -> str:
    return "–" if spread is None else fixed(spread.mean)


def _share(spread: Spread | None) -> str:
    return "–" if spread is None else f"{number(100 * spread.mean)} %"


def _line(name: str, look: Look, runs: Sequence[Run], measure: str, shift: float = 0.0) -> Line:
    """A measure of runs that were measured after the same updates."""
    updates = runs[0]["updates"] if runs else []
    spreads = [(shift + x, Spread.of(_values(runs, measure, place))) for place, x in enumerate(updates)]
    return Line(name, look, tuple((x, y) for x, y in spreads if y is not None))


def _drawn(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]


def _exploring(curves: Sequence[Run], looks: Mapping[str, Look]) -> list[Chart]:
    by_method = {method: [run for run in curves if run["method"] == method] for method in ("rnp", "ver")}

    def both(name: str, measure: str, words: Words) -> Chart | None:
        return trend(name, words, [_line(method, looks[method], runs, measure) for method, runs in by_method.items()])

    thin = {method: Look(looks[method].style, "1 4", looks[method].marker) for method in by_method}
    accuracy = [
        line
        for method, runs in by_method.items()
        for line in (
            _line(f"{method}, training", looks[method], runs, "train_accuracy"),
            _line(f"{method}, dev", thin[method], runs, "dev_accuracy"),
        )
    ]
    overlap = Words(
        "Non-overlap of choices",
        "0: the same tokens; 1: none in common. Low: it explores little.",
        UPDATES,
        "non-overlap",
    )
    quality = Words("Quality of the selection", "F1 of the selected tokens against the marked ones.", UPDATES, "F1")
    fit = Words("Accuracy", "On training texts, and dotted on dev texts by the likelier choice.", UPDATES, "accuracy")
    steep = Words(
        "Steepness of the predictor",
        "Estimate of its Lipschitz constant: the largest slope of a probability by chosen tokens. Low: smooth.",
        UPDATES,
        "Lipschitz estimate",
    )
    return _drawn(
        both("overlap", "non_overlap", overlap),
        both("quality", "f1", quality),
        trend("accuracy", fit, accuracy, from_zero=False),
        both("steepness", "lipschitz", steep),
    )


def _recognising(sweep: Sequence[Run], looks: Mapping[str, Look]) -> list[Chart]:
    kinds = {SELECTED: looks["rnp"], MARKED: looks["held_predictor"]}
    by_rate = {number(rate): _at(sweep, rate) for rate in _rates(sweep)}

    def compared(measures: tuple[str, str]) -> dict[str, dict[str, Spread | None]]:
        return {
            rate: {kind: _last(runs, measure) for kind, measure in zip(kinds, measures, strict=True)}
            for rate, runs in by_rate.items()
        }

    right = Words(
        "Accuracy by what the predictor is shown", "Share of texts that are classified rightly.", EXCHANGED, "accuracy"
    )
    sure = Words(
        "Cross-entropy by what the predictor is shown",
        "The median over the texts; low: it is sure, and right.",
        EXCHANGED,
        "median cross-entropy",
    )
    return _drawn(
        bars("shown-accuracy", right, compared(("accuracy", "marked_accuracy")), kinds),
        bars("shown-entropy", sure, compared(("entropy", "marked_entropy")), kinds),
    )


def _rates(runs: Iterable[Run]) -> list[float]:
    return sorted({run["rate"] for run in runs})


def _sweeping(sweep: Sequence[Run], looks: Mapping[str, Look]) -> list[Chart]:
    if len(_rates(sweep)) < 2:
        return []
    kinds = dict(zip(("F1", "accuracy", "selected share"), looks.values(), strict=False))
    measures = dict(zip(kinds, ("f1", "accuracy", "sparsity"), strict=True))
    by_rate = {rate: _at(sweep, rate) for rate in _rates(sweep)}
    groups = {
        number(rate): {kind: _last(runs, measure) for kind, measure in measures.items()}
        for rate, runs in by_rate.items()
    }
    steep = {number(rate): {"steepness": _last(runs, "lipschitz")} for rate, runs in by_rate.items()}
    words = Words(
        "Selection and prediction", "Of each run at its best by dev accuracy, on the marked texts.", EXCHANGED, "score"
    )
    slopes = Words("Steepness", "The Lipschitz estimate of the same runs.", EXCHANGED, "Lipschitz estimate")
    return _drawn(
        bars("sweep", words, groups, kinds),
        bars("sweep-steepness", slopes, steep, {"steepness": looks["random_selection"]}),
    )


def _controlled(content: Mapping[str, Any], looks: Mapping[str, Look]) -> list[Chart]:
    first, second = content["predictors"], content["selectors"]
    if not first or not second:
        return []
    half = first[0]["updates"][-1]
    rnp = _last(_at(content["sweep"], 0.0), "f1")
    words = Words(
        "A selector against a predictor of random tokens",
        "Left of the upright line the predictor learns, right of it the selector. Accuracy is that on training texts; "
        f"the F1 of RNP, whose players learn together, is {_mean(rnp)}.",
        UPDATES,
        "score",
    )
    lines = [
        _line("accuracy, random", looks["random_selection"], first, "train_accuracy"),
        _line("accuracy, selected", looks["rnp"], second, "train_accuracy", half),
        _line("F1", looks["ver"], second, "f1", half),
    ]
    return _drawn(trend("control", words, lines, turn=half))
