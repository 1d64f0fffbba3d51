"""Pairs of texts with their links, as the page shows them, light and dark.

python docs/make_alignment_pictures.py                     writes docs/pictures/alignments-*.png: one planted pair
python docs/make_alignment_pictures.py --model DIR         with a model that was trained on planted pairs before
python docs/make_alignment_pictures.py --snli DIR          writes passengers-*.png and guided-*.png: two pairs of
                                                           papers, before a model that was trained on SNLI

It needs Chromium on the PATH, or its path in the environment variable CHROMIUM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from make_pictures import pair_model
from playwright.sync_api import sync_playwright

from rationales import explain, load_model
from rationales.comparison.types import Case
from rationales.data import gold_alignment
from rationales.data.planted import PAIR_LABELS
from rationales.guidance import RoleGuide, guided
from rationales.models import Model
from rationales.report import write_page
from rationales.reproduce.planted_links import planted

HERE = Path(__file__).parent
METHODS = (
    "arec",
    "link_leave_one_out",
    "coattention",
    "link_integrated_gradients",
    "link_lime",
    "link_gradient",
    "link_random",
)
OPENED = ("human_alignment", "arec", "link_leave_one_out", "coattention")
"""Whose matrices are shown besides their lines."""
WIDTH, NARROW = 1000, 560

PASSENGERS = ("Passengers in a rusty yellow car driving down the street.", "People walk through a store.")
"""The first figure of Jiang et al. (2021)."""
OVERLAPPING = ("The president advised the doctor.", "The doctor advised the president.")
"""Of the kind that McCoy et al. (2019) made; the fourth figure of Jiang et al. (2021)."""
SHOWN = ("arec", "coattention", "link_leave_one_out")


def explained(model: Model) -> Case:
    """The first pair of the test split: it is not picked."""
    (pair,) = planted(1, 2)
    found = {name: explain(model, pair, name)[0] for name in METHODS}
    said = found[METHODS[0]].target
    both = {"human_alignment": gold_alignment(pair), **found}
    return Case("", pair.id, pair.texts, PAIR_LABELS[pair.label], said.label, said.score, both)


def found(model: Model, pair: tuple[str, str], methods: Sequence[str], name: str = "") -> Case:
    """A pair whose label nobody gives, explained."""
    explanations = {method: explain(model, [pair], method)[0] for method in methods}
    said = explanations[methods[0]].target
    return Case("", name, pair, None, said.label, said.score, explanations)


def guided_and_not(model: Model) -> list[Case]:
    """The pair that models fall for, and the same with alignments guided by roles."""
    free = found(model, OVERLAPPING, ["arec"], "not guided")
    with guided(model, RoleGuide()):
        return [free, found(model, OVERLAPPING, ["arec"], "guided by roles")]


def photograph(
    page: Path, scheme: Literal["light", "dark"], path: Path, opened_too: Sequence[str], what: str, width: int
) -> None:
    """The pair on the page, as a picture; with some matrices besides the lines."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(
            color_scheme=scheme, viewport={"width": width, "height": 900}, device_scale_factor=1.5
        )
        opened.goto(page.as_uri())
        opened.wait_for_selector("#cases:not([aria-busy]) .case")
        for name in opened_too:
            for summary in opened.locator(f'[data-method="{name}"] summary').all():
                summary.click()
        opened.locator(what).screenshot(path=path)
        browser.close()


def main() -> None:
    """Parse, train or load, explain, write the page, photograph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of a model trained on planted pairs")
    parser.add_argument("--snli", type=Path, help="directory of a model trained on SNLI")
    options = parser.parse_args()
    pages: dict[str, tuple[list[Case], Sequence[str], str, int]] = {}
    with tempfile.TemporaryDirectory() as directory:
        if options.snli:
            model = load_model(options.snli)
            pages["passengers"] = [found(model, PASSENGERS, SHOWN)], ("arec",), ".case", WIDTH
            pages["guided"] = guided_and_not(model), ("arec",), "#cases", NARROW
        else:
            model = load_model(options.model or pair_model(Path(directory)))
            pages["alignments"] = [explained(model)], OPENED, ".case", WIDTH
        for name, (cases, opened, what, width) in pages.items():
            page = write_page(cases, Path(directory) / f"{name}.html")
            for scheme in ("light", "dark"):
                photograph(page, scheme, HERE / "pictures" / f"{name}-{scheme}.png", opened, what, width)


if __name__ == "__main__":
    main()
