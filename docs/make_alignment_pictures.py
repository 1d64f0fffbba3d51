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

from playwright.sync_api import sync_playwright

from rationales import explain, load_model
from rationales.comparison.types import Case
from rationales.data import gold_alignment
from rationales.data.planted import PAIR_LABELS, Planted, pairs
from rationales.guidance import RoleGuide, guided
from rationales.models import Model
from rationales.report import write_page
from rationales.train.classifier import Config, train

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
WIDTH = 1000

PASSENGERS = ("Passengers in a rusty yellow car driving down the street.", "People walk through a store.")
"""The first figure of Jiang et al. (2021)."""
OVERLAPPING = ("The president advised the doctor.", "The doctor advised the president.")
"""Of the kind that McCoy et al. (2019) made; the fourth figure of Jiang et al. (2021)."""
SHOWN = ("arec", "coattention", "link_leave_one_out")


def planted(size: int, seed: int) -> Planted:
    """Pairs in which what is done to which animal decides: a small model learns them."""
    return pairs(size, seed=seed, deciding=("object",), scenes=1, details=0)


def trained(directory: Path) -> Path:
    """The embedded encoder, fine-tuned; two minutes or so on two cores."""
    config = Config(out=directory / "model", epochs=2, learning_rate=3e-4, batch_size=16)
    return train(config, planted(1200, 0), planted(200, 1), labels=PAIR_LABELS)


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
    page: Path, scheme: Literal["light", "dark"], path: Path, opened_too: Sequence[str] = (), what: str = ".case"
) -> None:
    """The pair on the page, as a picture; with some matrices besides the lines."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(
            color_scheme=scheme, viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5
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
    pages: dict[str, tuple[list[Case], Sequence[str], str]] = {}
    with tempfile.TemporaryDirectory() as directory:
        if options.snli:
            model = load_model(options.snli)
            pages["passengers"] = [found(model, PASSENGERS, SHOWN)], ("arec",), ".case"
            pages["guided"] = guided_and_not(model), ("arec",), "#cases"
        else:
            model = load_model(options.model or trained(Path(directory)))
            pages["alignments"] = [explained(model)], OPENED, ".case"
        for name, (cases, opened, what) in pages.items():
            page = write_page(cases, Path(directory) / f"{name}.html")
            for scheme in ("light", "dark"):
                photograph(page, scheme, HERE / "pictures" / f"{name}-{scheme}.png", opened, what)


if __name__ == "__main__":
    main()
