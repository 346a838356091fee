"""Three corpora to try the program on, as people have them, from what Debian ships.

50,000 short texts with years (lines of changelogs), 300 long ones (man pages), and 900 that are not
in English (German man pages). The packages have fixed versions and texts a fixed order, so that
hashes tell whether two people have the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import debian
from benchmarks.debian import Package

SHORT, LONG, GERMAN = "changes.jsonl", "manuals", "handbuch.csv"
EXPECTED = {
    SHORT: "c96d8c05ca1002948993fac0917db2b692283a50d662c339803329f408009da6",
    LONG: "b7da574eebb74a77638d623b977cd0f47edafe3eef2860c683b44267bda916aa",
    GERMAN: "01d4dc525958d83b7cb57e925952ccb0b54cc4404fec819d132d08075d824228",
}
"""SHA-256 of each; of a folder, of its texts in the order of their names."""

OF_CHANGES = (
    Package("sudo", "1.9.13p3-1+deb12u4"),
    Package("proftpd-doc", "1.3.8+dfsg-4+deb12u5"),
    Package("gnupg", "2.2.40-1.1+deb12u2"),
    Package("dpkg-dev", "1.21.23"),
    Package("mutt", "2.2.12-0.1~deb12u2"),
    Package("libglib2.0-cil", "2.12.40-3.1"),
    Package("automake", "1:1.16.5-1.3"),
    Package("libgphoto2-dev", "2.5.30-1"),
    Package("texinfo", "6.8-6+b1"),
)
OF_MANUALS = (Package("manpages", "6.03-2"), Package("manpages-dev", "6.03-2"))
OF_GERMAN = (Package("manpages-de", "4.18.1-1"),)
N_SHORT, N_LONG, N_GERMAN = 50_000, 300, 900

GERMAN_MAN = re.compile(r"usr/share/man/de/man\d\w*/")
DATED = re.compile(r"^(?P<gnu>(?:19|20)\d\d)-\d\d-\d\d|^ -- .*, +\d+ \w+ (?P<debian>\d{4})", re.M)
ITEM = re.compile(r"^[ \t]+[*-][ \t]+", re.MULTILINE)
WORD = re.compile(r"\w\w+")
FEWEST_WORDS, FEWEST_OF_PAGE = 4, 100


class Made(NamedTuple):
    """A corpus that was written: its file or folder."""

    name: str
    n_docs: int
    sha256: str


def replaced() -> list[str]:
    """Return "name version, not version" for each package that apt has in another version only.

    The first version is the one that apt has. Raises RuntimeError where apt has none.
    """
    wanted = [*OF_CHANGES, *OF_MANUALS, *OF_GERMAN]
    return [
        f"{own.name} {other.version}, not {own.version}"
        for own, other in zip(wanted, debian.at_hand(wanted), strict=True)
        if own != other
    ]


def build(folder: Path) -> Iterator[Made]:
    """Write the corpora to a folder that is new or empty; raises RuntimeError where apt has no
    version of a package.
    """
    debian.at_hand([*OF_CHANGES, *OF_MANUALS, *OF_GERMAN])  # refused before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    short = [
        json.dumps({"id": f"{name}/{number}", "text": text, "year": year, "package": name})
        for name, number, year, text in _changes()
    ]
    yield _file(folder / SHORT, short)
    manuals = _manuals(OF_MANUALS, debian.MAN)
    by_name = dict(manuals).items()
    longest = sorted(by_name, key=lambda page: (-len(page[1].split()), page[0]))[:N_LONG]
    (folder / LONG).mkdir(exist_ok=True)
    digest = hashlib.sha256()
    for name, text in sorted(longest):
        (folder / LONG / f"{name}.txt").write_text(text, encoding="utf-8")
        digest.update(f"{name}\n{text}".encode())
    yield Made(LONG, len(longest), digest.hexdigest())
    german = sorted(dict(_manuals(OF_GERMAN, GERMAN_MAN)).items())[:N_GERMAN]
    rows = [f'{name},{name.rpartition(".")[2]},"{_quoted(text)}"' for name, text in german]
    yield _file(folder / GERMAN, ["name,section,text", *rows], heads=1)


def _changes() -> Iterator[tuple[str, int, int, str]]:
    """Yield package, number, year and text of lines of changelogs, each text once."""
    seen: set[str] = set()
    for package, pages in debian.pages(debian.at_hand(OF_CHANGES)):
        number = 0
        for page in sorted(pages, key=lambda page: page.name):
            for entry in page.sections if "change" in page.name.lower() else ():
                dated = DATED.search(entry)
                if dated is None:
                    continue
                for text in ITEM.split(entry)[1:]:
                    plain = " ".join(DATED.split(text)[0].split())
                    if plain in seen or len(WORD.findall(plain)) < FEWEST_WORDS:
                        continue
                    seen.add(plain)
                    number += 1
                    yield package.name, number, int(dated["gnu"] or dated["debian"]), plain
                    if len(seen) == N_SHORT:
                        return


def _manuals(packages: Sequence[Package], manual: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield name and text of man pages that are more than a reference to another one."""
    for _, pages in debian.pages(debian.at_hand(packages), manual):
        for page in pages:
            text = "\n".join(page.sections)
            if manual.match(page.name) and len(WORD.findall(text)) >= FEWEST_OF_PAGE:
                yield Path(page.name).name.removesuffix(".gz"), text


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace('"', '""')


def _file(path: Path, lines: Sequence[str], heads: int = 0) -> Made:
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(content)
    return Made(path.name, len(lines) - heads, hashlib.sha256(content).hexdigest())
