"""The page fits its window: nothing stands beside it, and what one looks for is in sight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import IN_BROWSER, SETTLED, Opened
from long_names import NAMES, with_long_names
from pages import data_of

import hiertopics

Show = Callable[..., Opened]
pytestmark = IN_BROWSER
WIDTHS = (390, 768, 1280)


@pytest.fixture
def pages(
    copied: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, Path]:
    """Return the page of a run with long names and years, and one that compares it."""
    run = with_long_names(copied("nhdp-variational"), monkeypatch)
    (tmp_path / "years").write_text("".join(f"{1990 + doc % 6}\n" for doc in range(30)))
    sides = [f"year={tmp_path / 'years'}"]
    found = {"page": tmp_path / "page.html", "compare": tmp_path / "compare.html"}
    hiertopics.report(run, output=found["page"], sides=sides)
    hiertopics.report(run, run, output=found["compare"], sides=sides)
    return found


@pytest.mark.parametrize("kind", ["page", "compare"])
def test_no_width_scrolls_sideways_whatever_the_length_of_names(
    pages: dict[str, Path], show: Show, kind: str
) -> None:
    ids = data_of(pages[kind])["nodes"]["id"]
    views = ["", "t1", f"t{ids[-1]}", "d1", "documents", "model", *["compare"] * (kind != "page")]
    for width in WIDTHS:
        opened = show(pages[kind], width)
        for address in views:
            opened.go(address)
            opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            sizes = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert sizes == [width, width], (width, address)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_legend_of_branches_over_a_column_has_whole_names(
    pages: dict[str, Path], show: Show, width: int
) -> None:
    """They take as many lines as they need; no mark of CSS cuts them."""
    opened = show(pages["page"], width)
    legend = opened.page.locator(".legend.keyed bdi")
    assert set(legend.all_inner_texts()) == set(NAMES.values())
    cut = "all => all.map(one => one.scrollWidth > one.clientWidth + 1)"
    assert not any(legend.evaluate_all(cut))


IN_SIGHT = """all => all.map(one => {
  const box = one.getBoundingClientRect();
  const list = one.closest(".long")?.getBoundingClientRect() ?? box;
  const top = Math.max(box.top, list.top), bottom = Math.min(box.bottom, list.bottom);
  return top >= 0 && bottom <= innerHeight && bottom - top >= 0.95 * box.height;
})"""
BOXES = """all => all.map(one => [...one.querySelectorAll("rect, text")].map(part => {
  const box = part.getBBox();
  return [part.textContent, ...[box.x, box.y, box.width, box.height].map(Math.round)];
}))"""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (768, 900), (1280, 900)])
def test_results_of_a_search_are_in_sight_while_one_types(
    pages: dict[str, Path], show: Show, width: int, height: int
) -> None:
    """The count, and the first topics and documents; the map stays as it is."""
    opened = show(pages["page"], width)
    page = opened.page
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(SETTLED)
    before = page.locator(".picture g.box").evaluate_all(BOXES)
    page.keyboard.press("/")
    page.keyboard.type("xylophone")
    page.evaluate(SETTLED)
    assert page.evaluate("scrollY") == 0
    assert page.locator("#counts").evaluate_all(IN_SIGHT) == [True]
    for name, fewest in (("Topics found", 3), ("Documents found", 3)):
        rows = page.locator(f"[aria-label='{name}'] .row")
        assert rows.evaluate_all(IN_SIGHT)[:fewest] == [True] * fewest, name
    assert page.locator("#detail h2", has_text="Overview").is_hidden()
    assert page.locator(".picture g.box").evaluate_all(BOXES) == before
    page.keyboard.press("Escape")
    assert page.locator("#detail h2", has_text="Overview").is_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_results_stay_beside_what_one_of_them_leads_to(
    pages: dict[str, Path], show: Show, width: int
) -> None:
    opened = show(pages["page"], width, reduced_motion="reduce")
    opened.find("xylophone")
    opened.page.locator("[aria-label='Topics found'] a").nth(1).click()
    opened.page.evaluate(SETTLED)
    heading = opened.page.locator("#detail h2")
    assert heading.inner_text().startswith("[") and heading.evaluate_all(IN_SIGHT) == [True]
    assert opened.page.locator("#counts").is_visible()
    if width > 900:
        assert opened.page.locator("#counts").evaluate_all(IN_SIGHT) == [True]
    opened.go("documents")
    assert opened.page.locator("#counts").is_visible()
    assert opened.page.locator(".doctable").is_visible()
    assert opened.wider() <= 0


@pytest.mark.parametrize("width", [390, 768])
def test_a_narrow_window_shows_two_sentences_and_folds_the_rest(
    pages: dict[str, Path], show: Show, width: int
) -> None:
    opened = show(pages["page"], width, reduced_motion="reduce")
    lead = opened.page.locator("#lead")
    first = lead.inner_text().removesuffix("More").strip()
    assert first.count(". ") == 1 and first.endswith(".")
    assert first.startswith("24 documents with ") and " The largest are " in first
    rest = lead.locator("details p")
    assert rest.is_hidden()
    lead.locator("summary").click()
    assert rest.is_visible()
    given = [piece for piece in data_of(pages["page"])["lead"] if isinstance(piece, str)]
    whole = " ".join(f"{first} {rest.inner_text()}".split())
    assert all(piece.strip() in whole for piece in given) and whole.endswith(given[-1])
    opened.page.set_viewport_size({"width": 1280, "height": 844})
    lead.locator("summary").wait_for(state="detached")
    assert lead.inner_text() == whole


def test_paper_has_the_whole_paragraph_whatever_is_folded(
    pages: dict[str, Path], show: Show
) -> None:
    opened = show(pages["page"], 390)
    lead = opened.page.locator("#lead")
    assert lead.locator("details p").is_hidden()
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#lead summary").is_hidden()
    box = lead.locator("p").last.bounding_box()
    assert box is not None and box["height"] > 20
    assert "measured" in lead.inner_text()
