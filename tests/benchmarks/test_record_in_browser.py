"""The page of a record in a browser: it sorts, it filters, and names of rows stay in view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import CHROMIUM, FLAGS, IN_BROWSER

from benchmarks import record_page, record_table
from benchmarks.process import ROOT

pytestmark = IN_BROWSER
FIGURES = (("a", "1181.5"), ("b", "642.4"), ("c", "stopped at 6 min"), ("d", "9"), ("e", ""))
"""Systems and their perplexity; sorted as texts they would have another order."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the page of a table; at the end nothing has gone wrong."""
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    folder = tmp_path_factory.mktemp("pages")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))

        def opened(table: list[record_table.Row], width: int = 1280, scheme: Any = None) -> Any:
            record_page.write(table, folder / "record.html")
            size: Any = {"width": width, "height": 844}
            page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            page.on("pageerror", lambda error: problems.append(f"error: {error}"))
            page.on("console", lambda message: problems.append(f"console: {message.text}"))
            page.on("request", lambda request: problems.append(f"request: {request.url}"))
            page.goto((folder / "record.html").as_uri())
            assert problems.pop(0).startswith("request: file:")
            return page

        yield opened
        browser.close()
    assert problems == []


def small() -> list[record_table.Row]:
    """A table of one corpus, with the columns of the record of the guide."""
    row = record_table.read_csv(ROOT / "docs" / "record.csv")[0]
    return [row | {"system": name, "perplexity": figure} for name, figure in FIGURES]


def systems(page: Any) -> str:
    """Return the systems of the rows in view, in their order."""
    rows = page.locator("tbody tr:visible td:nth-child(2)")
    return "".join(rows.all_inner_texts())


def test_a_click_on_a_head_sorts_numbers_as_numbers(opened: Callable[..., Any]) -> None:
    page = opened(small())
    head = page.locator("thead th", has_text="perplexity").first
    assert systems(page) == "abcde" and head.get_attribute("aria-sort") is None
    head.locator("button").click()
    assert systems(page) == "dbaec" and head.get_attribute("aria-sort") == "ascending"
    head.locator("button").press("Enter")
    assert systems(page) == "abdce" and head.get_attribute("aria-sort") == "descending"
    page.locator("thead button", has_text="system").click()
    assert systems(page) == "abcde" and head.get_attribute("aria-sort") is None


def test_words_of_corpus_and_system_choose_rows(opened: Callable[..., Any]) -> None:
    table = [row | {"corpus": "kos" if row["system"] in "ab" else "debian"} for row in small()]
    page = opened(table)
    page.fill("#filter", "KOS b")
    assert systems(page) == "b"
    page.fill("#filter", "deb")
    assert systems(page) == "cde"
    page.fill("#filter", "")
    assert systems(page) == "abcde"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_system_of_a_row_stays_in_view(
    opened: Callable[..., Any], width: int, scheme: str
) -> None:
    page = opened(record_table.read_csv(ROOT / "docs" / "record.csv"), width, scheme)
    whole = page.evaluate("document.documentElement.scrollWidth")
    assert whole <= width, "the page is wider than its window"
    page.evaluate("document.querySelector('.table').scrollLeft = 1e6")
    box = page.evaluate("document.querySelector('.table').getBoundingClientRect().toJSON()")
    system = page.locator("tbody tr:first-child td:nth-child(2)").bounding_box()
    assert box["left"] <= system["x"] and system["x"] + system["width"] < box["right"]
    colours = page.evaluate(
        "[...document.querySelectorAll('tbody tr:first-child td:nth-child(2), thead th')]"
        ".map(cell => getComputedStyle(cell).backgroundColor)"
    )
    assert all(colour != "rgba(0, 0, 0, 0)" for colour in colours), "cells show what is below them"


@pytest.mark.nightly
def test_the_record_of_the_guide_sorts_by_every_head(opened: Callable[..., Any]) -> None:
    table = record_table.read_csv(ROOT / "docs" / "record.csv")
    page = opened(table)
    for button in page.locator("thead button").all():
        button.click()
        assert page.locator("tbody tr").count() == len(table)
        place = page.locator("thead th").evaluate_all(
            "heads => heads.findIndex(head => head.ariaSort === 'ascending')"
        )
        texts = page.locator(f"tbody td:nth-child({place + 1})").all_text_contents()
        numbers = [float(text) for text in texts if is_number(text)]
        assert numbers == sorted(numbers)
        assert [is_number(text) for text in texts] == [True] * len(numbers) + [False] * (
            len(texts) - len(numbers)
        )


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
