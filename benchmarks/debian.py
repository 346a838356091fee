"""Texts of Debian packages: which ones, fetched by apt, and what of their files is prose.

Documentation (HTML, plain text), man pages, changelogs and the packages' own descriptions. Needs
``apt-get``, ``apt-cache`` and ``dpkg-deb``, and package lists that are up to date.
"""

from __future__ import annotations

import gzip
import html
import re
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LIST = Path(__file__).with_name("packages.txt")
AT_ONCE = 8
"""Packages that are fetched by one command."""

HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
BLOCK = re.compile(
    r"</?(?:p|div|h[1-6]|li|dl|dt|dd|tr|td|th|pre|section|table|br|blockquote)\b[^>]*>",
    re.IGNORECASE,
)
TAG = re.compile(r"<[^>]*>")
MACRO = re.compile(r"^[.'](?:\\\".*|[ \t]*[A-Za-z]{1,3}\b|.)?", re.MULTILINE)
ESCAPE = re.compile(r"\\(?:f(?:\[[^]]*\]|.)|s[-+]?\d|\(..|\[[^]]*\]|[\"#].*|.)")
ENTRY = re.compile(r"\n(?=\S[^\n]*; urgency=|\d{4}-\d\d-\d\d\s)")
"""Where an entry of a changelog begins, Debian's or GNU's."""

MAN = re.compile(r"usr/share/man/man\d\w*/")
PLAIN = {"", ".txt", ".rst", ".md", ".info", ".dict", ".texi"}
HTML = {".html", ".htm", ".xhtml"}


class Package(NamedTuple):
    """A package of a certain version."""

    name: str
    version: str


class Page(NamedTuple):
    """A file as text, in sections that are documents of their own."""

    name: str
    sections: Sequence[str]


def listed() -> list[Package]:
    """Return the packages, in the order in which they are taken."""
    rows = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return [Package(*row) for row in rows]


def missing(packages: Sequence[Package]) -> list[Package]:
    """Return those that apt does not know in this version."""
    known = _known(packages)
    return [package for package in packages if package not in known]


def at_hand(packages: Sequence[Package]) -> list[Package]:
    """Return them in their own versions, or in the first that apt names where it lacks these.

    Raises RuntimeError where apt has no version of a package.
    """
    known = _known(packages)
    first = {package.name: package for package in reversed(known)}
    gone = [package.name for package in packages if package.name not in first]
    if gone:
        raise RuntimeError(f"apt knows no version of {', '.join(gone)}; update its package lists")
    return [package if package in known else first[package.name] for package in packages]


def _known(packages: Sequence[Package]) -> list[Package]:
    command = ["apt-cache", "madison", *(package.name for package in packages)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split("|")] for line in found.splitlines()]
    return [Package(*row[:2]) for row in rows if len(row) > 2]


def pages(
    packages: Sequence[Package], manual: re.Pattern[str] = MAN
) -> Iterator[tuple[Package, list[Page]]]:
    """Fetch packages, some at a time, and yield the texts of each; no package stays on the disk.

    manual: the files that are man pages.
    """
    for first in range(0, len(packages), AT_ONCE):
        some = packages[first : first + AT_ONCE]
        with tempfile.TemporaryDirectory() as folder:
            wanted = [f"{package.name}={package.version}" for package in some]
            subprocess.run(
                ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *wanted],
                cwd=folder,
                check=True,
            )
            for package in some:
                (file,) = Path(folder).glob(f"{package.name}_*.deb")
                yield package, [*_described(file), *_files(file, manual)]
                file.unlink()


def _described(file: Path) -> Iterator[Page]:
    command = ["dpkg-deb", "--field", str(file), "Description"]
    yield Page("description", [subprocess.run(command, capture_output=True, text=True).stdout])


def _files(file: Path, manual: re.Pattern[str]) -> Iterator[Page]:
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        for member in archive:
            path = PurePosixPath(member.name)
            read = _reader(path, manual)
            stream = archive.extractfile(member) if member.isreg() and read else None
            if stream is not None and read is not None:
                sections = read(_decoded(stream.read(), path.suffix))
                yield Page(str(path), [section for section in sections if section])


def _reader(path: PurePosixPath, manual: re.Pattern[str]) -> Callable[[str], list[str]] | None:
    """Return what makes sections of a file of this name, None where it is no prose."""
    if path.suffix in (".gz", ".dz"):
        path = path.with_suffix("")
    if not path.is_relative_to("usr/share"):
        return None
    if manual.match(str(path)):
        return of_manual
    if "changelog" in path.name.lower() or path.name in ("NEWS", "ChangeLog"):
        return of_changelog
    if path.suffix in HTML:
        return of_html
    return of_plain if path.suffix in PLAIN and "doc" in str(path) else None


def _decoded(data: bytes, suffix: str) -> str:
    if suffix in (".gz", ".dz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return ""
    return "" if b"\0" in data else data.decode(errors="replace")


def of_html(text: str) -> list[str]:
    """Return the text of a page, blocks of it on lines of their own."""
    bare = TAG.sub("", BLOCK.sub("\n", HIDDEN.sub(" ", text)))
    return [html.unescape(bare)]


def of_manual(text: str) -> list[str]:
    """Return a man page without requests and escapes of roff."""
    return [ESCAPE.sub(" ", MACRO.sub("", text))]


def of_changelog(text: str) -> list[str]:
    """Return the entries of a changelog."""
    return ENTRY.split(text)


def of_plain(text: str) -> list[str]:
    """Return a text as it is."""
    return [text]
