"""labels.csv: names, notes and hidden nodes, as every view takes them; and ``label``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from faults import failing
from judged import LEAVES, PARENT, words_of

import hiertopics
from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.files import to_csv, to_json
from hiertopics.base.visible import as_typed, no_formula
from hiertopics.corpus.data.tree import Label
from hiertopics.runs.labels import labels_of, read_rows, words_told
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
EVIL = "</b><script>alert(1)</script> \x1b[31m=1+1\u202e"
SEEN = r"</b><script>alert(1)</script> \x1b[31m=1+1\u202e"


@pytest.fixture
def run(copied: Callable[..., Path]) -> Path:
    """Return a run with a tree, which a test may write to."""
    return copied("hlda-variational")


def written(run: Path, *rows: tuple[Any, ...]) -> Path:
    """Write labels.csv as somebody would: node, name, hidden, note; the words are the node's."""
    opened = RunDir(run)
    own = [(n, words_told(opened.tree, opened.vocab, n), *rest) for n, *rest in rows]
    (run / "labels.csv").write_text(to_csv([("node", "words", "name", "hidden", "note"), *own]))
    return run


def test_a_name_stands_in_every_view(run: Path, call: Call, tmp_path: Path) -> None:
    child = int(RunDir(run).tree.children(0)[0])
    told = call("label", run, child, " food \n & drink ", "--note", "two\nlines")
    assert told.code == 0 and "food & drink" in told.out and r"two\nlines" in told.out
    tree = call("show-tree", run).out
    assert f"[{child}]" in tree and "food & drink: " in tree and r"note: two\nlines" in tree
    assert "food & drink" in call("topics", run).out
    (row,) = [row for row in csv.DictReader(io.StringIO(call("topics", run, "--format", "csv").out))
              if row["id"] == str(child)]  # fmt: skip
    assert (row["name"], row["note"]) == ("food & drink", "two\nlines")
    docs = hiertopics.docs(run)
    assert {r["topic_name"] for r in docs if child in r["path"]} == {"food & drink"}
    assert {r["topic_name"] for r in docs if child not in r["path"]} <= {""}
    assert "food & drink" in call("docs", run).out
    for suffix in ("txt", "csv", "json", "nwk", "dot", "graphml", "html"):
        hiertopics.export(run, tmp_path / f"tree.{suffix}")
        if suffix != "html":
            text = (tmp_path / f"tree.{suffix}").read_text(encoding="utf-8")
            assert "food & drink" in text.replace("&amp;", "&"), suffix
    hiertopics.report(run, output=tmp_path / "page.html", json=tmp_path / "page.json")
    nodes = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["nodes"]
    place = nodes["id"].index(child)
    assert (nodes["name"][place], nodes["note"][place]) == ("food & drink", "two\nlines")
    assert "<b>food &amp; drink</b>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_hidden_nodes_and_all_below_are_left_out(run: Path, call: Call, tmp_path: Path) -> None:
    tree = RunDir(run).tree
    child = next(n for n in tree.children(0).tolist() if len(tree.children(n)))
    gone = [child, *tree.children(child).tolist()]
    assert call("label", run, child, "--hide").code == 0
    ids = [row["id"] for row in hiertopics.topics(run)]
    assert ids == [n for n in tree.shown.tolist() if n not in gone]
    for words in (("show-tree", run), ("topics", run), ("export", run, "-o", tmp_path / "t.csv")):
        told = call(*words)
        assert f"1 node and {len(gone) - 1} below are hidden" in told.err
        assert f"[{child}]" not in told.out
    rows = csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text()))
    assert [int(row["id"]) for row in rows] == ids
    assert call("label", run, child, "--show").out == ""
    assert not read_rows(run / "labels.csv") and len(hiertopics.topics(run)) == len(tree.shown)


def _run_of_common_words(folder: Path) -> Path:
    """Return a run in which inner nodes have the words that all documents share."""
    rng = np.random.default_rng(0)
    shared, own = words_of(0), [words_of(leaf) for leaf in LEAVES]
    texts = [[*rng.choice(own[doc % 4], 24), *rng.choice(shared, 9)] for doc in range(48)]
    source = folder / "common.jsonl"
    source.write_text("".join(f"{to_json({'text': ' '.join(text)})}\n" for text in texts))
    theta = np.zeros((48, len(PARENT)))
    for doc in range(48):
        leaf = LEAVES[doc % 4]
        theta[doc, [leaf, PARENT[leaf], 0]] = 0.75, 0.2, 0.05
    vocab = sorted({word for text in texts for word in text})
    phi = np.array([np.isin(vocab, shared)] * 3 + [np.isin(vocab, words) for words in own], float)
    tree = {"parent": list(PARENT), "theta": theta, "phi": phi, "vocab": vocab}
    data = {"text_field": "text"}
    return hiertopics.import_tree(
        tree, folder / "common", source, data=data, say=lambda line: None
    ).path


def test_a_label_of_an_inner_node_fits_whatever_words_a_view_shows(
    call: Call, tmp_path: Path
) -> None:
    """Its own words are not those of its branch, by which it is called."""
    run = _run_of_common_words(tmp_path)
    hiertopics.label(run, 1, "first branch")
    for more in ((), ("--cut", "2"), ("--words-by", "branch"), ("--format", "svg")):
        done = call("show-tree", run, *more)
        assert done.code == 0 and "first branch" in done.out, more
        assert "ignored" not in done.err
    hiertopics.label(run, 1, hide=True)
    assert "[1]" not in call("show-tree", run).out


def test_labels_change_one_thing_at_a_time(run: Path, call: Call) -> None:
    hiertopics.label(run, 1, "first", note="n")
    hiertopics.label(run, 2, "second")
    hiertopics.label(run, 1, hide=True)
    (one, two) = hiertopics.label(run)
    told = {"name": "first", "hidden": True, "note": "n"}
    assert one == {"node": 1, "words": one["words"], **told, "auto_name": one["auto_name"]}
    lines = call("label", run, "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == [one, two]
    assert hiertopics.label(run, 1) == [one] and "first" in call("label", run, 2, "--list").out
    (left,) = hiertopics.label(run, 2, "")
    assert left["node"] == 1
    unnamed = "node 2 has no label; hiertopics label RUN 2 NAME gives it one\n"
    assert call("label", run, 2).err == unnamed
    assert call("label", run, 2, "").err == "node 2 has no label now\n"


def test_a_disk_that_refuses_leaves_the_names_of_before(
    run: Path, call: Call, tmp_path: Path
) -> None:
    assert call("label", run, 1, "first").code == 0
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with failing("rename", 1, tmp_path):
        told = call("label", run, 1, "second")
    assert told.code == 1 and len(told.err.splitlines()) == 1 and "No space left" in told.err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert call("label", run, 1, "second").code == 0


def test_hostile_names_stay_names(run: Path, call: Call, tmp_path: Path) -> None:
    written(run, (1, EVIL, "", "=cmd()"), (3, "'=1", "", "-1+1"))
    rows = {row.node: row.label for row in read_rows(run / "labels.csv")}
    assert rows[1] == Label(EVIL, False, "=cmd()") and rows[3] == Label("'=1", False, "-1+1")
    for words in (("show-tree", run), ("topics", run), ("docs", run), ("label", run),
                  ("topics", run, 1)):  # fmt: skip
        out = call(*words).out
        assert "\x1b" not in out and "\u202e" not in out and SEEN in out, words
    shown = call("show-tree", run, "--format", "html").out
    assert "<script" not in shown and "&lt;script&gt;" in shown
    cells = list(csv.DictReader(io.StringIO(call("topics", run, "--format", "csv").out)))
    assert [row["note"] for row in (cells[1], cells[3])] == ["'=cmd()", "'-1+1"]
    ElementTree.fromstring(call("show-tree", run, "--format", "graphml").out.encode())
    for form in ("dot", "newick"):
        assert "\x1b" not in call("show-tree", run, "--format", form).out
    hiertopics.report(run, output=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("</script>") == 2


@pytest.mark.parametrize(
    "text", ["=1", "'=1", "''@x", "-a", "+", "\tx", "a=1", "'a", "-1", "+1.5e3", "", "'"]
)
def test_a_cell_is_read_back_as_it_was_typed(text: str) -> None:
    assert as_typed(no_formula(text)) == text
    assert no_formula(text)[:1] not in ("=", "@", "\t") and no_formula("-a") == "'-a"


def test_rows_that_no_longer_fit_are_ignored_with_a_warning(run: Path, call: Call) -> None:
    opened = RunDir(run)
    words = words_told(opened.tree, opened.vocab, 1)
    half = " ".join([*words.split()[:1], "neverseen"])
    text = f"node,words,name\n1,{half},stays\n2,not one of these,gone\n77,,nobody\na3,,cluster\n"
    (run / "labels.csv").write_text(text)
    told = call("show-tree", run)
    assert "stays: " in told.out and "gone" not in told.out
    second, missing, _ = told.err.splitlines()  # the last line is about support
    assert "labels.csv:3: node 2 has other words now" in second
    assert "labels.csv:4: there is no node 77" in missing
    assert [row["name"] for row in hiertopics.label(run)] == ["stays", "gone", "nobody", "cluster"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"node;words;name\n1;a;b\n", ":1: expected the columns node, words"),
        (b"words,name\na,b\n", ":1: expected the columns node"),
        (b"node,name\n1\n", ":2: expected 2 columns"),
        (b"node,hidden\n1,maybe\n", ":2: expected true or nothing"),
        (b"node,name\n1,a\n1,b\n", ":3: node 1 has a row already, on line 2"),
        (b"node,name\n,a\n", ":2: a row without a node"),
        (b"node,name\n1,\xff\n", ":2: not UTF-8"),
        (b'node,name\n1,"a\n', ":2: broken CSV"),
    ],
)
def test_a_file_that_is_wrong_is_told_by_its_line(
    run: Path, call: Call, content: bytes, message: str
) -> None:
    (run / "labels.csv").write_bytes(content)
    for words in (("show-tree", run), ("label", run, 1, "x")):
        told = call(*words)
        assert (told.code, told.out, told.err.count("\n")) == (2, "", 1) and message in told.err
    assert (run / "labels.csv").read_bytes() == content
    with pytest.raises(DataError, match="labels.csv"):
        labels_of(RunDir(run))


@pytest.mark.parametrize(
    "text", ["\ufeffnode,name,hidden\r\n1,A,TRUE\r\n", "node,name,hidden\n1,A,x\n\n"]
)
def test_what_spreadsheets_make_of_it_is_read(run: Path, text: str) -> None:
    (run / "labels.csv").write_text(text, encoding="utf-8", newline="")
    assert labels_of(RunDir(run)) == {1: Label("A", True, "")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((999, "x"), "has no node 999"),
        (("a1", "x"), "is called 'a1'"),
        (("--hide",), "which node"),
    ],
)
def test_a_node_that_is_none_is_told(
    run: Path, call: Call, words: tuple[Any, ...], message: str
) -> None:
    told = call("label", run, *words)
    assert (told.code, told.out) == (2, "") and message in told.err
    assert not (run / "labels.csv").exists()


def test_clusters_of_flat_topics_have_names_too(
    copied: Callable[..., Path], tmp_path: Path
) -> None:
    run = copied("lda-gibbs")
    hiertopics.label(run, "a0", "everything")
    hiertopics.label(run, 0, "one")
    text = hiertopics.show_tree(run, arrange=True)
    assert "everything: " in text and "one: " in text
    assert "everything" not in hiertopics.show_tree(run)
    hiertopics.report(run, output=tmp_path / "p.html", json=tmp_path / "p.json")
    nodes = json.loads((tmp_path / "p.json").read_text())["nodes"]
    assert nodes["name"][nodes["id"].index("a0")] == "everything"


def test_axes_are_told_by_their_longest_entries(copied: Callable[..., Path]) -> None:
    run = copied("hca-variational")
    (record,) = hiertopics.label(run, 0, "mean")
    assert len(record["words"].split()) == 5 and labels_of(RunDir(run))[0].name == "mean"


def test_a_topic_is_shown_whole(run: Path, call: Call) -> None:
    tree = RunDir(run).tree
    child = int(tree.children(0)[0])
    (record,) = hiertopics.topics(run, child, docs=3)
    assert [one["id"] for one in record["above"]] == [0] and len(record["documents"]) <= 3
    assert [one["id"] for one in record["below"]] == tree.children(child).tolist()
    assert json.loads(call("topics", run, child, "--docs", 3, "--format", "json").out) == record
    text = call("topics", run, child, "--docs", 3).out
    assert text.startswith(f"[{child}] ") and "above: [0] " in text and "documents:" in text
    assert call("topics", run, 999).code == 2
    with pytest.raises(UsageError, match="no meaning for one topic"):
        hiertopics.topics(run, 0, by="group")


def test_export_takes_what_show_tree_takes(run: Path, call: Call, tmp_path: Path) -> None:
    side = tmp_path / "years"
    side.write_text("".join(f"{1990 + n % 3}\n" for n in range(30)))
    path = tmp_path / "tree.json"
    words = ("--depth", 2, "--min-docs", 1, "--docs", 2, "--side", f"year={side}", "--words", 3)
    assert call("export", run, "-o", path, *words).code == 0
    shown = call("show-tree", run, "--format", "json", *words).out
    assert path.read_text() == shown and "year" in shown and "documents" in shown
    html = call("export", run, "-o", tmp_path / "x.html", "--depth", 2)
    assert html.code == 2 and "have no meaning for html" in html.err
    assert not (tmp_path / "x.html").exists()


def test_the_list_calls_nodes_as_other_views_do(call: Call, run: Path) -> None:
    """By the automatic name beside the given one; csv and json have the own words, too."""
    auto = {row["id"]: row["auto_name"] for row in hiertopics.topics(run)}
    node = max(auto)
    assert call("label", run, node, "short").code == 0
    lines = call("label", run, "--list").out.splitlines()
    assert lines[0].split() == ["node", "name", "auto_name", "hidden", "note"]
    assert "short" in lines[1] and auto[node] in lines[1]
    (row,) = [json.loads(line) for line in call("label", run, "--list", "--json").out.splitlines()]
    assert row["words"] and row["auto_name"] == auto[node]
