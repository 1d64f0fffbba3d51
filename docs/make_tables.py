"""The tables of the docs that repeat what the code or the results say.

python docs/make_tables.py           writes them anew, between `<!-- options -->` or its like and `<!-- end -->`

They stand in the pages, so that these are whole wherever they are read; a test asks whether they are still true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from rationales.explainers import aligners, explainers
from rationales.metrics import metrics
from rationales.registry import Option, options_of, summary
from rationales.reproduce.regex_table1 import F1, GAIN, METRICS
from rationales.train.rationalizers import GameConfig, rationalizers

DOCS = Path(__file__).parent
KINDS = (
    "options|facts|measured|planted|scaling|speed|at once|step|rationalizers|variants|game options|"
    "links|plausible links|guided links|planted links|regex settings|regex domains|regex gains|regex terms|regex others"
)
BLOCK = re.compile(rf"(<!-- ({KINDS}) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURES = ("auroc", "comprehensiveness", "sufficiency", "seconds_per_1000_tokens")
LINKS = {"aorc": "AORC", "fidelity": "fidelity", "compactness": "links kept, %", "contiguity": "broken up, ‰"}
HOW = ("none", "roles")
HEADS = ["method", "on", "auroc", "comprehensiveness", "sufficiency", "s / 1,000 tokens"]


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; a bar inside a cell would end it."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def options(found: tuple[Option, ...]) -> str:
    """Option, default, values and meaning."""
    if not found:
        return "None.\n"
    rows = [[f"`{item.name}`", _default(item.default), _values(item.type), item.help] for item in found]
    return table(["option", "default", "values", "meaning"], rows)


def _default(value: Any) -> str:
    return f"`{str(value) if isinstance(value, Path) else value!r}`"


def _values(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"several, {_values(get_args(kind)[0])}"
    if get_args(kind):  # a Literal, or a type or None
        inner = [item for item in get_args(kind) if item is not type(None)]
        return ", ".join(f"`{item!r}`" if isinstance(item, str) else _values(item) for item in inner)
    return {int: "whole number", float: "number", bool: "yes or no", str: "text", Path: "directory"}[kind]


def facts(name: str) -> str:
    """What a metric says of itself."""
    one = metrics[name]
    needs = {
        "model": "the model",
        "gold": f"what people {'marked' if one.gold == 'selection' else 'linked'} (`gold`)",
        "other": "a second set of explanations (`other`)",
    }
    kinds = {"Scores": "scores", "Selection": "a selection", "Alignment": "an alignment"}
    return table(
        ["better", "takes", "needs"],
        [
            [
                f"**{one.best}**",
                ", ".join(kinds[body.__name__] for body in one.bodies),
                ", ".join(needs[need] for need in one.needs) or "–",
            ]
        ],
    )


def variants(_page: str) -> str:
    """Every rationalizer, with the options that RNP does not have or has with another default."""
    rows = []
    for name, game in rationalizers.items():
        own = ", ".join(f"`{item.name}`" for item in _own_options(name))
        rows.append([f"`{name}`", summary(game.Config), own or "–"])
    return table(["variant", "what it does", "its own options"], rows)


def game_options(_page: str) -> str:
    """What all rationalizers let their users choose, and below it what some do."""
    rows = [
        [f"`{name}`", f"`{item.name}`", _default(item.default), _values(item.type), item.help]
        for name in rationalizers
        for item in _own_options(name)
    ]
    heads = ["variant", "option", "default", "values", "meaning"]
    return f"{options(options_of(GameConfig))}\nOf some variants only, or other there:\n\n{table(heads, rows)}"


def _own_options(variant: str) -> list[Option]:
    plain = options_of(GameConfig)
    return [item for item in options_of(rationalizers[variant].Config) if item not in plain]


def measured(name: str) -> str:
    """A method beside the random floor, in every table of planted reviews that has it; or links, beside AREC's."""
    if name in aligners:
        return _measured_links(name)
    found = [(machine, file, own) for machine, file, own in _planted() if name in own]
    rows = [
        [f"`{method}`", machine, *(_figure(own[method].get(figure)) for figure in FIGURES)]
        for machine, _, own in found
        for method in dict.fromkeys((name, "random"))
        if method in own
    ]
    files = " and ".join(f"`results/{file}`" for _, file, _ in found)
    source = f"Planted reviews, all-MiniLM-L6-v2, from {files}; ± is the standard deviation over seeds."
    return f"{table(HEADS, rows)}\n{source} For sufficiency lower is better.\n"


def _measured_links(name: str) -> str:
    lines = [
        [own["model"], own["data"], f"`{own['explainer']}`", *(_beside(own.get(metric), 2) for metric in LINKS)]
        for _, _, rows in _results("arec-table1.json")
        for own in _together(rows, "model", "data", "explainer")
        if own["explainer"] in (name, "arec")
    ]
    source = "1,000 pairs of each set (100 for BackSelect), from `results/arec-table1.json`; the paper's in brackets."
    return f"{table(['model', 'pairs', 'method', *LINKS.values()], lines)}\n{source} Lower is better.\n"


def planted(_page: str) -> str:
    """Every method in every table of planted reviews, best comprehensiveness first."""
    parts = []
    for machine, file, own in _planted():
        order = sorted((-own[name]["comprehensiveness"]["mean"], name) for name in own)
        rows = [
            [f"[`{name}`](methods/{name}.md)", *(_figure(own[name].get(item)) for item in FIGURES)] for _, name in order
        ]
        parts.append(f"**{machine}** (`results/{file}`)\n\n{table([HEADS[0], *HEADS[2:]], rows)}")
    return "\n".join(parts)


def scaling(_page: str) -> str:
    """Time for each text, and peak memory, for few and for many texts."""
    names = {"milliseconds_per_text": "ms a text", "peak_mib": "peak MiB", "accelerator_peak_mib": "peak MiB there"}

    def drawn(rows: list[dict[str, Any]]) -> str:
        counts = sorted({row["n"] for row in rows})
        found: dict[tuple[str, str, str], dict[int, float]] = {}
        for row in rows:
            found.setdefault((row["explainer"], row["model"], names[row["metric"]]), {})[row["n"]] = row["mean"]
        lines = [
            [
                f"`{method}`",
                model,
                metric,
                *(f"{own[count]:.4g}" for count in counts),
                *(f"{own[counts[-1]] / own[count] - 1:+.0%}" for count in counts[:-1]),
            ]
            for (method, model, metric), own in found.items()
        ]
        growth = [f"{counts[-1]:,} against {count:,}" for count in counts[:-1]]
        return table(["method", "model", "figure", *(f"{count:,} texts" for count in counts), *growth], lines)

    return _each("scaling_*.json", drawn)


def speed(_page: str) -> str:
    """How many times faster than others."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [
                row["model"],
                row["data"],
                row["method"].partition(" / ")[0],
                row["method"].partition(" / ")[2],
                row["metric"].partition(", ")[2],
                f"**{row['mean']:.2f}**",
                row["note"],
            ]
            for row in rows
            if row["metric"].startswith("times_faster")
        ]
        heads = ["model", "texts", "we", "they", "compared at", "times faster", "spread, and what was wanted"]
        return table(heads, lines)

    return _each("attribution_*.json", drawn)


def at_once(_page: str) -> str:
    """Many trainings or optimisations at once against one after the other."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [row["model"] or "rationalizer", row["method"], f"**{row['mean']:.0f}**", row["note"]]
            for row in rows
            if row["metric"] == "times faster"
        ]
        return table(["model", "how", "times faster", "bar"], lines)

    return "\n".join(_each(pattern, drawn) for pattern in ("rationalizer_*.json", "arec_*.json"))


def step(_page: str) -> str:
    """What a step of REGEX costs."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [row["method"], f"**{row['mean']:.1f}**", row["note"] or ""]
            for row in rows
            if row["metric"] == "times a plain step"
        ]
        return table(["step", "times a plain one", "bar"], lines)

    return _each("regex_step_*.json", drawn)


def rationalized(_page: str) -> str:
    """Rationalizers against what people marked or what was planted, the paper's figures behind ours."""
    shown = ("S", "accuracy", "F1", "dev accuracy")

    def drawn(rows: list[dict[str, Any]]) -> str:
        found = sorted(_together(rows, "data", "method"), key=lambda own: own["data"])
        lines = [[own["data"], own["method"], *(_beside(own.get(metric)) for metric in shown)] for own in found]
        return table(["data", "method", *shown], lines)

    return "\n".join(_each(pattern, drawn) for pattern in ("ver-table*.json", "planted-rationalizers.json"))


def linked(_page: str) -> str:
    """Links between two texts: how faithful and how readable, the paper's figures behind ours."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [
                own["model"],
                own["data"],
                f"[`{own['explainer']}`](links/{own['explainer']}.md)",
                *(_beside(own.get(metric), 2) for metric in LINKS),
            ]
            for own in _together(rows, "model", "data", "explainer")
        ]
        return table(["model", "pairs", "method", *LINKS.values()], lines)

    return _each("arec-table1.json", drawn)


def plausible(_page: str) -> str:
    """Right answers and agreement with people, the paper's figures behind ours."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [[row["model"], row["data"], row["metric"].replace("_", " "), _beside(row)] for row in rows]
        return table(["model", "pairs", "figure", "per cent"], lines)

    return _each("arec-table3.json", drawn)


def guided(_page: str) -> str:
    """Right answers with and without guidance, the paper's figures behind ours."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        found = {(row["model"], row["data"], row["method"]): row for row in rows}
        lines = [
            [model, data.removeprefix("hans, "), *(_beside(found[model, data, f"guided by {how}"]) for how in HOW)]
            for model, data in dict.fromkeys((row["model"], row["data"]) for row in rows)
        ]
        return table(["model", "HANS", "not guided", "guided by roles"], lines)

    return _each("arec-table4.json", drawn)


def planted_links(_page: str) -> str:
    """Whether links are those that were planted."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [
                f"[`{own['explainer']}`](links/{own['explainer']}.md)",
                own["data"].partition(": ")[2],
                _beside(own["alignment_f1"], 2),
                _beside(own["compactness"]),
            ]
            for own in _together(rows, "explainer", "data")
        ]
        return table(["method", "pairs", "F1 of the planted link", "links kept, %"], lines)

    return _each("planted-links.json", drawn)


def settings(_page: str) -> str:
    """How faithful attributions are of models trained with several settings, on dev data."""
    return _faithful("regex-settings.json")


def faithful(_page: str) -> str:
    """The same in and out of domain, the paper's figures behind ours."""
    return _faithful("regex-table1.json")


def gains(_page: str) -> str:
    """By how much trainings for faithful attributions are above plain ones, and what was wanted and missed."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        own = [row for row in rows if row["method"].endswith(GAIN)]
        names = list(dict.fromkeys(row["explainer"] for row in own if row["explainer"]))
        found = {(row["train"], row["data"], row["method"], row["explainer"], row["metric"]): row for row in own}
        lines = []
        for model in dict.fromkeys(key[:3] for key in found):
            train, data, method = model
            score = _gain(found[*model, None, F1], 1, 100)
            cells = [" / ".join(_gain(found[*model, name, metric]) for metric in METRICS) for name in names]
            lines.append([f"{train} → {data}", method.removesuffix(GAIN), score, *cells])
        return table(["data", "training", "macro F1", *(f"[`{name}`](methods/{name}.md)" for name in names)], lines)

    return _each("regex-table1.json", drawn)


def terms(_page: str) -> str:
    """The same without each term, and with other guides."""
    return _faithful("regex-table4.json")


def _faithful(pattern: str) -> str:
    def drawn(every: list[dict[str, Any]]) -> str:
        rows = [row for row in every if not row["method"].endswith(GAIN)]
        names = list(dict.fromkeys(row["explainer"] for row in rows if row["explainer"]))
        models = dict.fromkeys((row["train"], row["data"], row["method"]) for row in rows)
        found = {(row["train"], row["data"], row["method"], row["explainer"], row["metric"]): row for row in rows}
        lines = []
        for model in models:
            train, data, method = model
            score = found[*model, None, F1]
            cells = [_pair(*(found[*model, name, metric] for metric in METRICS)) for name in names]
            lines.append([train if data == "dev" else f"{train} → {data}", method, _beside(score, scale=100), *cells])
        heads = ["data", "training", "macro F1", *(f"[`{name}`](methods/{name}.md)" for name in names)]
        first = int(len({line[0] for line in lines}) == 1)  # what is the same in all lines is not said
        return table(heads[first:], [line[first:] for line in lines])

    return _each(pattern, drawn)


def _gain(row: dict[str, Any], digits: int = 2, scale: float = 1) -> str:
    """A difference with its 95 % interval, all times `scale`; marked if it is less than what was wanted."""
    missed = " (missed)" if (row["note"] or "").endswith("missed") else ""
    return f"{scale * row['mean']:+.{digits}f} ± {scale * row['margin']:.{digits}f}{missed}"


def _pair(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Two figures, and the paper's."""
    paper = "" if one["paper"] is None else f" ({one['paper']:.2f}/{other['paper']:.2f})"
    return f"{one['mean']:.2f}/{other['mean']:.2f}{paper}"


def regex_others(_page: str) -> str:
    """Rationales alone, agreement between seeds, and attacks, the paper's figures behind ours."""

    def drawn(rows: list[dict[str, Any]]) -> str:
        lines = [
            [row["data"], row["method"], row["explainer"] or "", row["metric"], _beside(row, 2), row["note"] or ""]
            for row in rows
        ]
        return table(["data", "training", "method", "figure", "", ""], lines)

    return _each("regex-table[236].json", drawn)


def _each(pattern: str, drawn: Callable[[list[dict[str, Any]]], str]) -> str:
    """What is drawn of the rows of each file, below its machine and its name."""
    return "\n".join(f"**{machine}** (`results/{file}`)\n\n{drawn(rows)}" for machine, file, rows in _results(pattern))


def _together(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Rows that agree in these keys as one, which has them by their metric."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        own = found.setdefault(tuple(row[key] for key in keys), {key: row[key] for key in keys})
        own[row["metric"]] = row
    return list(found.values())


def _beside(row: dict[str, Any] | None, digits: int = 1, scale: float = 1) -> str:
    """A figure, its standard deviation over seeds, and the paper's, all times `scale`."""
    if row is None:
        return "–"
    spread = "" if row["std"] is None else f" ± {scale * row['std']:.{digits}f}"
    paper = "" if row["paper"] is None else f" ({scale * row['paper']:.{digits}f})"
    return f"{scale * row['mean']:.{digits}f}{spread}{paper}"


def _results(pattern: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The machine, the file, and its rows."""
    found = []
    for path in sorted((DOCS.parent / "results").glob(pattern)):
        content = json.loads(path.read_text(encoding="utf-8"))
        machine = content["hardware"].get("accelerator") or f"{content['hardware']['cores']} cores"
        found.append((machine, path.name, content["rows"]))
    return found


def _planted() -> list[tuple[str, str, dict[str, dict[str, dict[str, Any]]]]]:
    """The machine, the file, and its rows by method and metric."""
    found = []
    for machine, file, rows in _results("planted[._]*json"):
        by_method: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows:
            if row["explainer"]:
                by_method.setdefault(row["explainer"], {})[row["metric"]] = row
        found.append((machine, file, by_method))
    return found


def _figure(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["metric"] == "seconds_per_1000_tokens":
        return f"{row['mean']:.2g}"
    return f"{row['mean']:.2f}" + ("" if row["std"] is None else f" ± {row['std']:.2f}")


OPTIONS: Mapping[str, Callable[[str], tuple[Option, ...]]] = {
    "methods": lambda name: options_of(explainers[name]),
    "links": lambda name: options_of(aligners[name]),
    "metrics": lambda name: metrics[name].options,
}
"""What can be chosen of a name, by the folder in which its page is."""

MADE_BY = {
    "facts": facts,
    "measured": measured,
    "planted": planted,
    "scaling": scaling,
    "speed": speed,
    "at once": at_once,
    "step": step,
    "rationalizers": rationalized,
    "links": linked,
    "plausible links": plausible,
    "guided links": guided,
    "planted links": planted_links,
    "regex settings": settings,
    "regex domains": faithful,
    "regex gains": gains,
    "regex terms": terms,
    "regex others": regex_others,
    "variants": variants,
    "game options": game_options,
}


def refreshed(page: Path) -> str:
    """The text of a page with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        name = page.stem
        content = options(OPTIONS[page.parent.name](name)) if match[2] == "options" else MADE_BY[match[2]](name)
        return f"{match[1]}\n{content}\n{match[3]}"

    return BLOCK.sub(made, page.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    """The pages that have such tables."""
    return sorted(page for page in DOCS.rglob("*.md") if BLOCK.search(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    for page in pages():
        page.write_text(refreshed(page), encoding="utf-8")
