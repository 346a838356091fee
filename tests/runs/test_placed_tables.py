"""``infer -o``: the suffix tells the form, and every form says where documents are placed."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hiertopics
from hiertopics.corpus.data.membership import single_root
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.data.treeshares import main_topics
from hiertopics.runs.rows import NamedTree, placed_rows
from hiertopics.runs.rundir import RunDir
from hiertopics.views.documents import docs_text
from hiertopics.views.remarks import counted_at

Call = Callable[..., Any]


@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0"])
def test_a_table_has_a_line_per_document(
    call: Call, finished: Callable[..., Path], tiny_file: Path, tmp_path: Path, backend: str
) -> None:
    run = finished(backend)
    assert call("infer", run, tiny_file, "-o", "new.csv").code == 0
    assert call("infer", run, tiny_file, "-o", "new.jsonl").code == 0
    found = hiertopics.infer(run, tiny_file)
    tree = RunDir(run).tree
    theta, kind, top = found.theta.toarray(), tree.kind, single_root(tree)
    lines = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "new.csv").read_text(encoding="utf-8"))))
    assert len(records) == len(rows) == len(theta)
    for doc, (record, row) in enumerate(zip(records, rows, strict=True)):
        assert record["doc"] == int(row["doc"]) == doc + 1
        assert record["words"] == found.corpus.doc_lengths[doc]
        shares = [share for _, share in record["topics"]]
        assert shares == sorted(shares, reverse=True) and min(shares, default=1) >= 0.01
        assert all(theta[doc, node] == share for node, share in record["topics"])
        below = np.flatnonzero((kind == 0) & (np.arange(len(kind)) != top))
        largest = below[theta[doc, below].argmax()]
        assert not record["topics"] or theta[doc, record["topics"][0][0]] == theta[doc, largest]
        if not record["words"]:
            assert not record["topics"] and not record.get("path")
        elif found.paths is None:
            assert "path" not in record
        else:
            path = found.paths.node[doc]
            assert record["path"] == path[path >= 0].tolist()
            assert row["path"] == " ".join(map(str, record["path"]))
            assert record["probability"] == np.exp(found.paths.log_prob[doc])


@pytest.mark.parametrize("name", ["new.feather", "new.json", "new.txt"])
def test_a_suffix_that_would_lie_is_refused(
    call: Call, finished: Callable[..., Path], tiny_file: Path, tmp_path: Path, name: str
) -> None:
    outcome = call("infer", finished(), tiny_file, "-o", name)
    assert (outcome.code, outcome.out) == (2, "") and outcome.err.count("\n") == 1
    assert ".npz .csv .jsonl .parquet" in outcome.err and not (tmp_path / name).exists()


@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0"])
def test_parquet_holds_what_jsonl_holds(
    call: Call, copied: Callable[..., Path], tiny_file: Path, tmp_path: Path, backend: str
) -> None:
    import pyarrow.parquet

    run = copied(backend)
    for labelled in (False, True):
        if labelled:
            call("label", run, 0, "every thing")
        for name in ("new.parquet", "new.jsonl"):
            assert call("infer", run, tiny_file, "-o", name).code == 0
        rows = pyarrow.parquet.read_table(tmp_path / "new.parquet").to_pylist()
        lines = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
        wanted = [json.loads(line) for line in lines]
        for row in rows:
            row["topics"] = [[pair["id"], pair["share"]] for pair in row["topics"]]
        assert rows == wanted and ("topic_name" in rows[0]) == labelled


def test_parquet_without_pyarrow_is_told_before_the_work(
    call: Call,
    finished: Callable[..., Path],
    tiny_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    told = call("infer", finished(), tiny_file, "-o", "new.parquet")
    assert told.code == 2 and "pip install 'hiertopics[parquet]'" in told.err
    assert not (tmp_path / "new.parquet").exists()


def way_of(tree: Tree, theta: np.ndarray[Any, Any]) -> list[tuple[int, float]]:
    """Return the way into the child with the largest share, with these shares at or below.

    It ends at a node below the root with more at itself than at or below any child.
    """
    below = theta @ tree.above.toarray()
    way: list[tuple[int, float]] = []
    node = -1
    while True:
        children = [child for child in tree.shown.tolist() if tree.parent[child] == node]
        node = max(children, key=lambda child: below[child], default=-1)
        last = way[-1][0] if way else -1
        stays = last > 0 and node >= 0 and theta[last] > below[node]
        if node < 0 or below[node] == 0 or stays:
            return way
        way.append((node, float(below[node])))


def placed(call: Call, run: Path, corpus: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the records of jsonl, after a look at those of csv and parquet."""
    import pyarrow.parquet

    for suffix in ("csv", "jsonl", "parquet"):
        assert call("infer", run, corpus, "-o", f"new.{suffix}").code == 0
    lines = (folder / "new.jsonl").read_text(encoding="utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    rows = list(csv.DictReader(io.StringIO((folder / "new.csv").read_text(encoding="utf-8"))))
    table = pyarrow.parquet.read_table(folder / "new.parquet").to_pylist()
    for record, row, cells in zip(records, rows, table, strict=True):
        assert list(record) == list(row) == list(cells)
        assert row["topic"] == ("" if record["topic"] is None else str(record["topic"]))
        assert cells["topic"] == record["topic"]
        if "main_path" in record:
            pairs = [[pair["id"], pair["share"]] for pair in cells["main_path"]]
            assert pairs == record["main_path"]
            assert row["main_path"] == " ".join(f"{n}:{s:.4f}" for n, s in record["main_path"])
    return records


def test_a_document_that_mixes_nodes_is_at_the_end_of_its_way_and_not_at_the_root(
    call: Call, finished: Callable[..., Path], tiny_file: Path, tmp_path: Path
) -> None:
    run = finished("nhdp-variational")
    found = hiertopics.infer(run, tiny_file)
    tree, theta = RunDir(run).tree, found.theta.toarray()
    assert (theta.argmax(axis=1) == 0).any()  # the root has most of its words
    records = placed(call, run, tiny_file, tmp_path)
    for doc in np.flatnonzero(found.lengths).tolist():
        record = records[doc]
        (root, _), *way = way_of(tree, theta[doc])
        assert root == 0 and way
        assert [node for node, _ in record["main_path"]] == [node for node, _ in way]
        assert [part for _, part in record["main_path"]] == pytest.approx([s for _, s in way])
        assert record["topic"] == way[-1][0]
        assert 0 not in dict(record["topics"])
        words = [RunDir(run).vocab[word] for word in tree.top_words(record["topic"], 5)]
        assert record["topic_words"] == " ".join(words)


@pytest.mark.parametrize("backend", ["nhdp-variational", "hlda-variational", "hdp-pcvb0"])
def test_a_document_without_known_words_is_not_placed(
    call: Call, finished: Callable[..., Path], tmp_path: Path, backend: str
) -> None:
    (tmp_path / "few.ldac").write_text("2 0:3 1:1\n1 2:4\n0\n")
    (tmp_path / "few.vocab").write_text("goal\nteam\nyeti\n")
    first, *others = placed(call, finished(backend), tmp_path / "few.ldac", tmp_path)
    assert first["topic"] is not None and first["topic_words"] and first["topic_auto_name"]
    assert [record["unknown"] for record in (first, *others)] == [0, 4, 0]
    for record in others:
        for name in {"doc", "name", "words", "unknown"} ^ set(record):
            assert record[name] in (None, "", []), name
    told = call("infer", finished(backend), tmp_path / "few.ldac", "-o", "few.npz")
    assert "note: 2 documents have no word that the run knows; they are not placed" in told.err


def test_only_a_document_with_nothing_below_the_root_is_at_the_root() -> None:
    tree = Tree(
        phi=np.full((4, 2), 0.5),
        parent=np.array([-1, 0, 0, -1], np.int32),
        kind=np.array([0, 0, 0, 1], np.int8),
        weight=np.full(4, 0.25),
        n_docs=np.ones(4, np.int64),
        n_tokens=np.ones(4),
    )
    theta = sparse.csr_array([[1.0, 0, 0, 0], [0.9, 0, 0.1, 0], [0, 0, 0, 1.0]])
    assert main_topics(tree, theta).tolist() == [0, 2, 0]
    rows = placed_rows(
        NamedTree(tree, ("a", "b")), theta, None, None, np.array([3, 3, 3]), range(3)
    )
    assert [row["topic"] for row in rows] == [0, 2, None]
    assert [row["topics"] for row in rows] == [[[0, 1.0]], [[2, 0.1]], []]
    assert [row["main_path"] for row in rows] == [[[0, 1.0]], [[2, 0.1]], []]


def test_every_view_has_the_same_main_topic(finished: Callable[..., Path], tmp_path: Path) -> None:
    """``docs``, the metadata of ``show-tree --side`` and ``topics --by``, and the page."""
    run = RunDir(finished("nhdp-variational"))
    lengths = run.split.train_lengths
    assert lengths is not None
    has_words = np.flatnonzero(lengths)
    records = [hiertopics.docs(run)[doc] for doc in has_words]
    shown = docs_text(records).splitlines()
    for record, line in zip(records, shown, strict=True):
        way = " > ".join(f"[{node}] {share:.2f}" for node, share in record["main_path"])
        assert line == f"{record['doc']}  {way}  {record['topic_auto_name']}"
    counted = counted_at(run).toarray()
    depth = np.where(counted > 0, run.tree.depth + 1, 0)
    assert [record["topic"] for record in records] == depth.argmax(axis=1)[has_words].tolist()
    hiertopics.report(run, output=tmp_path / "page.html", json=tmp_path / "page.json")
    page = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    homes = [page["nodes"]["id"][page["documents"]["home"][doc]] for doc in has_words]
    assert [record["topic"] for record in records] == homes


def test_the_way_ends_where_most_of_the_document_is() -> None:
    """Below the root alone; the largest child of a node may have less than the node itself."""
    tree = Tree(
        phi=np.full((6, 2), 0.5),
        parent=np.array([-1, 0, 1, 1, 0, 4], np.int32),
        kind=np.zeros(6, np.int8),
        weight=np.full(6, 1 / 6),
        n_docs=np.ones(6, np.int64),
        n_tokens=np.ones(6),
    )
    theta = sparse.csr_array(
        [
            [0.1, 0.7, 0.15, 0.05, 0, 0],
            [0.1, 0.3, 0.35, 0.25, 0, 0],
            [0.6, 0.1, 0.05, 0.2, 0.05, 0],
            [0.0, 0.2, 0.1, 0.1, 0.0, 0.6],
            [0.0, 0.3, 0.3, 0.15, 0.25, 0.0],  # as much at itself, but the sum of all is rounded
        ]
    )
    assert main_topics(tree, theta).tolist() == [1, 2, 3, 5, 2]
    assert [way_of(tree, row)[-1][0] for row in theta.toarray()] == [1, 2, 3, 5, 2]
