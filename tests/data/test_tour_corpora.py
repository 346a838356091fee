"""The corpora of the tour: lines of changelogs with their years, long and German man pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks import debian, tour
from benchmarks.debian import Package, Page

GNU = """1999-03-02  Ann  <a@b>

\t* src/a.c: read the second file as well
\t* src/b.c: short
"""
DEBIAN = """hello (2.1) unstable; urgency=low

  [ Bob ]
  * New upstream version with
    all of its files. Closes: #12
  - a line that stands below another

 -- Bob <b@c>  Tue, 05 Jun 2007 10:00:00 +0200
"""
LONG = "word " * 120


def shipped(
    packages: Sequence[Package], manual: re.Pattern[str] = debian.MAN
) -> Iterator[tuple[Package, list[Page]]]:
    for package in packages:
        yield (
            package,
            [
                Page("usr/share/doc/x/changelog.gz", [GNU, DEBIAN, "  * a line that has no date"]),
                Page("usr/share/doc/x/README.gz", [DEBIAN]),
                Page("usr/share/man/man1/b.1.gz", [LONG + package.name]),
                Page("usr/share/man/man1/a.1.gz", ["so short"]),
                Page("usr/share/man/de/man1/c.1.gz", [f'{LONG} "Übersicht"']),
            ],
        )


def test_lines_have_the_year_of_their_entry_and_come_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "pages", shipped)
    monkeypatch.setattr(debian, "at_hand", list)
    made = list(tour.build(tmp_path))
    assert [(one.name, one.n_docs) for one in made] == [
        (tour.SHORT, 3),
        (tour.LONG, 1),
        (tour.GERMAN, 1),
    ]
    records = [json.loads(line) for line in (tmp_path / tour.SHORT).read_text().splitlines()]
    assert [(record["year"], record["text"]) for record in records] == [
        (1999, "src/a.c: read the second file as well"),
        (2007, "New upstream version with all of its files. Closes: #12"),
        (2007, "a line that stands below another"),
    ]
    assert records[0]["id"] == f"{tour.OF_CHANGES[0].name}/1"
    assert [path.name for path in (tmp_path / tour.LONG).iterdir()] == ["b.1.txt"]
    table = (tmp_path / tour.GERMAN).read_text(encoding="utf-8")
    assert table == f'name,section,text\nc.1,1,"{LONG}""Übersicht"""\n'
    assert [one.sha256 for one in tour.build(tmp_path)] == [one.sha256 for one in made]


def test_a_package_that_is_not_to_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "_known", lambda packages: packages[1:])
    with pytest.raises(RuntimeError, match=f"no version of {tour.OF_CHANGES[0].name};"):
        next(tour.build(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
