"""The ledger of the nightly programs, and the blocks that they write."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import records
from records import Ledger, parser, published, rewrite, sources


def test_a_ledger_gives_back_what_was_added(tmp_path: Path) -> None:
    Ledger("part", "hiertopics/base/units.py", folder=tmp_path).add("a", killed=True)
    again = Ledger("part", "hiertopics/base/units.py", folder=tmp_path)
    again.add("b", z=[1.5])
    again.add("a", killed=False)
    assert [row["key"] for row in again.rows()] == ["a", "b", "a"]
    newest = again.done("a")
    assert newest is not None and newest["killed"] is False
    assert again.done("c") is None


def test_what_other_sources_said_is_not_done(tmp_path: Path) -> None:
    Ledger("part", "hiertopics/base/units.py", folder=tmp_path).add("a")
    other = Ledger("part", "hiertopics/base/seeds.py", folder=tmp_path)
    assert other.done("a") is None and other.rows() == []
    assert [row["key"] for row in other.rows(all_sources=True)] == ["a"]


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_line_that_was_cut_costs_no_other(tmp_path: Path, cut: int) -> None:
    ledger = Ledger("part", "hiertopics/base/units.py", folder=tmp_path)
    ledger.add("whole")
    ledger.add("cut", value=1)
    ledger.path.write_bytes(ledger.path.read_bytes()[:-cut])
    ledger.add("next")
    kept = ["whole", "cut", "next"] if cut == 1 else ["whole", "next"]
    assert [row["key"] for row in ledger.rows()] == kept


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with three tracked files, taken for the project's own."""
    for name in ("hiertopics/a.py", "tests/b.py", "docs/c.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    monkeypatch.setattr(records, "ROOT", tmp_path)
    return tmp_path


def test_sources_change_with_the_package_and_the_tests_alone(checkout: Path) -> None:
    before, of_a = sources(), sources("hiertopics")
    (checkout / "docs/c.md").write_text("changed")
    (checkout / "tests/untracked.py").write_text("new")
    assert sources() == before
    (checkout / "tests/b.py").write_text("changed")
    assert sources() != before and sources("hiertopics") == of_a
    (checkout / "hiertopics/a.py").unlink()
    assert sources("hiertopics") != of_a


def test_a_block_is_rewritten_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n<!-- y:begin --><!-- y:end -->\n")
    rewrite(page, "x", "| \\1 |\n")
    rewrite(page, "y", "new")
    assert page.read_text() == (
        "a\n<!-- x:begin -->\n| \\1 |\n<!-- x:end -->\nb\n<!-- y:begin -->\nnew\n<!-- y:end -->\n"
    )
    with pytest.raises(ValueError, match="z:begin"):
        rewrite(page, "z", "new")


def test_a_table_is_printed_or_written_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- x:begin --><!-- x:end -->")
    assert not published("x", "told", parser("").parse_args([]))
    assert published("x", "told", parser("").parse_args(["--table"]))
    assert capsys.readouterr().out == "told\n"
    assert published("x", "told", parser("").parse_args(["--write", str(page)]))
    assert "told" in page.read_text()


def test_the_page_of_proofs_has_a_block_for_every_part(tmp_path: Path) -> None:
    page = tmp_path / "proofs.md"
    page.write_bytes((records.ROOT / "docs/proofs.md").read_bytes())
    for part in ("calibration", "truth", "mutants", "kills", "fuzz"):
        rewrite(page, part, f"of {part}")
        assert f"of {part}" in page.read_text(encoding="utf-8")
