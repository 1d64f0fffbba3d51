"""Sentences explained by scaled attention of a plain classifier and of one trained by REGEX, side by side.

python docs/make_faithful_pictures.py        writes docs/pictures/faithful-*.png

The explanations are in docs/pictures, made by `rationales explain --method scaled_attention` with the models of the
first seed of `rationales reproduce regex-table1 --part sst2`; the sentences are ours. It needs Chromium on the PATH, or
its path in the environment variable CHROMIUM.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright

from rationales import Explanations

PICTURES = Path(__file__).parent / "pictures"
MODELS = {
    "rationales train classifier": "plain.jsonl",
    "rationales train regex --gradient-weight 0.1": "faithful.jsonl",
}
STYLE = """body { margin: 0; font-family: system-ui, sans-serif } main { display: flex; gap: 1rem; padding: .5rem }
main > div { flex: 1 } h2 { font: 1rem monospace; margin: .5rem 1rem }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #e8e8e8 } }"""


def photograph(scheme: Literal["light", "dark"], path: Path) -> None:
    """Both models beside each other."""
    parts = [
        f"<div><h2>{name}</h2>{Explanations.from_jsonl(PICTURES / file).to_html()}</div>"
        for name, file in MODELS.items()
    ]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        opened = browser.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 200}, device_scale_factor=1.5)
        opened.set_content(f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><main>{"".join(parts)}</main>')
        opened.locator("main").screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    for scheme in ("light", "dark"):
        photograph(scheme, PICTURES / f"faithful-{scheme}.png")
