"""Figures of the record that pages quote are those of docs/record.csv; lists of its splits."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import record_table, split_lists
from benchmarks.process import ROOT
from benchmarks.record_table import Row

MARK = re.compile(r"(?P<figure>-?\d[\d,]*(?:\.\d+)?)<!-- record (?P<place>[^>]*?) -->")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RECORD = ROOT / "docs" / "record.csv"


def wrong(text: str, table: Sequence[Row]) -> Iterator[str]:
    """Yield the marked figures of a page that the record has not, to the digits of the page."""
    rows = {(row["corpus"], row["system"]): row for row in table}
    assert text.count("<!-- record ") == len(MARK.findall(text)), "a mark stands behind no figure"
    for found in MARK.finditer(text):
        corpus, system, column = found["place"].split()
        figure = found["figure"].replace(",", "")
        digits = len(figure.partition(".")[2])
        held = rows.get((corpus, system), {}).get(column, "no row")
        try:
            same = f"{float(held):.{digits}f}" == figure
        except ValueError:
            same = False
        if not same:
            yield f"{found['place']}: {figure}, in the record {held}"


def test_figures_of_the_record_on_pages_are_those_of_the_csv_file() -> None:
    table = record_table.read_csv(RECORD)
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    assert [f"{page.name}: {one}" for page in texts for one in wrong(texts[page], table)] == []


def test_another_figure_on_a_page_is_noticed() -> None:
    table = [{"corpus": "a", "system": "b", "perplexity": "1598.04", "bits": "no tree"}]
    page = "{}<!-- record a b {} -->"
    for figure in ("1598", "1,598.0", "1598.04"):
        assert not list(wrong(page.format(figure, "perplexity"), table))
    for figure, column in (("1599", "perplexity"), ("1598.1", "perplexity"), ("1", "bits")):
        (said,) = wrong(page.format(figure, column), table)
        assert said.startswith(f"a b {column}: {figure}")
    assert list(wrong("1<!-- record a c perplexity -->", table))
    with pytest.raises(AssertionError, match="no figure"):
        list(wrong("about <!-- record a b perplexity -->", table))


def test_some_figures_on_pages_are_marked() -> None:
    assert sum(len(MARK.findall(page.read_text(encoding="utf-8"))) for page in PAGES) >= 3


def test_the_record_of_the_guide_is_of_one_version() -> None:
    table = record_table.read_csv(RECORD)
    for column in ("commit", "measured_by", "split", "resamples"):
        assert len({row[column] for row in table}) == 1, column
    assert "+" not in table[0]["commit"]
    keys = [(row["corpus"], row["system"]) for row in table]
    assert len(set(keys)) == len(keys) > 0


def test_lists_of_a_split_are_those_of_fit(tmp_path: Path) -> None:
    corpora = tmp_path / "corpora"
    corpora.mkdir()
    for end in (".ldac", ".vocab"):
        (corpora / f"tiny{end}").write_bytes((ROOT / "data-samples" / f"planted{end}").read_bytes())
    words = ["--corpora", str(corpora), "-o", str(tmp_path / "splits")]
    done = CliRunner().invoke(split_lists.measure, words)
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "splits" / "splits.json").read_text())["corpora"]["tiny"]
    corpus = (corpora / "tiny.ldac").read_bytes()
    assert told["corpus_sha256"] == hashlib.sha256(corpus).hexdigest()
    rows: dict[str, list[int]] = {}
    for kind in ("train", "heldout"):
        content = (tmp_path / "splits" / told[kind]["file"]).read_bytes()
        assert told[kind]["sha256"] == hashlib.sha256(content).hexdigest()
        rows[kind] = [int(line) for line in content.split()]
    assert len(rows["heldout"]) == 30 == told["heldout"]["documents"]
    assert sorted(rows["train"] + rows["heldout"]) == list(range(told["documents"]))
    done = CliRunner().invoke(split_lists.measure, [*words, "--only", "other"])
    assert done.exit_code == 2 and "corpora are tiny" in done.output
