"""A headless Chromium that opens the page and hears whatever it says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from rationales.comparison.types import Case

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str:
    """The browser that the environment variable CHROMIUM names, or that is on the PATH."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(
            "the tests of the page need Chromium: install it (such as by apt-get install chromium), or set CHROMIUM to "
            f"the path of Chrome or Chromium. On the PATH there is none of {', '.join(NAMES)}",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session", name="browser")
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium())
        yield running
        running.close()


COUNTING = """
window.inflated = 0;
const Stream = window.DecompressionStream;
window.DecompressionStream = class extends Stream { constructor(...given) { super(...given); window.inflated += 1; } };
"""
"""Counts what is inflated, before the page's own script runs."""


@pytest.fixture(name="opened")
def opening(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page; at the end there must have been no message in its console, no error and no request."""
    pages: list[tuple[Page, list[str], str]] = []

    def open_page(path: Path, state: str = "", *, ready: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.add_init_script(COUNTING)
        page.goto(path.as_uri() + state)
        pages.append((page, told, path.as_uri()))
        if ready:
            page.wait_for_selector("#filters")
            settled(page)
        return page

    yield open_page
    for page, told, address in pages:
        page.context.close()
        assert [one for one in told if one.partition("#")[0] != address] == []


def settled(page: Page) -> None:
    """Wait until what was asked for is shown."""
    page.wait_for_selector("#cases:not([aria-busy])")


def shows(page: Page, given: Iterable[Case]) -> None:
    expect(page.locator(".case h3")).to_have_text([one.id for one in given])
    settled(page)


def count(page: Page, said: str) -> None:
    expect(page.locator("#count")).to_have_text(said)
