"""Documents and share of a node are the same numbers in every view: at or below it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pages import data_of

import hiertopics
from hiertopics.corpus.data.tree import ROOT
from hiertopics.python.run import Run
from hiertopics.runs.rundir import RunDir
from hiertopics.views.asking import questions

Call = Callable[..., Any]
Counts = dict[int, tuple[int, str]]
"""Documents and share of tokens, as it is printed, by node."""

BACKENDS = ("nhdp-variational", "hlda-variational", "hdp-pcvb0")
XML = "{http://graphml.graphdrawing.org/xmlns}"


def by_hand(path: Path) -> Counts:
    """Count the documents of each node one by one."""
    run, found = RunDir(path), {}
    tree, theta, lengths = run.tree, run.theta.toarray(), run.split.train_lengths
    assert lengths is not None
    roots = [node for node in tree.shown.tolist() if tree.parent[node] == ROOT]
    for node in tree.shown.tolist():
        branch = [other for other in tree.shown.tolist() if node in tree.path(other)]
        n_docs = 0
        for doc in range(len(theta)):
            tokens = theta[doc, branch].sum() * max(int(lengths[doc]), 1)
            uses = node in run.paths.node[doc] if run.paths is not None else tokens > 1 - 1e-9
            n_docs += bool(uses or roots == [node])
        found[node] = (n_docs, f"{tree.weight[branch].sum():.2%}")
    return found


def records(rows: list[dict[str, Any]]) -> Counts:
    return {
        int(row.get("id", row.get("node", -1))): (
            int(row["branch_docs"]),
            f"{float(row['branch_share']):.2%}",
        )
        for row in rows
    }


def lines(text: str, pattern: str) -> Counts:
    found = re.findall(pattern, text)
    return {int(node): (int(n_docs), share) for node, share, n_docs in found}


def listed(call: Call, run: Path, node: int) -> tuple[int, str]:
    """Return how many documents ``docs`` lists, and what ``topics`` says of one topic."""
    (one,) = hiertopics.topics(run, node)
    said = call("topics", run, node).out.splitlines()[1]
    share, n_docs = re.findall(r"^([\d.]+%).* (\d+) documents", said)[0]
    assert (one["branch_docs"], f"{one['branch_share']:.2%}") == (int(n_docs), share)
    for child in one["below"]:
        assert records([child]) == records(hiertopics.topics(run, child["id"]))
    text = [
        line for line in call("docs", run, node, "--top", 99).out.splitlines() if line[0] != " "
    ]
    counted = [record for record in hiertopics.docs(run, node) if record["counted"]]
    assert len(counted) == len(text) == int(n_docs)
    return int(n_docs), share


def graph(text: str) -> list[dict[str, Any]]:
    nodes = ElementTree.fromstring(text.encode()).iter(f"{XML}node")
    return [
        {"id": node.get("id")} | {data.get("key", ""): data.text for data in node} for node in nodes
    ]


def page(path: Path) -> list[dict[str, Any]]:
    nodes = data_of(path)["nodes"]
    rows = zip(nodes["id"], nodes["branch_docs"], nodes["below"], strict=True)
    named = [{"id": one, "branch_docs": n, "branch_share": share} for one, n, share in rows]
    return [row for row in named if isinstance(row["id"], int)]


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_views_count_the_same_documents_and_words(
    finished: Callable[..., Path], call: Call, tmp_path: Path, backend: str
) -> None:
    run = finished(backend)
    expected = by_hand(run)
    assert len(expected) > 2
    if not RunDir(run).tree.is_flat:
        assert expected[0] == (len(RunDir(run).split.train_docs), "100.00%")
    shown = {
        name: call("show-tree", run, "--min-docs", 0, "--depth", 99, "--format", name).out
        for name in ("text", "json", "csv", "graphml", "html")
    }
    node, share = r"\[(\d+)\]", r"([\d.]+%)(?: \(own [\d.]+%\))?"
    told = lines(Run(run)._repr_html_() or "", rf"{node} {share}, (\d+) docs")
    call("report", run, "-o", "page.html")
    views = {
        "show-tree": lines(shown["text"], rf"{node} +{share} +(\d+) docs"),
        "json": records(json.loads(shown["json"])["nodes"]),
        "csv": records(list(csv.DictReader(io.StringIO(shown["csv"])))),
        "graphml": records(graph(shown["graphml"])),
        "html": lines(shown["html"], rf"{node} {share}, (\d+) docs"),
        "notebook": told,
        "python": records(Run(run).tree.table()),
        "topics": lines(call("topics", run).out, r"(?m)^ *(\d+) +([\d.]+%) +[\d.]+% +(\d+) "),
        "topics --json": records(hiertopics.topics(run)),
        "label --with": records(list(questions(RunDir(run), RunDir(run).supported_tree, expected))),
        "page": records(page(tmp_path / "page.html")),
    }
    assert {name: view for name, view in views.items() if view != expected} == {}
    for one in [0, 1, max(expected)]:
        assert listed(call, run, one) == expected[one]


def test_own_numbers_keep_their_names(finished: Callable[..., Path]) -> None:
    run = RunDir(finished("nhdp-variational"))
    written = json.loads((run.path / "tree.json").read_text())["nodes"]
    for row, old in zip(hiertopics.topics(run), written, strict=True):
        assert {name: row[name] for name in old if name != "words"} == {
            name: value for name, value in old.items() if name != "words"
        }
        assert "branch_docs" not in old
    assert any(run.tree.n_docs[run.tree.shown] < run.supported_tree.branch_docs[run.tree.shown])


def test_values_of_documents_count_on_the_way_to_their_main_topic(
    finished: Callable[..., Path],
) -> None:
    from hiertopics.views.remarks import counted_at

    run = RunDir(finished("nhdp-variational"))
    counted = counted_at(run).toarray()
    children = [node for node in run.tree.shown.tolist() if run.tree.parent[node] == 0]
    below = (run.theta @ run.tree.above).toarray()
    assert run.split.train_lengths is not None
    has_words = run.split.train_lengths > 0
    assert (counted[:, 0] == has_words).all() and not has_words.all()
    best = np.array(children)[below[:, children].argmax(axis=1)]
    for doc, child in enumerate(best.tolist()):
        assert counted[doc, child] == (has_words[doc] and below[doc, child] > 0)
