"""Columns of what is known of documents: kept by the run, read by name, and topics by them."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tiny import counts_in

import hiertopics
from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.metadata import Metadata
from hiertopics.corpus.formats.records import column_of
from hiertopics.runs.rundir import RunDir
from hiertopics.views import bycolumn, shares
from hiertopics.views.bycolumn import N_SAMPLES, _intervals
from hiertopics.views.remarks import counted_at, tags_of
from hiertopics.views.shares import by_difference

Call = Callable[..., Any]
TEXTS = ("bread and butter", "cheese with bread", "a goal in the match", "goal and team")
N = 24


def years(doc: int) -> int:
    """Return the year of a document: food is of early ones, sport of late ones."""
    return 1990 + doc % 2 if doc % 4 < 2 else 1992 + doc % 2


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory, fit_tiny: Call) -> Path:
    """Return a folder with a table whose cells hold several authors, and a run of it."""
    folder = tmp_path_factory.mktemp("authors")
    cells = ("Ann, A; Bob", "Bob", "", "Ann, A;Cat ;")
    rows = [(TEXTS[doc % 4], cells[doc % 4], "x; " * 100 + f"y{doc % 2}") for doc in range(N)]
    table = io.StringIO()
    csv.writer(table).writerows([("text", "authors", "long"), *rows])
    (folder / "raw.csv").write_text(table.getvalue())
    (folder / "lines").write_text("".join(f"{'a|b' if doc % 2 else 'b'}\n" for doc in range(N)))
    fit_tiny(folder / "run", "hlda-variational", corpus=folder / "raw.csv")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, fit_tiny: Call) -> Path:
    """Return a folder with texts that have metadata, a run of them, and the same in csv."""
    folder = tmp_path_factory.mktemp("metadata")
    rows = [
        {
            "text": TEXTS[doc % 4],
            "year": years(doc),
            "by": [["ann"], ["ann", "=bob"], [], ["cat"]][doc % 4],
            "draft": doc % 3 == 0,
            "nested": {"a": 1},
            "long": "x" * 300,
        }
        for doc in range(N)
    ]
    raw = folder / "raw.jsonl"
    raw.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = io.StringIO()
    csv.writer(table).writerows([("year", "text"), *((row["year"], row["text"]) for row in rows)])
    (folder / "raw.csv").write_text(table.getvalue())
    (folder / "lines").write_text("".join(f"{row['year']}\n" for row in rows))
    fit_tiny(folder / "run", "hlda-variational", corpus=raw)
    return folder


def test_documents_have_their_metadata_in_fields_of_their_own(folder: Path, call: Call) -> None:
    run = RunDir(folder / "run")
    records = hiertopics.docs(run)
    assert list(records[0])[-4:] == ["snippet", "year", "by", "draft"]
    of = run.split.train_docs.tolist()
    assert [record["year"] for record in records] == [str(years(doc)) for doc in of]
    by = [[["ann"], ["ann", "=bob"], [], ["cat"]][doc % 4] for doc in of]
    assert [sorted(record["by"]) for record in records] == list(map(sorted, by))
    assert json.loads(call("docs", folder / "run", "--format", "json").out) == records
    rows = list(csv.DictReader(io.StringIO(call("docs", folder / "run", "--format", "csv").out)))
    assert [row["year"] for row in rows] == [record["year"] for record in records]
    assert rows[0]["path"] == " ".join(map(str, records[0]["path"]))
    assert {row["by"] for row in rows} >= {"ann", "cat", ""}
    assert any(sorted(row["by"].strip("'").split("; ")) == ["=bob", "ann"] for row in rows)


def test_metadata_hide_no_field_of_documents(fit_tiny: Call, tmp_path: Path) -> None:
    rows = [{"text": TEXTS[doc % 4], "topic": "mine", "year": doc} for doc in range(N)]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit_tiny(tmp_path / "run", corpus=tmp_path / "raw.jsonl")
    records = hiertopics.docs(tmp_path / "run")
    assert "mine" not in {record["topic"] for record in records}
    assert [record["year"] for record in records] == [str(record["doc"] - 1) for record in records]


def test_a_run_keeps_short_fields_and_no_others(folder: Path) -> None:
    run = RunDir(folder / "run")
    kept = run.documents
    assert kept is not None and set(kept.tags) == {"year", "by", "draft"}
    assert kept.tags["year"].names == ("1990", "1991", "1992", "1993")
    members = kept.tags["by"].members.toarray()
    for place, doc in enumerate(run.split.train_docs):
        by = {kept.tags["by"].names[tag] for tag in np.flatnonzero(members[place])}
        assert by == [{"ann"}, {"ann", "=bob"}, set(), {"cat"}][doc % 4]
    lines = (folder / "run" / "documents.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["metadata"].keys() == {"year", "by", "draft"}


def test_a_run_without_metadata_reads_the_table_it_was_fitted_to(
    folder: Path, fit_tiny: Call, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    fit_tiny(
        plain, "hlda-variational", corpus=folder / "raw.jsonl", overrides=["data.metadata=false"]
    )
    assert "metadata" not in (plain / "documents.jsonl").read_text()
    wanted = hiertopics.topics(folder / "run", by="year")
    assert hiertopics.topics(plain, by="year") == wanted
    with pytest.raises(DataError, match="no field 'month'"):
        hiertopics.topics(plain, by="month")


def test_every_source_of_a_column_says_the_same(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"year": [years(doc) for doc in range(N)]})
    pyarrow.parquet.write_table(table, folder / "raw.parquet")
    run = folder / "run"
    wanted = hiertopics.show_tree(run, sides=["year"])
    assert "year: 1990 |" in wanted
    for name in ("raw.jsonl", "raw.csv", "raw.parquet", "lines"):
        assert hiertopics.show_tree(run, sides=[f"year={folder / name}"]) == wanted, name
    shares = hiertopics.topics(run, by="year")
    assert hiertopics.topics(run, by="year", sides=[f"year={folder / 'raw.csv'}"]) == shares


def test_of_many_values_the_commonest_are_compared(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(bycolumn, "MOST_VALUES", 3)
    names = "aaaabbbccef"
    (folder / "by").write_text("".join(f"{names[doc % 11]}\n" for doc in range(N)))
    done = call("topics", "run", "--by", "author", "--side", "author=by", "--json")
    assert done.code == 0
    assert "note: column 'author' has 5 values; the 3 commonest are compared\n" in done.err
    assert {json.loads(line)["value"] for line in done.out.splitlines()} == {*"abc"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "month"), "no field 'month'; there are"),
        (("--by", "yaer"), "did you mean 'year'?"),
        (("--by", "month", "--side", "month=raw.csv"), "no field 'month'; there are"),
        (("--by", "year", "--side", "year=short.csv"), "2 records, but the corpus"),
        (("--by", "year", "--side", "year=not.parquet"), "cannot be read as parquet"),
        (("--by", "text", "--side", "text=long.csv"), "no values of at most 200 letters"),
        (("--by", "year", "--seed", "-1"), "--seed must be >= 0"),
        (("--by", "year", "--docs", "2"), "--docs has no meaning with --by"),
        (("--side", "year"), "--side has no meaning without --by"),
        (("--by", "year", "--side", "year="), "--side expects NAME or NAME=FILE"),
    ],
)
def test_a_column_that_is_none_is_told(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "short.csv").write_text("year\n1\n2\n")
    (folder / "not.parquet").write_text("x")
    (folder / "long.csv").write_text("text\n" + "x" * 300 + "\n")
    told = call("topics", "run", *words)
    assert (told.code, told.out) == (2, "") and message in told.err


def test_shares_are_means_over_the_documents_of_a_value(folder: Path) -> None:
    run = RunDir(folder / "run")
    records = hiertopics.topics(run, by="year")
    theta, train = run.theta.toarray(), run.split.train_docs
    year = np.array([years(doc) for doc in train])
    below = theta.copy()
    for node in range(run.tree.n_nodes - 1, -1, -1):
        if run.tree.parent[node] >= 0:
            below[:, run.tree.parent[node]] += below[:, node]
    assert [(r["id"], r["value"]) for r in records] == [
        (node, str(value))
        for node in run.tree.shown.tolist()
        for value in range(1990, 1994)
        if run.tree.parent[node] >= 0
    ]
    for record in records:
        mine = year == int(record["value"])
        assert record["of"] == mine.sum()
        assert record["share"] == pytest.approx(below[mine, record["id"]].mean())
        rest = below[~mine, record["id"]].mean()
        assert record["difference"] == pytest.approx(record["share"] - rest)
        assert run.paths is not None
        passing = (run.paths.node[mine] == record["id"]).any(axis=1).sum()
        assert record["n_docs"] == passing
        assert record["low"] <= record["share"] + 1e-9 and record["share"] <= record["high"] + 1e-9
        assert record["difference_low"] - 1e-9 <= record["difference"]


def intervals(members: sparse.csr_array, below: sparse.csr_array, seed: int) -> dict[str, Any]:
    """Return what ``_intervals`` does of shares that are all there."""
    return _intervals(
        members, lambda columns: below.toarray()[:, columns], below.shape[1], seed, N_SAMPLES
    )


def test_intervals_are_those_of_resampled_documents() -> None:
    """A mean of many: the bootstrap's bounds are the normal ones."""
    rng = np.random.default_rng(0)
    value = rng.beta(2, 5, size=(400, 1))
    half = (np.arange(400) % 2)[:, None]
    members = sparse.csr_array(np.hstack([half, 1 - half]).astype(float))
    found = intervals(members, sparse.csr_array(value), 0)
    for at, chosen in enumerate((half[:, 0] == 1, half[:, 0] == 0)):
        error = value[chosen].std() / np.sqrt(chosen.sum())
        assert found["low"][at, 0] == pytest.approx(value[chosen].mean() - 1.96 * error, abs=0.003)
        assert found["high"][at, 0] == pytest.approx(value[chosen].mean() + 1.96 * error, abs=0.003)
    error = np.sqrt(sum(value[half[:, 0] == one].var() / 200 for one in (0, 1)))
    width = found["difference_high"] - found["difference_low"]
    assert width[0, 0] == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert np.allclose(found["difference"][0], -found["difference"][1])


def test_nodes_in_blocks_have_the_same_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    below, members = (
        sparse.csr_array(rng.random((30, 150))),
        sparse.csr_array(np.eye(3)[np.arange(30) % 3]),
    )
    whole = intervals(members, below, 5)
    monkeypatch.setattr("hiertopics.views.bycolumn.MOST_CELLS", 30 * 64)
    parts = intervals(members, below, 5)
    assert all((whole[name] == parts[name]).all() for name in whole)
    assert (whole["low"] != intervals(members, below, 6)["low"]).any()


def test_documents_without_a_value_are_not_among_the_others() -> None:
    rng = np.random.default_rng(2)
    below = sparse.csr_array(rng.random((40, 3)))
    value = np.eye(2)[np.arange(40) % 2]
    value[30:] = 0
    found = intervals(sparse.csr_array(value), below, 0)
    alone = intervals(sparse.csr_array(value[:30]), below[:30], 0)
    for name in found:
        np.testing.assert_array_equal(found[name], alone[name], name)
    mean = below.toarray()
    rest = mean[1:30:2].mean(axis=0)
    assert found["difference"][0] == pytest.approx(mean[:30:2].mean(axis=0) - rest)


def test_one_document_has_no_interval_and_no_rest_no_difference() -> None:
    below = sparse.csr_array(np.ones((3, 1)))
    members = sparse.csr_array(np.array([[1.0, 0], [0, 1], [0, 1]]))
    found = intervals(members, below, 0)
    assert np.isnan(found["low"][0, 0]) and found["low"][1, 0] == 1.0
    alone = intervals(members[:, [1]][1:], below[1:], 0)
    assert np.isnan(alone["difference"][0, 0]) and np.isnan(alone["difference_high"][0, 0])


def test_theta_is_read_some_documents_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hiertopics.topics(folder / "run", by="year")
    monkeypatch.setattr("hiertopics.views.bycolumn.ENTRIES", 50)
    monkeypatch.setattr("hiertopics.views.remarks.ENTRIES", 50)
    run = RunDir(folder / "run")
    assert hiertopics.topics(run, by="year") == expected
    assert "theta" not in run.__dict__


def test_a_column_of_many_numbers_has_ranges(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = RunDir(folder / "run")
    docs = np.union1d(run.split.train_docs, run.split.heldout_docs)
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("size\n" + "".join(f"{doc * 7}\n" for doc in range(len(docs))))
    monkeypatch.setattr("hiertopics.views.bycolumn.MOST_VALUES", 12)
    records = hiertopics.topics(run, by="size", sides=[f"size={numbers}"])
    values = list(dict.fromkeys(record["value"] for record in records))
    assert len(values) == 10 and values[0] == "0 to 7"
    lows = [float(value.split(" to ")[0]) for value in values]
    assert lows == sorted(lows)
    each = [record["of"] for record in records][:10]
    assert sum(each) == len(run.split.train_docs) and max(each) - min(each) <= 1


def test_a_root_above_all_is_left_out_unless_it_is_asked_for(folder: Path) -> None:
    run = RunDir(folder / "run")
    nodes = np.flatnonzero(run.tree.kind == 0)
    (root,) = nodes[run.tree.parent[nodes] < 0]
    assert len(nodes) > 1
    shown = {record["id"] for record in hiertopics.topics(run, by="year")}
    assert shown == set(nodes.tolist()) - {root}
    assert {record["id"] for record in hiertopics.topics(run, int(root), by="year")} == {root}


def test_every_format_of_topics_by_column_says_the_same(folder: Path, call: Call) -> None:
    run = folder / "run"
    records = hiertopics.topics(run, by="by")
    lines = call("topics", run, "--by", "by", "--format", "json").out.splitlines()
    assert [json.loads(line) for line in lines] == records
    rows = list(
        csv.DictReader(io.StringIO(call("topics", run, "--by", "by", "--format", "csv").out))
    )
    assert [row["value"].removeprefix("'") for row in rows] == [r["value"] for r in records]
    assert "'=bob" in {row["value"] for row in rows}
    text = call("topics", run, 0, "--by", "by").out
    assert text.count("\n") == 1 + 3 and "95% of it" in text
    assert call("topics", run, "--by", "by").out == call("topics", run, "--by", "by").out


def test_the_terminal_shows_the_largest_differences_of_the_first_level(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order; stderr says what is left out. Deeper topics are asked for by their number."""
    run = folder / "run"
    parent, records = RunDir(run).tree.parent, hiertopics.topics(run, by="year")
    first = [record for record in records if parent[record["id"]] == 0]
    assert 5 < len(first) < len(records)
    # Values of fewer than five documents come last, in their order, too.
    many, few = ([one for one in first if (one["of"] < 5) == few] for few in (False, True))
    first, n_values = many + few, len({one["value"] for one in first})
    assert many and few
    out, err = (text.splitlines() for text in call("topics", run, "--by", "year", "--top", 20)[1:])
    shown = [line.split()[0] for line in out[1:]]
    assert shown == [str(record["id"]) for record in by_difference(first)]
    apart = [one["difference"] for one in by_difference(first)]
    above = [one for one in apart[: len(many)] if one > 0]
    below = [one for one in apart[: len(many)] if one < 0]
    assert above == sorted(above, reverse=True) and below == sorted(below) and above and below
    assert apart[: len(above)] == above
    assert err == [
        f"{len({one['value'] for one in few})} of {n_values} values have fewer than 5 documents "
        "and come last",
        f"... and {len(records) - len(first)} more rows; --top N shows more, NODE those of one "
        "topic, --format csv all",
    ]
    told = call("topics", run, "--by", "year", "--top", 3, "--json").out.splitlines()
    largest = sorted(many, key=lambda record: -abs(record["difference"]))[:3]
    assert [json.loads(line) for line in told] == [one for one in first if one in largest]
    told = call("topics", run, first[0]["id"], "--by", "year", "--top", 1, "--json").out
    of_one = [record for record in first if record["id"] == first[0]["id"]]
    of_one = [record for record in of_one if record in many]
    assert json.loads(told) == max(of_one, key=lambda record: abs(record["difference"]))
    assert call("topics", run, "--top", 3).code == 2


def test_each_row_has_the_name_of_its_topic(folder: Path, call: Call) -> None:
    """By the name that somebody gave it, otherwise by the one that other views have."""
    run = folder / "run"
    wanted = {record["id"]: record["auto_name"] for record in hiertopics.topics(run)}
    records = hiertopics.topics(run, by="year")
    assert {record["id"]: record["auto_name"] for record in records}.items() <= wanted.items()
    first = records[0]["id"]
    lines = call("topics", run, "--by", "by").out.splitlines()
    assert lines[0].split()[:3] == ["id", "topic", "value"] and wanted[first] in "".join(lines)
    assert call("label", run, first, "Bread and wine").code == 0
    for by in ("by", "year"):
        lines = call("topics", run, "--by", by).out.splitlines()
        own = [line for line in lines if line.split()[0] == str(first)]
        assert own and all("Bread and wine" in line for line in own)
        assert not any(wanted[first] in line for line in lines)
    branches = np.flatnonzero(RunDir(run).tree.parent == 0)
    other = next(record["id"] for record in records if record["id"] in branches[1:])
    assert any(wanted[other] in line for line in lines)
    table = csv.DictReader(io.StringIO(call("topics", run, "--by", "year", "--format", "csv").out))
    row = next(table)
    assert (row["name"], row["auto_name"]) == ("Bread and wine", wanted[first])


def test_a_chart_holds_the_records_by_topic(folder: Path, call: Call) -> None:
    """Numbers are drawn as points on a line in a band, names as points; nothing is loaded."""
    run = folder / "run"
    for column, marks in (("year", ["area", "line", "point"]), ("by", ["rule", "point"])):
        outcome = call("topics", run, "--by", column, "--format", "vega-lite")
        chart, records = json.loads(outcome.out), hiertopics.topics(run, by=column)
        layers = [layer["mark"] for layer in chart["spec"]["layer"]]
        assert [mark if isinstance(mark, str) else mark["type"] for mark in layers] == marks
        values = chart["data"]["values"]
        assert [value["share"] for value in values] == [record["share"] for record in records]
        titles = [f"[{record['id']}] " for record in records]
        assert all(map(str.startswith, [value["topic"] for value in values], titles))
        assert all(len(value["topic"].split()) > 1 for value in values)
        wanted = [float(r["value"]) if column == "year" else r["value"] for r in records]
        assert [value["value"] for value in values] == wanted
        assert "url" not in outcome.out
    for words in ((), ("--by", "group")):
        refused = call("topics", run, *words, "--format", "vega-lite")
        assert refused.code == 2 and "without --by COLUMN" in refused.err


def test_fields_that_come_late_or_go_are_empty_elsewhere() -> None:
    table = Metadata()
    for values in ({"a": 1}, {"b": "x"}, {"a": None, "c": {"deep": 1}}, {"a": [2, "3"], "c": "y"}):
        table.add(values)
    tags = table.tags()
    assert set(tags) == {"a", "b"} and tags["a"].names == ("1", "2", "3")
    assert tags["a"].members.toarray().tolist() == [
        [True, False, False], [False] * 3, [False] * 3, [False, True, True]
    ]  # fmt: skip


def test_metadata_are_no_part_of_the_corpus(folder: Path) -> None:
    read = counts_in(hiertopics.Source(folder / "raw.jsonl", metadata=True))
    plain = counts_in(hiertopics.Source(folder / "raw.jsonl"))
    assert read.metadata and not plain.metadata and read.fingerprint == plain.fingerprint
    assert read.select([1, 2]).metadata["year"].members.shape[0] == 2
    assert column_of(folder / "raw.csv", "year", "csv").names == read.metadata["year"].names


def test_the_page_shows_the_columns_that_a_run_keeps(folder: Path, tmp_path: Path) -> None:
    hiertopics.report(folder / "run", output=tmp_path / "p.html", json=tmp_path / "p.json")
    columns = json.loads((tmp_path / "p.json").read_text())["columns"]
    assert {one["name"]: one["ordered"] for one in columns} == {
        "year": True,
        "by": False,
        "draft": False,
    }


def test_the_terminal_shows_the_commonest_of_many_values(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_VALUES", 2)
    words = ("topics", folder / "run", "--by", "by")
    outcome = call(*words)
    lines = outcome.out.splitlines()
    assert lines[0].split()[:2] == ["value", "documents"] and len(lines) == 1 + 2
    assert "the 2 commonest of 3 values; a share is the mean" in outcome.err
    assert "95% of it" in call(*words, "--top", 3).out


def test_a_document_without_words_is_counted_nowhere(fit_tiny: Call, tmp_path: Path) -> None:
    """Its theta is that of the prior alone, which says nothing of it."""
    texts = ["bread butter cheese wine", "goal match team coach", "rare"]
    rows = [{"text": texts[2 if n % 9 == 8 else n % 2], "side": ("a",)} for n in range(36)]
    raw = tmp_path / "raw.jsonl"
    raw.write_text("".join(json.dumps(one) + "\n" for one in rows))
    fit_tiny(tmp_path / "run", "nhdp-variational", corpus=raw, data={"min_df": 5}, holdout="none")
    run = RunDir(tmp_path / "run")
    lengths = run.split.train_lengths
    assert lengths is not None and (lengths == 0).sum() == 4
    assert counted_at(run).sum(axis=1)[lengths == 0].sum() == 0
    assert (counted_at(run).sum(axis=1)[lengths > 0] > 0).all()
    data_file = tmp_path / "p.json"
    hiertopics.report(run, output=tmp_path / "p.html", json=data_file)
    part = json.loads(data_file.read_text())
    (side,) = part["columns"]
    assert (side["totals"], side["node_count"][0]) == ([36], 32)
    found = re.search(r"(\d+) documents \(100%\) fit no branch", "".join(map(str, part["lead"])))
    assert found is not None and int(found[1]) == (lengths > 0).sum()


@pytest.mark.parametrize("most", [1, 15])
def test_shares_of_a_column_are_counted_once(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(shares, "MOST_VALUES", most)
    counted = []

    def by_column(*args: Any, **how: Any) -> list[dict[str, Any]]:
        counted.append(args)
        return real(*args, **how)

    real = bycolumn.by_column
    monkeypatch.setattr(bycolumn, "by_column", by_column)
    assert call("topics", folder / "run", "--by", "by").code == 0
    assert len(counted) == 1


def test_a_mark_behind_the_name_of_a_column_splits_its_cells(authors: Path, call: Call) -> None:
    run = RunDir(authors / "run")
    assert set(tags_of(run, "authors", None).names) == {"Ann, A; Bob", "Bob", "Ann, A;Cat ;"}
    split = tags_of(run, "authors;", None)
    assert split.names == ("Ann, A", "Bob", "Cat")
    n_train = len(run.split.train_docs)
    assert split.members.shape == (n_train, 3)
    whole = tags_of(run, "authors", None).by_row
    expected = [
        [part.strip() for v in row for part in v.split(";") if part.strip()] for row in whole
    ]
    assert [sorted(row) for row in split.by_row] == [sorted(row) for row in expected]
    # A cell too long for one value, in the table that was fitted to; another file and mark.
    assert set(tags_of(run, "long;", None).names) == {"x", "y0", "y1"}
    assert tags_of(run, "kind|", authors / "lines").names == ("a", "b")
    with pytest.raises(DataError, match="no field 'editors'; there are 'text', 'authors', 'long'"):
        tags_of(run, "editors;", None)


def test_views_take_a_split_column_by_its_plain_name(authors: Path, call: Call) -> None:
    run = authors / "run"
    rows = call("topics", run, "--by", "authors;", "--json")
    assert rows.code == 0
    assert {json.loads(line)["value"] for line in rows.out.splitlines()} == {"Ann, A", "Bob", "Cat"}
    rows = call("topics", run, "--by", "kind|", "--side", f"kind={authors / 'lines'}", "--json")
    assert {json.loads(line)["value"] for line in rows.out.splitlines()} == {"a", "b"}
    chart = call("topics", run, "--by", "authors;", "--format", "vega-lite").out
    assert "authors" in chart and "authors;" not in chart
    shown = call("show-tree", run, "--side", "authors;")
    assert shown.code == 0 and "authors: " in shown.out and "Bob" in shown.out
    assert "authors;" not in shown.out and "Ann, A;" not in shown.out
    page = authors / "page.html"
    assert call("report", run, "--side", "authors;", "-o", page).code == 0
    packed = re.findall(r"^columns (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    columns = json.loads(gzip.decompress(base64.b64decode(packed[0])))
    (column,) = [one for one in columns if one["name"].startswith("authors")]
    assert column["name"] == "authors" and set(column["values"]) == {"Ann, A", "Bob", "Cat"}
