"""docs/cli.md and docs/keys.md say what the program says."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from guide import ROOT

from hiertopics.cli import COMMANDS

SCRIPT = ROOT / "docs" / "build_reference.py"
PAGES: dict[str, Callable[[], str]] = runpy.run_path(str(SCRIPT))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_program_would_write(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert text == PAGES[name](), f"docs/{name} is out of date: python docs/build_reference.py"


def test_lines_of_the_pages_are_short() -> None:
    """Rows of tables are as long as their cells."""
    lines = [line for page in PAGES.values() for line in page().splitlines()]
    assert [line for line in lines if len(line) > 96 and not line.startswith("| ")] == []


def test_a_key_of_several_backends_has_one_row_with_the_defaults_that_differ() -> None:
    """The commonest default stands first, the others with the backends that have them."""
    rows = [line for line in PAGES["keys.md"]().splitlines() if line.startswith("| `inference.h")]
    (every,) = (row for row in rows if row.startswith("| `inference.hyper_every` |"))
    assert "| `20`<br>nhdp-variational: `5` | hdp-cvb0, hdp-cvb, nhdp-variational |" in every
    (hold,) = (row for row in rows if row.startswith("| `inference.hold` |"))
    assert "| `[]`<br>hlda-variational, hlda-gibbs: `[eta, gamma, level_prior]`<br>" in hold


def test_a_new_option_is_seen() -> None:
    option = click.Option(
        ["-x", "--extra"], metavar="N", default=3, show_default=True, help="More."
    )
    entry = runpy.run_path(str(SCRIPT))["_option"]
    assert entry(option) == "- `-x`, `--extra N`: More. [default: 3]"


def test_man_pages_without_click_man_say_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "build_man.py"))
    monkeypatch.setitem(script["main"].__globals__, "find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["build_man.py", str(tmp_path / "man")])
    with pytest.raises(SystemExit) as stop:
        script["main"]()
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith("needs click-man: pip install click-man\n")
    assert not (tmp_path / "man").exists()


def test_every_command_has_a_man_page_with_its_options() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "build_man.py"))["pages"]()
    assert set(pages) == {"hiertopics.1", *(f"hiertopics-{name}.1" for name in COMMANDS)}
    for name, summary in COMMANDS.items():
        page = pages[f"hiertopics-{name}.1"]
        assert page.startswith(".TH ") and "\\fB\\-\\-" in page, "its options"
        assert summary in page and summary in pages["hiertopics.1"]
