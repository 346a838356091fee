"""Fit public texts and write a report of each: ``python docs/build_gallery.py -o gallery``.

Three corpora are in every checkout or every installation. The others are texts of Debian packages,
which ``python -m benchmarks tour`` fetches with apt; without apt they are left out. The folder gets
``index.md``, and for each report a page and, where there is a chromium, a picture. Reports that the
folder has already stay: remove one to make it anew.
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SAMPLES, LIBRARY, TOUR = "samples", "library", "tour"
MANUALS_OF_NUMBERS = """
    numpy numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random scipy.cluster.hierarchy
    scipy.fft scipy.integrate scipy.interpolate scipy.io scipy.linalg scipy.ndimage
    scipy.optimize scipy.signal scipy.sparse scipy.sparse.csgraph scipy.sparse.linalg
    scipy.spatial scipy.spatial.distance scipy.special scipy.stats
"""
FEWEST_WORDS = 30
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WINDOW = "1280,800"
WAIT = 8000
"""Milliseconds that a page has to unpack and draw."""

INTRO = """# Gallery

Finished reports of public texts. Each is one file, which loads nothing: open it, click a box of the
map, search a word. The paragraph above a picture is the first one of the report, made from the
numbers of the run. `python docs/build_gallery.py -o gallery` makes this page.
"""


class Show(NamedTuple):
    """A report: where its corpus comes from, and what follows the two commands.

    corpus: a path in the checkout, or in the folder ``texts`` of the gallery.
    """

    name: str
    title: str
    about: str
    source: str
    corpus: str
    fit: str
    report: str = ""


SHOWS = (
    Show(
        "docstrings",
        "The standard library of Python",
        "2,377 docstrings as counts of words, with names and chapters of the documentation. "
        "All settings are defaults.",
        SAMPLES,
        "data-samples/docstrings.ldac",
        "",
        "--side name=data-samples/docstrings.docs --side chapter=data-samples/docstrings.labels",
    ),
    Show(
        "planted",
        "A tree that is known: drawn documents",
        "300 documents drawn from a tree of three branches and nine leaves. A word is called after "
        "its node (a1_00 belongs to the leaf a1). So the map shows which of them the fit finds.",
        SAMPLES,
        "data-samples/planted.ldac",
        "",
        "--side leaf=data-samples/planted.labels",
    ),
    Show(
        "numbers",
        "Functions of numpy and scipy",
        "Docstrings of the two libraries, as raw text with the module of each function. Phrases "
        "are joined, stop words and words of most docstrings dropped.",
        LIBRARY,
        "numbers.jsonl",
        "-s data.stop_words=english -s data.min_df=3 -s data.max_df=0.3 -s data.phrases.npmi=0.5 "
        "-s model.truncation=150",
    ),
    Show(
        "manuals",
        "Long texts: manual pages of Linux",
        "300 long manual pages of Debian, a folder of text files.",
        TOUR,
        "tour/manuals",
        "-s data.stop_words=english -s data.min_df=4 -s data.max_df=0.6",
    ),
    Show(
        "changes",
        "Short texts with years: lines of changelogs",
        "Lines of changelogs of nine Debian packages with their years. The report shows branches "
        "over time.",
        TOUR,
        "tour/changes.jsonl",
        "-s data.stop_words=english -s data.min_df=10 -s data.max_df=0.2 -s model.truncation=80 "
        "-s inference.start_iterations=40 -s inference.iterations=10",
    ),
    Show(
        "handbuch",
        "German texts: translated manual pages",
        "900 manual pages in German: stop words of the language, and base forms of words by a "
        "dictionary.",
        TOUR,
        "tour/handbuch.csv",
        "-s data.stop_words=german -s data.lemmas=german -s data.min_df=4 -s data.max_df=0.4 "
        "-s model.truncation=120",
        "--side section",
    ),
)


def build(folder: Path) -> list[str]:
    """Make the reports that a folder lacks, and its index; return the names of all reports."""
    folder = folder.resolve()
    (folder / "texts").mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    missing = [show for show in SHOWS if not (folder / f"{show.name}.html").exists()]
    had = {source: _texts(source, folder) for source in {show.source for show in missing}}
    for show in missing:
        if had[show.source]:
            for command in commands(show, folder):
                print(f"$ {shlex.join(command)}", file=sys.stderr)
                subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True)
    shown = [show for show in SHOWS if (folder / f"{show.name}.html").exists()]
    for show in shown:
        _picture(folder / f"{show.name}.html")
    (folder / "index.md").write_text("\n".join(_index(shown, folder)), encoding="utf-8")
    return [show.name for show in shown]


def commands(show: Show, folder: Path) -> list[list[str]]:
    """Return the two commands that make a report from the root of the checkout."""
    inside = Path(os.path.relpath(folder, ROOT))
    corpus = show.corpus if show.source == SAMPLES else str(inside / "texts" / show.corpus)
    run, page = str(inside / "runs" / show.name), str(inside / f"{show.name}.html")
    title = ["--title", show.title]
    return [
        ["hiertopics", "fit", corpus, *shlex.split(show.fit), "-q", "-o", run],
        ["hiertopics", "report", run, *shlex.split(show.report), *title, "-o", page],
    ]


def _texts(source: str, folder: Path) -> bool:
    """Make the corpora of a source where they are missing; tell whether they are there."""
    if source == LIBRARY:
        path = folder / "texts" / "numbers.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in docstrings()), encoding="utf-8")
    if source != TOUR or (folder / "texts" / TOUR / "handbuch.csv").exists():
        return True
    shutil.rmtree(folder / "texts" / TOUR, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks", "tour", "-o", str(folder / "texts" / TOUR)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    if done.returncode:
        print("the texts of Debian are not to be had: their reports are left out", file=sys.stderr)
    return done.returncode == 0


def docstrings() -> Iterator[dict[str, str]]:
    """Yield name, module and text of the functions and classes of numpy and scipy."""
    seen = set()
    for module in MANUALS_OF_NUMBERS.split():
        home = importlib.import_module(module)
        for name in sorted(home.__all__):
            text = inspect.getdoc(getattr(home, name, None)) or ""
            text = re.split(r"^(?:Notes|Examples|References)\n-+$", text, flags=re.MULTILINE)[0]
            if len(text.split()) >= FEWEST_WORDS and text not in seen:
                seen.add(text)
                yield {"id": f"{module}.{name}", "module": module, "text": text}


def _picture(page: Path) -> None:
    """Photograph a page that has no picture, where there is a browser."""
    picture = page.with_suffix(".png")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if picture.exists() or browser is None:
        return
    options = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--window-size={WINDOW}"]
    options += [f"--virtual-time-budget={WAIT}", f"--screenshot={picture}"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    subprocess.run([browser, *options, page.as_uri()], capture_output=True, timeout=300)


def _index(shows: Sequence[Show], folder: Path) -> Iterator[str]:
    yield INTRO
    for show in shows:
        page = folder / f"{show.name}.html"
        yield f"## {show.title}\n"
        yield f"{show.about}\n"
        lead = lead_of(page.read_text(encoding="utf-8"))
        if lead:
            yield f"{lead}\n"
        if page.with_suffix(".png").exists():
            yield f"[![The report: {show.title}]({show.name}.png)]({show.name}.html)\n"
        yield f"[Open the report]({show.name}.html), {page.stat().st_size / 1e6:.1f} MB.\n"
        lines = (f"$ {shlex.join(command)}" for command in commands(show, folder))
        yield "\n".join(["```console", *lines, "```\n"])


def lead_of(page: str) -> str:
    """Return the first paragraph of a report, as Markdown takes it."""
    found = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)
    text = "" if found is None else html.unescape(found[1])
    return re.sub(r"([*_<\[\]])", r"\\\1", text)


def main() -> None:
    """Make the gallery that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "gallery")
    given = parser.parse_args()
    for name in build(given.output):
        print(given.output / f"{name}.html")


if __name__ == "__main__":
    main()
