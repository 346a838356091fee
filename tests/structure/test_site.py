"""The site of the guide: its contents are the pages that there are, and it loads nothing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from guide import FENCE, ROOT
from test_guide_syntax import refuse

import hiertopics

DOCS = ROOT / "docs"
OF_THE_GUIDE = ("Use", "Models", "Theory", "Development", "Records")
"""Groups of the site that the guide's first page has, too."""


def script(name: str) -> ModuleType:
    """Return a script of ``docs`` as a module."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


SITE = script("build_site")
API = script("build_api")
GALLERY = script("build_gallery")


def test_the_contents_name_every_page_once() -> None:
    named = [page for group in SITE.contents().values() for page in group]
    made = {SITE.GALLERY, *(f"docs/api/{name}" for name in (*API.PLAN, "testing.md"))}
    assert sorted(named) == sorted({*SITE.found(SITE.PAGES), *made})


def groups_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the groups of the guide's first page: a bold line, and the pages of its list."""
    parts = re.split(r"^\*\*(.+)\*\*$", text, flags=re.MULTILINE)[1:]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        yield title, re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", body, re.MULTILINE)


def test_the_first_page_of_the_guide_has_the_groups_of_the_site() -> None:
    contents = SITE.contents()
    expected = {
        group: [page.removeprefix("docs/") for page in contents[group] if "docs/" in page]
        for group in OF_THE_GUIDE
    }
    expected["Use"].remove("README.md")
    assert dict(groups_of((DOCS / "README.md").read_text(encoding="utf-8"))) == expected


def test_the_reference_explains_every_name_of_the_package_once() -> None:
    entries = [entry for page in API.PLAN.values() for entry in page.names]
    ours = [entry.partition(":")[2] for entry in entries if entry.startswith("hiertopics:")]
    assert sorted(ours) == sorted(set(hiertopics.__all__) - {"__version__"})


@pytest.mark.slow
def test_the_reference_is_in_the_contents_and_has_no_address_of_memory() -> None:
    pages = API.pages()
    assert {f"docs/api/{name}" for name in pages} == set(SITE.contents()["Python"])
    assert [name for name, text in pages.items() if " at 0x" in text] == []
    explained = re.findall(r"^### Run\.(\w+)$", pages["fits.md"], re.MULTILINE)
    assert {"tree", *API.OF_A_FOLDER} <= set(explained) and "write_manifest" not in explained


def test_what_a_docstring_says_of_parameters_is_a_list() -> None:
    text = "Do it.\n\nfirst, second: what is *done*. third: not one. Raises ValueError for ``x``."
    assert API.prose(text, {"first", "second"}) == (
        "Do it.\n\n- `first`, `second`: what is \\*done\\*. third: not one.\n\n"
        "Raises ValueError for `x`."
    )


def test_links_to_source_files_lead_to_pages_of_the_site() -> None:
    sources: set[str] = set()
    text = (
        "[a](runs.md#x) [b](build_api.py) [c](../examples) [d](gone.md) ![e](images/report-390.png)"
        "\n```\n[f](build_api.py)\n```\n"
    )
    assert SITE.linked("docs/one.md", text, sources) == (
        "[a](runs.md#x) [b](build_api.py.md) c [d](gone.md) ![e](images/report-390.png)"
        "\n```\n[f](build_api.py)\n```\n"
    )
    assert sources == {"docs/build_api.py"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://x.org/a.js"></script>'),
        ("a.html", "<script defer src=//x.org/a.js></script>"),
        ("a.html", '<link rel="stylesheet" href="https://x.org/a.css">'),
        ("a.html", '<img alt="b" src="http://x.org/b.png">'),
        ("a.css", "@import 'https://x.org/a.css';"),
        ("a.css", "b { background: url(//x.org/b.png) }"),
    ],
)
def test_what_a_page_would_load_from_a_network_is_found(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "b.html").write_text(
        '<a href="https://x.org">x</a> <script src="a.js"></script> <img src="data:image/png;">'
    )
    assert SITE.foreign(tmp_path) == []
    (tmp_path / name).write_text(text)
    (found,) = SITE.foreign(tmp_path)
    assert found.startswith(f"{name}: ") and "//x.org/" in found


def test_a_folder_with_other_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(SystemExit, match="other files"):
        SITE.build(tmp_path)
    assert (tmp_path / "mine").read_text() == "kept"


def test_the_command_of_the_site_is_that_of_the_pages() -> None:
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "justfile"):
        assert "docs/build_site.py -o site --gallery gallery" in page.read_text(encoding="utf-8")
    fences = [match["body"] for match in FENCE.finditer((ROOT / "CONTRIBUTING.md").read_text())]
    assert any("pip install -e '.[docs]'" in body for body in fences)


def test_the_commands_of_the_gallery_would_be_taken(tmp_path: Path) -> None:
    for show in GALLERY.SHOWS:
        fit, report = GALLERY.commands(show, tmp_path)
        refuse(fit[1:])
        refuse(report[1:])
        assert fit[-1] in report, "the report is that of the fit"


def test_reports_of_the_gallery_have_names_of_their_own() -> None:
    names = [show.name for show in GALLERY.SHOWS]
    assert len(names) == len(set(names)) == 6


def test_texts_that_cannot_be_had_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    typed: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        typed.append(command)
        if command[3:4] == ["report"]:
            Path(ROOT, command[-1]).write_text('<p class="lead">3 &lt; 4 a_b</p>')
        return subprocess.CompletedProcess(command, int("benchmarks" in command))

    monkeypatch.setattr(GALLERY.subprocess, "run", run)
    monkeypatch.setattr(GALLERY, "BROWSERS", ())
    made = GALLERY.build(tmp_path / "gallery")
    assert made == ["docstrings", "planted", "numbers"]
    assert "left out" in capfd.readouterr().err
    index = (tmp_path / "gallery" / "index.md").read_text(encoding="utf-8")
    assert index.count("## ") == 3 and "\n3 \\< 4 a\\_b\n" in index and ".png" not in index
    typed.clear()
    assert GALLERY.build(tmp_path / "gallery") == made
    assert not any("hiertopics" in command for command in typed), "reports that are there stay"


def test_the_texts_of_libraries_are_sentences_with_their_module() -> None:
    rows = list(GALLERY.docstrings())
    assert len({row["text"] for row in rows}) == len(rows) > 1000
    assert {"numpy.linalg", "scipy.stats"} <= {row["module"] for row in rows}
    assert not any(re.search(r"^(?:Notes|Examples)\n-", row["text"], re.M) for row in rows)
