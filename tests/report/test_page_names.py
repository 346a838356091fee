"""The page in chromium calls a mixed branch by the parts of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_BROWSER, Opened
from long_names import with_long_names
from mixed_trees import MIXED, NAMES, PARTS, PURE, with_mixed_tree
from pages import data_of

import hiertopics
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report import gathering
from hiertopics.views.report.writing import PAGE

pytestmark = IN_BROWSER


@pytest.fixture
def page(copied: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the page of a run with a mixed branch, beside itself."""
    run = with_mixed_tree(RunDir(copied("nhdp-variational")), monkeypatch)
    hiertopics.report(run, run, output=tmp_path / "page.html")
    return tmp_path / "page.html"


def test_all_panes_show_the_whole_name_of_a_mixed_branch(
    page: Path, show: Callable[..., Opened]
) -> None:
    opened = show(page, 1280, f"t{MIXED}")
    name = NAMES[MIXED]
    assert opened.page.inner_text("h2").startswith(f"[{MIXED}] {name}")
    assert name in opened.page.inner_text(".outline")
    title = opened.page.text_content(f'[data-node="{MIXED}"] title')
    assert title is not None and title.startswith(f"[{MIXED}] {name}: ")
    opened.go(f"t{PURE}")
    assert opened.page.inner_text("h2").startswith(f"[{PURE}] {NAMES[PURE]}")
    opened.go("")
    assert name in opened.page.inner_text("#lead")


def test_places_of_few_words_show_whole_parts_and_lines_of_boxes_end_with_them(
    page: Path, show: Callable[..., Opened]
) -> None:
    opened = show(page, 1280, "t4")
    above = opened.page.inner_text('[aria-label="Topics above"]')
    assert f"{' '.join(PARTS[0])} …" in above and "·" not in above
    box = opened.page.locator(f'.map [data-node="{MIXED}"] text')
    lines = [text.removeprefix("· ") for text in box.all_text_contents()]
    ends = {" ".join(part) for part in PARTS}
    assert {line.split(" · ")[-1] for line in lines} <= {*ends, "›"} and lines


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_cut_leaves_a_separator_at_the_end_of_a_line(
    copied: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    show: Callable[..., Opened],
    width: int,
) -> None:
    """Neither in the map, nor in the way to a place in it, nor where a name stands again."""
    run = with_long_names(copied("nhdp-variational"), monkeypatch)
    monkeypatch.setattr(gathering, "lead_part", lambda _: [1, " and ", 2, " and ", 1])
    opened = show(hiertopics.report(run, output=tmp_path / "page.html").path, width)
    lines = opened.page.locator("#lead a").all_inner_texts()
    assert lines[2] == f"{lines[0].split(' · ')[0]} …"
    for address in ("", "t1", "t3"):
        opened.go(address)
        lines += opened.page.locator(".picture text").all_text_contents()
        lines += opened.page.locator(".crumbs bdi").all_inner_texts()
    assert any("…" in line for line in lines) and any(line.startswith("· ") for line in lines)
    assert [line for line in lines if line.rstrip(" …").endswith("·")] == []
    weights = opened.page.locator(".picture g.box").evaluate_all(
        """all => all.map(one => new Set([...one.querySelectorAll("text")].filter(
          text => text.textContent !== "›").map(text => text.getAttribute("font-weight"))).size)"""
    )
    assert max(weights) == 1


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_own_words_have_a_labelled_box_in_the_map(
    page: Path, show: Callable[..., Opened], width: int, scheme: str
) -> None:
    """Those of the root are general words, with their share; no column of the map has a gap."""
    opened = show(page, width, color_scheme=scheme)
    own = opened.page.locator(".picture g.own")
    root = own.filter(has_text="own words of [0]")
    weight = data_of(page)["nodes"]["weight"][0]
    assert root.count() == 1
    assert root.locator("text").first.text_content() == f"general words, {100 * weight:.1f}%"
    title = root.locator("title").text_content()
    assert title.endswith("% of all words: at the root: they fit all branches alike")
    picture = opened.page.locator(".picture svg")
    high, wide = (float(picture.get_attribute(name) or 0) for name in ("height", "width"))
    areas = opened.page.locator(".picture g").evaluate_all(
        """all => all.map(one => { const box = one.querySelector("rect").getBBox();
             return (box.width + 1.5) * (box.height + 1.5); }).reduce((a, b) => a + b, 0)"""
    )
    assert areas == pytest.approx(high * wide, rel=0.02)
    opened.page.get_by_role("button", name="by documents").click()
    told = opened.page.locator(".picture g.own text").all_text_contents()
    assert set(told) <= {"own documents"}


def test_a_cut_name_ends_without_a_mark_between_parts(browser: Any) -> None:
    source = (PAGE / "map.js").read_text(encoding="utf-8").split("/** The icicle")[0]
    script = f"""([text, most]) => {{
      const BETWEEN = " · ";
      {source}
      return lines(text, widthOf("ball goal · v", true), most);
    }}"""
    page = browser.new_page()
    name = "ball goal · vote law · tempo choir"
    assert page.evaluate(script, [name, 1]) == ["ball goal"]
    assert page.evaluate(script, [name, 2]) == ["ball goal", "· vote law"]
    assert page.evaluate(script, [name, 4])[-2:] == ["· tempo", "choir"]
    assert page.evaluate(script, [name, 0]) == []
    page.close()


def test_two_runs_have_the_names_of_their_folders(page: Path, show: Callable[..., Opened]) -> None:
    text = show(page, 1280, "compare").page.inner_text("#detail")
    assert " (nhdp-variational, seed 0) beside " in text and "folder" in text


def test_the_hint_of_the_search_fits_a_phone(page: Path, show: Callable[..., Opened]) -> None:
    opened = show(page, 390)
    field = opened.page.locator("#query")
    hint = field.get_attribute("placeholder")
    assert hint
    wide = """(field) => {
      const context = document.createElement("canvas").getContext("2d");
      const style = getComputedStyle(field);
      context.font = style.font;
      const edges = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
      return [context.measureText(field.placeholder).width, field.clientWidth - edges];
    }"""
    needs, has = field.evaluate(wide)
    assert needs < has / 2
