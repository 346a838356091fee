"""Make a site of the guide that works from a disk: ``python docs/build_site.py -o site``.

Needs ``pip install -e '.[docs]'``. ``--gallery FOLDER`` adds finished reports, which
``build_gallery.py`` makes in that folder where they are missing. The contents stand in
``mkdocs.yml``. Nothing is read from a network, and a page of the site loads nothing from one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "mkdocs.yml"
PAGES = ("*.md", "docs/*.md", "docs/theory/*.md", "data-samples/README.md", "benchmarks/README.md")
ASSETS = ("docs/images/*.png", "docs/site/*", "docs/record-table.html")
GALLERY = "gallery/index.md"
WEIGHTS = {"Python": 0.7, "Theory": 0.4, "Development": 0.4, "Records": 0.3}
"""How much a word in a page of a group counts in the search; in other groups 1."""

NO_GALLERY = """# Gallery

This copy of the site was built without reports. `python docs/build_site.py -o site --gallery
gallery` fits six corpora, which takes some minutes, and puts their reports here.
"""

FENCE = re.compile(r"(^ *```.*?^ *```[ \t]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
FOREIGN = (
    re.compile(
        r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=[\"']?((?:https?:)?//[^\s\"'>]+)"
    ),
    re.compile(
        r"<link\b(?![^>]*rel=[\"']?(?:canonical|prev|next))[^>]*?\shref=[\"']?((?:https?:)?//[^\s\"'>]+)"
    ),
    re.compile(r"(?:@import\s+(?:url\()?|url\()[\"']?((?:https?:)?//[^\s\"')]+)"),
)
"""Patterns of the addresses that a browser loads without a click: scripts, styles, images."""


class PlanLoader(yaml.SafeLoader):
    """Reads ``mkdocs.yml`` without calling the functions that it names."""


PlanLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def contents() -> dict[str, list[str]]:
    """Return the pages of each group of the site, in their order."""
    groups: dict[str, list[str]] = {}
    for entry in yaml.load(PLAN.read_text(encoding="utf-8"), PlanLoader)["nav"]:
        ((title, below),) = entry.items()
        groups[title] = list(_leaves(below))
    return groups


def _leaves(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from _leaves(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from _leaves(below)


def found(patterns: tuple[str, ...]) -> list[str]:
    """Return the files of the tree that fit a pattern."""
    paths = (path for pattern in patterns for path in sorted(ROOT.glob(pattern)))
    return [path.relative_to(ROOT).as_posix() for path in paths]


def generated() -> dict[str, str]:
    """Return the pages that are made from docstrings, by their place in the site."""
    from build_api import pages

    return {f"docs/api/{name}": text for name, text in pages().items()}


def linked(page: str, text: str, sources: set[str]) -> str:
    """Return a page whose links to source files lead to pages of the site.

    sources: takes the files of the tree that are no pages. A link to a folder becomes its text.
    """
    known = set(found((*PAGES, *ASSETS)))

    def one(match: re.Match[str]) -> str:
        place = os.path.normpath(Path(page).parent / match[2])
        if place in known or not (ROOT / place).exists():
            return match[0]
        if (ROOT / place).is_dir():
            return match[1]
        sources.add(place)
        return f"[{match[1]}]({match[2]}.md)"

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(one, part) for part in parts[::2]]
    return "".join(parts)


def stage(folder: Path, gallery: Path | None) -> None:
    """Write all pages and files of the site to a folder."""
    sources: set[str] = set()
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in found(PAGES)}
    texts |= generated()
    staged = {page: linked(page, text, sources) for page, text in texts.items()}
    for source in sources:
        staged[f"{source}.md"] = _source_page(source)
    for group, weight in WEIGHTS.items():
        for page in contents()[group]:
            staged[page] = f"---\nsearch:\n  boost: {weight}\n---\n{staged[page]}"
    staged[GALLERY] = NO_GALLERY
    if gallery is not None:
        shutil.copytree(gallery, folder / "gallery", ignore=shutil.ignore_patterns("runs", "texts"))
        staged[GALLERY] = (gallery / "index.md").read_text(encoding="utf-8")
    for page, text in staged.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text, encoding="utf-8")
    for asset in found(ASSETS):
        (folder / asset).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / asset, folder / asset)


def _source_page(source: str) -> str:
    """Return the page of a source file, which the search does not look into."""
    language = {".py": "python", ".sh": "bash", ".toml": "toml"}.get(Path(source).suffix, "text")
    text = (ROOT / source).read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n# {source}\n\n````{language}\n{text}````\n"


def foreign(folder: Path) -> list[str]:
    """Return each file of a site that loads something from a network, and the address."""
    pages = [path for path in sorted(folder.rglob("*")) if path.suffix in (".html", ".css", ".svg")]
    return [
        f"{path.relative_to(folder)}: {match[1]}"
        for path in pages
        for pattern in FOREIGN
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]


def build(output: Path, gallery: Path | None = None) -> None:
    """Write the site to a folder, which is new, empty or a site; exit where a link is broken."""
    if output.exists() and any(output.iterdir()) and not (output / "search").is_dir():
        sys.exit(f"{output} holds other files: name a folder that is new or empty")
    with tempfile.TemporaryDirectory() as work:
        stage(Path(work) / "pages", gallery)
        config = Path(work) / "mkdocs.yml"
        config.write_text(f"INHERIT: {PLAN}\ndocs_dir: pages\n", encoding="utf-8")
        # Not --quiet, with which --strict counts no warning.
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        command += ["--config-file", str(config), "--site-dir", str(output.resolve())]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    told = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    print("\n".join(told), file=sys.stderr, end="\n" if told else "")
    if done.returncode:
        sys.exit(done.returncode)
    loads = foreign(output)
    if loads:
        sys.exit("\n".join(["pages load from a network:", *loads]))


def main() -> None:
    """Build the site that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site")
    parser.add_argument("--gallery", type=Path, metavar="FOLDER", help="add reports from FOLDER")
    given = parser.parse_args()
    if given.gallery is not None:
        from build_gallery import build as build_gallery

        build_gallery(given.gallery)
    build(given.output, given.gallery)
    print(given.output / "index.html")


if __name__ == "__main__":
    main()
