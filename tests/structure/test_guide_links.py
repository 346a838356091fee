"""Pages point to what is there, and the guide's first page leads to all others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from guide import CONFIGS, PAGES, ROOT, anchors, commands, fences, name_of, typed, without_fences

READ_TOO = [
    *(ROOT / folder / "README.md" for folder in ("data-samples", "benchmarks")),
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
]


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield file and anchor of each link of a page that does not leave the tree."""
    text = without_fences(page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield file, anchor


@pytest.mark.parametrize("page", [*PAGES, *READ_TOO], ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for file, anchor in links(page):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), (file, anchor)


def test_anchors_are_those_of_headings() -> None:
    text = "# A `b-c`: (d), e_f\n```\n# g\n```\n## H, i\n"
    assert anchors(text) == {"a-b-c-d-e_f", "h-i"}


def test_the_guides_first_page_leads_to_every_other() -> None:
    first = ROOT / "docs" / "README.md"
    listed = {(first.parent / file).resolve() for file, _ in links(first) if file}
    assert [page.name for page in PAGES if page.parent == first.parent and page not in listed] == [
        first.name
    ]


def test_readme_leads_to_the_guide() -> None:
    assert "docs/README.md" in {file for file, _ in links(ROOT / "README.md")}


def test_every_config_of_a_paper_has_its_command(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    script = "\n".join(typed(body) for body in fences(text, "console"))
    used = {word for words in commands(script, tmp_path) for word in words if "configs/" in word}
    wanted = {name_of(path) for path in CONFIGS if path.parent.name == "papers"}
    assert used == wanted
