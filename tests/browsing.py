"""Pages in chromium, and what goes wrong in them."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import pytest

CHROMIUM = shutil.which("chromium")

IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
"""Marks of tests that open pages."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

SETTLED = "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => done()), 0))"
"""Waits until the page has followed its address and drawn itself."""


class Opened(NamedTuple):
    """A page, and what went wrong in it: errors, messages of the console, requests."""

    page: Any
    problems: list[str]

    def go(self, address: str) -> None:
        """Show what an address names."""
        self.page.evaluate("address => { location.hash = address; }", address)
        self.page.evaluate(SETTLED)

    def find(self, query: str) -> str:
        """Search; return what the page says of it."""
        self.page.fill("#query", query)
        return str(self.page.inner_text("#counts"))

    def wider(self) -> int:
        """Return by how much the page is wider than its window."""
        return int(
            self.page.evaluate("document.documentElement.scrollWidth - document.body.clientWidth")
        )
