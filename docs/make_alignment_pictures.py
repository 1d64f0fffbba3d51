"""One planted pair with the links that were planted and those of every method, as the page shows them, light and dark.

python docs/make_alignment_pictures.py                     writes docs/pictures/alignments-*.png
python docs/make_alignment_pictures.py --model DIR         with a model that was trained on planted pairs before

It needs Chromium on the PATH, or its path in the environment variable CHROMIUM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright

from rationales import explain, load_model
from rationales.comparison.types import Case
from rationales.data import gold_alignment
from rationales.data.planted import PAIR_LABELS, Planted, pairs
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


def photograph(page: Path, scheme: Literal["light", "dark"], path: Path) -> None:
    """The pair on the page, as a picture."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(
            color_scheme=scheme, viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5
        )
        opened.goto(page.as_uri())
        opened.wait_for_selector("#cases:not([aria-busy]) .case")
        for name in OPENED:
            opened.locator(f'[data-method="{name}"] summary').click()
        opened.locator(".case").screenshot(path=path)
        browser.close()


def main() -> None:
    """Parse, train or load, explain, write the page, photograph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of a model trained on planted pairs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        model = load_model(options.model or trained(Path(directory)))
        page = write_page([explained(model)], Path(directory) / "page.html")
        for scheme in ("light", "dark"):
            photograph(page, scheme, HERE / "pictures" / f"alignments-{scheme}.png")


if __name__ == "__main__":
    main()
