"""A chromium for all tests of a file, and a function that opens reports in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, FLAGS, Opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a chromium that all tests of this file share."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Return a function that opens a report; at the end of the test nothing has gone wrong."""
    shown: list[tuple[Any, list[str]]] = []

    def open_page(file: Path, width: int = 1280, address: str = "", **options: Any) -> Opened:
        options = {"color_scheme": "light", "accept_downloads": True, **options}
        context = browser.new_context(viewport={"width": width, "height": 844}, **options)
        page, problems = context.new_page(), []
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "blob:", "data:image/svg+xml"))
                else problems.append(f"request: {request.url}")
            ),
        )
        page.goto(f"{file.as_uri()}#{address}")
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.whole")
        shown.append((context, problems))
        return Opened(page, problems)

    yield open_page
    for context, _ in shown:
        context.close()
    assert [problem for _, problems in shown for problem in problems] == []
