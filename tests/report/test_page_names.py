"""The page in chromium calls a mixed branch by the parts of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import CHROMIUM, Opened
from mixed_trees import MIXED, NAMES, PARTS, PURE, with_mixed_tree

import hiertopics
from hiertopics.runs.rundir import RunDir

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]


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
    assert name in opened.page.inner_text(".lead") and name in opened.page.inner_text(".outline")
    title = opened.page.text_content(f'[data-node="{MIXED}"] title')
    assert title is not None and title.startswith(f"[{MIXED}] {name}: ")
    opened.go(f"t{PURE}")
    assert opened.page.inner_text("h2").startswith(f"[{PURE}] {NAMES[PURE]}")


def test_places_of_few_words_show_whole_parts_and_lines_of_boxes_end_with_them(
    page: Path, show: Callable[..., Opened]
) -> None:
    opened = show(page, 1280, "t4")
    above = opened.page.inner_text('[aria-label="Topics above"]')
    assert " ".join(PARTS[0]) in above and "·" not in above
    box = opened.page.locator(f'.map [data-node="{MIXED}"] text')
    lines = [text.rstrip(" ·") for text in box.all_text_contents()]
    ends = {" ".join(part) for part in PARTS}
    assert {line.split(" · ")[-1] for line in lines} <= {*ends, "›"} and lines
