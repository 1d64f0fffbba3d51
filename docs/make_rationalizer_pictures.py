"""Planted reviews explained by a rationalizer, as the renderer shows them, in light and dark.

python docs/make_rationalizer_pictures.py                     writes docs/pictures/selections-*.png
python docs/make_rationalizer_pictures.py --model DIR         with a rationalizer that was trained before

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
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.explanation import Explanations
from rationales.train.rationalizers import train, ver

HERE = Path(__file__).parent
SHOWN = 4
"""Reviews of the test split, from its first on: they are not picked."""


def trained(directory: Path) -> Path:
    """What the page `rationalizers.md` trains; about half a minute on one core."""
    config = ver.Config(
        out=directory / "my-ver",
        epochs=8,
        batch_size=32,
        learning_rate=0.005,
        hidden=64,
        vector_size=50,
        sparsity=0.1,
        sparsity_weight=1.0,
        continuity_weight=1.0,
    )
    return train("ver", config, reviews(2000, seed=0), reviews(500, seed=1), labels=REVIEW_LABELS)


def photograph(found: Explanations, scheme: Literal["light", "dark"], path: Path) -> None:
    """What a notebook would show of the explanations, as a picture."""
    page = f'<!doctype html><meta charset="utf-8"><body style="margin: 0">{found.to_html()}'
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(color_scheme=scheme, viewport={"width": 800, "height": 200}, device_scale_factor=1.5)
        opened.set_content(page)
        opened.locator(".rationales").first.screenshot(path=path)
        browser.close()


def main() -> None:
    """Parse, train or load, explain, photograph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of a rationalizer trained on planted reviews")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        model = load_model(options.model or trained(Path(directory)))
        found = explain(model, reviews(SHOWN, seed=2))
    for scheme in ("light", "dark"):
        photograph(found, scheme, HERE / "pictures" / f"selections-{scheme}.png")


if __name__ == "__main__":
    main()
