"""Top documents of nodes: ordered by hand, named as in the corpus file, shown in every view."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from unsealed import unsealed

from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import NODE, OUTSIDE, Tree
from hiertopics.runs.rows import node_rows, topics_csv
from hiertopics.runs.rundir import RunDir
from hiertopics.views.documents import documents_of, top_documents
from hiertopics.views.render import View
from hiertopics.views.render.trees import to_text
from hiertopics.views.showing import show_tree

Fit = Callable[..., Any]
THETA = np.array(
    [
        [0.5, 0.3, 0.2, 0.0, 0.0, 0.0],
        [0.2, 0.1, 0.7, 0.0, 0.0, 0.0],
        [0.5, 0.2, 0.0, 0.3, 0.0, 0.0],
        [0.4, 0.0, 0.0, 0.0, 0.5, 0.1],
        [0.1, 0.2, 0.0, 0.6, 0.0, 0.1],
    ]
)
NAMES = ("ann", "bob", "cid", "dan", "eve")


@pytest.fixture
def tree() -> Tree:
    """Return root 0, its children 1 and 4, below 1 the nodes 2 and 3; 5 is outside."""
    phi = np.eye(6, 4) + 0.1
    return Tree(
        phi / phi.sum(axis=1, keepdims=True),
        np.array([-1, 0, 1, 1, 0, -1], dtype=np.int32),
        np.array([NODE] * 5 + [OUTSIDE], dtype=np.int8),
        np.array([0.4, 0.2, 0.2, 0.1, 0.05, 0.05]),
        np.array([5, 4, 2, 2, 1, 0]),
        np.ones(6),
    )


def top(tree: Tree, n_docs: int, theta: Any = THETA) -> dict[int, str]:
    found = top_documents(tree, sparse.csr_array(theta), NAMES, n_docs)
    return {node: " ".join(str(name) for name, _ in docs) for node, docs in found.items()}


def test_a_node_shows_those_with_the_largest_share_at_or_below_it(tree: Tree) -> None:
    """Ties (0 and 1) go to the one with more at the node itself, then to the earlier one."""
    assert top(tree, 2) == {0: "ann cid", 1: "eve bob", 2: "bob ann", 3: "eve cid", 4: "dan"}


def test_all_documents_with_a_share_are_listed_in_order(tree: Tree) -> None:
    found = top_documents(tree, sparse.csr_array(THETA), NAMES, 9)
    assert [name for name, _ in found[0]] == ["ann", "cid", "bob", "dan", "eve"]
    assert dict(found[1]) == pytest.approx({"bob": 0.8, "eve": 0.8, "ann": 0.5, "cid": 0.5})
    assert found[4] == [("dan", 0.5)]
    assert set(found) == {0, 1, 2, 3, 4}


def test_blocks_of_documents_change_no_list(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    theta = sparse.csr_array(np.random.default_rng(0).dirichlet(np.full(6, 0.1), 40).round(1))
    names = [f"d{doc}" for doc in range(40)]
    for n_docs in (1, 5, 60):
        whole = top_documents(tree, theta, names, n_docs)
        monkeypatch.setattr("hiertopics.views.documents.BLOCK", 7)
        assert top_documents(tree, theta, names, n_docs) == whole
        monkeypatch.undo()


def test_rounding_makes_no_order(tree: Tree) -> None:
    noise = THETA * (1 + 1e-14 * np.arange(5)[:, None])
    assert top(tree, 2, noise) == top(tree, 2)


def test_columns_of_an_arranged_tree_are_those_of_its_topics(fit_tiny: Fit, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run")
    run = RunDir(tmp_path / "run")
    flat = documents_of(run, run.tree, 3)
    shown = json.loads(show_tree(run, format="json", arrange=True, docs=3))["nodes"]
    assert [node["id"] for node in shown if isinstance(node["id"], str)]
    for node in shown:
        if isinstance(node["id"], int):
            assert [tuple(doc) for doc in node["documents"]] == flat[node["id"]]
    root = shown[0]["documents"]
    total = run.theta[:, run.tree.shown].sum(axis=1)
    assert root[0][1] == pytest.approx(total.max())


def test_text_puts_documents_below_their_node(tree: Tree) -> None:
    documents = top_documents(tree, sparse.csr_array(THETA), NAMES, 1)
    lines = to_text(tree, "abcd", View(documents=documents)).splitlines()
    assert [line[: line.index("]") + 1] for line in lines[::2]] == [
        "[0]",
        "├─ [1]",
        "│  ├─ [2]",
        "│  └─ [3]",
        "└─ [4]",
    ]
    assert lines[1::2] == [
        "│  documents: ann 1.00",
        "│  │  documents: eve 0.80",
        "│  │     documents: bob 0.70",
        "│        documents: eve 0.60",
        "      documents: dan 0.50",
    ]


def test_csv_has_a_column_of_documents_only_where_they_were_asked_for(tree: Tree) -> None:
    documents = top_documents(tree, sparse.csr_array(THETA), NAMES, 2)
    rows = list(
        csv.DictReader(io.StringIO(topics_csv(node_rows(tree, "abcd", 2, None, documents))))
    )
    assert [row["documents"] for row in rows][:2] == ["ann; cid", "eve; bob"]
    plain = topics_csv(node_rows(tree, "abcd", 2))
    assert "documents" not in plain


@pytest.fixture
def named_run(fit_tiny: Fit, tmp_path: Path) -> RunDir:
    """Return a run on raw text whose documents have names."""
    rows = [{"id": f"note {n}", "text": "bread wine" if n % 2 else "goal team"} for n in range(20)]
    corpus = tmp_path / "notes.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("data.text_field=text", "data.id_field=id")
    fit_tiny(tmp_path / "run", "hlda-gibbs", 4, flags, corpus)
    return RunDir(tmp_path / "run")


def names_in(run: RunDir, n_docs: int) -> set[Any]:
    documents = documents_of(run, run.tree, n_docs)
    return {name for docs in documents.values() for name, _ in docs}


def test_documents_go_by_their_names(named_run: RunDir) -> None:
    trained = {f"note {doc}" for doc in named_run.split.train_docs}
    assert names_in(named_run, 20) == trained


def test_where_the_corpus_is_gone_their_names_are_in_the_run(named_run: RunDir) -> None:
    (named_run.path.parent / "notes.jsonl").unlink()
    assert names_in(named_run, 20) == {f"note {doc}" for doc in named_run.split.train_docs}


def test_an_older_run_whose_corpus_is_gone_has_their_numbers_in_it(
    named_run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    (named_run.path.parent / "notes.jsonl").unlink()
    (unsealed(named_run.path) / "documents.jsonl").unlink()
    named_run = RunDir(named_run.path)
    assert names_in(named_run, 20) == {int(doc) + 1 for doc in named_run.split.train_docs}
    assert "documents go by their numbers" in capsys.readouterr().err


def test_unnamed_documents_go_by_their_line(finished: Callable[..., Path]) -> None:
    run = RunDir(finished("hlda-gibbs"))
    assert names_in(run, 30) == {int(doc) + 1 for doc in run.split.train_docs}


@pytest.mark.parametrize("form", ["dot", "newick", "graphml"])
def test_drawings_have_no_room_for_documents(finished: Callable[..., Path], form: str) -> None:
    with pytest.raises(UsageError, match=f"--docs has no meaning for format {form}"):
        show_tree(RunDir(finished()), format=form, docs=2)


def test_commands_show_them(finished: Callable[..., Path], call: Callable[..., Any]) -> None:
    run = finished("hlda-gibbs")
    lines = call("topics", run, "--docs", 2, "--format", "json").out.splitlines()
    rows = [json.loads(line) for line in lines]
    nodes = json.loads(call("show-tree", run, "--docs", 2, "--format", "json").out)["nodes"]
    assert [row["documents"] for row in rows] == [node["documents"] for node in nodes]
    assert all(1 <= len(row["documents"]) <= 2 for row in rows)
    name = str(rows[0]["documents"][0][0])
    header, first, *_ = call("topics", run, "--docs", 2).out.splitlines()
    assert header.split()[-1] == "documents" and name in first.split("; ")[0].split()
    assert f"documents: {name} " in call("show-tree", run, "--docs", 1).out
    assert "top documents" not in call("topics", run).out
    assert "documents" not in call("show-tree", run).out
