"""Figures of the record that pages quote are those of docs/record.csv; lists of its splits."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import record_page, record_table, split_lists
from benchmarks.process import ROOT
from benchmarks.record_quotes import (
    FIGURE,
    PAGES,
    RECORD,
    TABLE,
    TABLE_PAGE,
    renewed,
    unmarked,
    wrong,
)

QUOTING = ("README.md", "docs/choosing.md", "docs/nhdp.md")
"""Pages whose figures of scores are all marked."""

SCORE = re.compile(r"perplexity|triplets|purity|\bkin\b|\bcovered\b", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.@:#/-])\d[\d,]*+(?:\.\d+)?+(?!<!--)")
ELSEWHERE = re.compile(r"\]\((?:docs/)?(?:results|benchmarks)\.md")
"""Links to pages that have the commands behind their figures."""

ROW = {
    "corpus": "a",
    "system": "b",
    "triplets_1": "0.8333",
    "triplets_1_error": "0.0051",
    "triplets_2": "0.9",
    "triplets_2_error": "0.01",
    "kin_1": "no labels",
    "purity_1": "no labels",
    "covered_50": "0.955",
    "covered_70": "0",
    "bits": "1.25",
    "support_by_depth": "0.70, 0.61",
    "perplexity": "1598.04",
    "one_scorer_perplexity": "stopped at 6 min",
    "child_npmi": "no tree",
    "nodes": "521",
    "branches": "5",
    "largest_family": "12",
    "processor_seconds": "8.6",
    "peak_mib": "300",
    "commit": "abc",
    "machine": "cpu, busy",
    "versions": "python 3",
    "load": "4.1",
}


def test_figures_and_tables_of_the_record_on_pages_are_those_of_the_csv_file() -> None:
    table = record_table.read_csv(RECORD)
    for page in PAGES:
        text, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT)
        assert not unmarked(text), f"{name}: a mark stands behind no figure, or in no table"
        assert list(wrong(text, table)) == [], name
        assert renewed(text, table) == text, f"{name}: run python -m benchmarks record-quote"
    assert TABLE_PAGE.read_text(encoding="utf-8") == record_page.page(table)


def test_another_figure_on_a_page_is_noticed_and_renewed() -> None:
    page = "{}<!-- record a b {} -->"
    for figure in ("1598", "1,598.0", "1598.04"):
        text = page.format(figure, "perplexity")
        assert not list(wrong(text, [ROW])) and renewed(text, [ROW]) == text
    for figure, made in (("1599", "1598"), ("1,598.1", "1,598.0")):
        text = page.format(figure, "perplexity")
        (said,) = wrong(text, [ROW])
        assert said.startswith(f"a b perplexity: {figure.replace(',', '')}, in the record 1598.04")
        assert renewed(text, [ROW]) == page.format(made, "perplexity")
    for text in (page.format("1", "child_npmi"), "1<!-- record a c perplexity -->"):
        assert len(list(wrong(text, [ROW]))) == 1
        with pytest.raises(ValueError, match=r"a b child_npmi: no tree|a c perplexity: no row"):
            renewed(text, [ROW])


@pytest.mark.parametrize(
    "text",
    [
        "about <!-- record a b perplexity -->",
        "<!-- record table a:* -->\n| x |\n",
        "| x |\n<!-- record table end -->",
    ],
)
def test_a_mark_of_nothing_is_noticed(text: str) -> None:
    assert unmarked(text)
    assert not unmarked(
        "1<!-- record a b bits -->\n<!-- record table * -->\n<!-- record table end -->"
    )


def test_a_table_on_a_page_has_the_rows_that_its_patterns_name() -> None:
    text = "x\n<!-- record table a:* *:d -->\nold\n<!-- record table end -->\ny\n"
    others = [
        ROW | {"system": "c", "nodes": "not installed: c"},
        ROW
        | {"corpus": "e", "system": "d", "load": "9.4", "triplets_2": "no tree", "bits": "no tree"},
        ROW | {"corpus": "e"},
    ]
    made = renewed(text, [ROW, *others])
    assert made.splitlines() == [
        "x",
        "<!-- record table a:* *:d -->",
        "",
        "| corpus | system | triplets | covered .5 / .7 | bits | support by depth | perplexity "
        "| one scorer | nodes | branches | largest family | processor s | MiB |",
        f"|{' --- |' * 13}",
        "| a | `b` | 0.833 ± 0.005 / 0.900 ± 0.010 | 96% / 0% | 1.25 | 0.70, 0.61 | 1598 | stopped "
        "| 521 | 5 | 12 | 9 | 300 |",
        "| e | `d` | 0.833 ± 0.005 | 96% / 0% |  |  | 1598 | stopped | 521 | 5 | 12 | 9 | 300 |",
        "",
        "Commit abc, cpu; python 3. Other work shared the machine (load average 4 to 9), so "
        "processor times are too high, and the limit of wall time was reached early.",
        "",
        "<!-- record table end -->",
        "y",
    ]
    assert renewed(made, [ROW, *others]) == made


def test_of_many_depths_the_first_stand_on_a_page() -> None:
    text = "<!-- record table a:* -->\n<!-- record table end -->\n"
    deep = ROW | {"support_by_depth": ", ".join(f"0.{depth}0" for depth in range(1, 9))}
    assert "| 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, ... |" in renewed(text, [deep])


def unsourced(text: str) -> Iterator[str]:
    """Yield the sentences that give figures of a score without a mark and without their page."""
    text = re.sub(r"^```.*?^```|`[^`]*`", "code", text, flags=re.DOTALL | re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=[|#-] ?)|\s\| ", text):
        for sentence in re.split(r"(?<=[.;])\s+", " ".join(part.split())):
            if (
                SCORE.search(sentence)
                and NUMBER.search(sentence)
                and not ELSEWHERE.search(sentence)
            ):
                yield sentence


@pytest.mark.parametrize("page", QUOTING)
def test_figures_of_scores_name_their_rows(page: str) -> None:
    assert list(unsourced((ROOT / page).read_text(encoding="utf-8"))) == []


def test_a_figure_without_its_row_is_noticed() -> None:
    marked = "Perplexity is 613<!-- record a b perplexity --> with `x-1`."
    for plain in (
        "It has 0.833 of the triplets.",
        "| a | perplexity 1,200.5 |",
        "- Purity:\n  0.4.",
    ):
        assert len(list(unsourced(f"{marked}\n\n{plain}\n\n```\nperplexity 9\n```\n"))) == 1, plain
    for plain in ("It has 5 branches.", "16% lower perplexity in [the tables](results.md#a-1)."):
        assert not list(unsourced(f"{marked} {plain}"))


def test_some_figures_on_pages_are_marked() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(FIGURE.findall(text)) for text in texts) >= 3
    assert sum(len(TABLE.findall(text)) for text in texts) >= 1


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
