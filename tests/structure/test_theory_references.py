"""The mathematics is in the house: every reference to a theory page leads to a section of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import ROOT

THEORY = ROOT / "docs" / "theory"
SOURCES = sorted(
    path
    for folder in ("hiertopics", "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*.py")
    if path != Path(__file__)
)
PLACE = r"(?:\d+(?:\.\d+)*|T\d+)"
REFERENCE = re.compile(rf"theory/(\w+)((?:,? (?:and |to )?{PLACE}(?![\w.]*\d))*)")


def places(page: str) -> set[str]:
    """Return what can be referred to: numbers of headings, of a list's items, tests by letter."""
    found, section = set(), ""
    for line in (THEORY / f"{page}.md").read_text(encoding="utf-8").splitlines():
        heading = re.match(r"#+ (\d+(?:\.\d+)*)\.? ", line)
        if heading:
            section = heading[1]
            found.add(section)
        found |= {f"{section}.{number}" for number in re.findall(r"(?:^|\. )(\d+)\. ", line)}
        found |= set(re.findall(r"\*\*(T\d+)\*\*", line))
    return found


def references(path: Path) -> Iterator[tuple[str, str]]:
    """Yield page and place of every reference in a file; a page alone has no place."""
    text = re.sub(r"\s*\n\s*(?:#+ )?", " ", path.read_text(encoding="utf-8"))
    for page, numbers in REFERENCE.findall(text):
        yield from ((page, place) for place in re.findall(PLACE, numbers) or [""])


def test_every_reference_leads_to_a_section() -> None:
    known = {path.stem: places(path.stem) | {""} for path in THEORY.glob("*.md")}
    lost = [
        f"{path.relative_to(ROOT)}: theory/{page} {place}"
        for path in SOURCES
        for page, place in references(path)
        if place not in known.get(page, ())
    ]
    assert lost == []


@pytest.mark.parametrize("page", ["bursts", "chdp", "hdp", "ncrp", "nhdp", "tssb"])
def test_every_page_is_referred_to(page: str) -> None:
    assert page in {name for path in SOURCES for name, _ in references(path)}


def test_no_text_outside_the_tree_is_referred_to() -> None:
    outside = re.compile(r"\b[Ss]pec (?:pcvb0|ncrp|tssb|chdp|section|\d)|\((?:design|interface) ?")
    found = [path.name for path in SOURCES if outside.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_places_are_read_as_they_are_written(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text('"""Sticks (theory/hdp 3.3, 4.2; theory/ncrp T6 and 2), steps\n2 to 5."""\n')
    found = [("hdp", "3.3"), ("hdp", "4.2"), ("ncrp", "T6"), ("ncrp", "2")]
    assert list(references(source)) == found
