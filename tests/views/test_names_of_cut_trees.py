"""A node is called by the same words in every view, whether or not the view cuts the tree."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hiertopics
from hiertopics.corpus.data.naming import NAME_WORDS, ORDERS, by_name, in_order, names_of
from hiertopics.corpus.data.support import collapsed
from hiertopics.corpus.data.tree import NODE, ROOT, NodeSupport, Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.views.levels import in_levels

Call = Callable[..., Any]
VOCAB = tuple(f"w{n}" for n in range(40))


def grown(seed: int) -> Tree:
    """Return a tree of three levels, three children each, its topics drawn."""
    rng = np.random.default_rng(seed)
    parent = [ROOT, *[0] * 3, *np.repeat([1, 2, 3], 3).tolist()]
    n = len(parent)
    weight = rng.dirichlet(np.ones(n))
    return Tree(
        phi=rng.dirichlet(np.full(len(VOCAB), 0.2), n),
        parent=np.array(parent, dtype=np.int32),
        kind=np.full(n, NODE, dtype=np.int8),
        weight=weight,
        n_docs=np.arange(n, 0, -1),
        n_tokens=weight * 1000,
    )


@pytest.fixture
def run(copied: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> RunDir:
    """Return a run with a tree whose nodes would have other names if it were smaller."""
    opened = RunDir(copied("nhdp-variational"))
    tree, n_docs = grown(1), len(opened.theta.indptr) - 1
    theta = np.random.default_rng(2).dirichlet(np.full(tree.n_nodes, 0.3), n_docs)
    values = np.where(np.arange(tree.n_nodes) % 2, 0.9, 0.1)
    values[0] = np.nan
    tree = replace(tree, transfer=NodeSupport(values, None))
    cut, part = in_levels(tree, (3,)), collapsed(tree, values, 0.5)
    for order in set(ORDERS) - {"prob", "relevance", "frex"}:
        whole = names_of(tree, VOCAB, words_by=order).texts
        for smaller in (cut, part):
            names = names_of(smaller, VOCAB, words_by=order).texts
            assert any(names[row] != whole[row] for row in smaller.shown.tolist())
    shares = sparse.csr_array(theta)
    made = {"tree": tree, "supported_tree": tree, "vocab": VOCAB, "theta": shares}
    for name, value in made.items():
        monkeypatch.setitem(opened.__dict__, name, value)
    return opened


def names_in(run: RunDir, form: str, **how: Any) -> dict[int, str]:
    """Return the name of each node that a view shows."""
    text = hiertopics.show_tree(run, format=form, words=NAME_WORDS, **how)
    if form == "json":
        return {node["id"]: node["auto_name"] for node in json.loads(text)["nodes"]}
    if form == "csv":
        return {int(row["id"]): row["auto_name"] for row in csv.DictReader(io.StringIO(text))}
    if form == "graphml":
        pattern = r'<node id="(\d+)">.*?<data key="auto_name">(.*?)</data>'
    elif form == "html":
        pattern = r"<li>.*?(w[\w ]+?) <small>\[(\d+)\]"
        return {int(node): name for name, node in re.findall(pattern, text)}
    elif form == "dot":
        pattern = r'n(\d+) \[label="[^"]*\\n(w[\w ]+)"'
    elif form == "newick":
        pattern = r"'(\d+) (w[\w ]+)'"
    else:
        pattern = r"\[(\d+)\].* docs  (?:support \S+  )?(w[\w ]+)"
    return {
        int(node): name for node, name in re.findall(pattern, text, re.DOTALL * (form == "graphml"))
    }


@pytest.mark.parametrize("order", [None, "branch"])
@pytest.mark.parametrize("form", ["text", "json", "csv", "html", "dot", "graphml", "newick"])
@pytest.mark.parametrize("how", [{}, {"cut": "3"}, {"supported": 0.5}, {"depth": 2}], ids=str)
def test_a_cut_changes_no_name(
    run: RunDir, form: str, how: dict[str, Any], order: str | None
) -> None:
    whole = names_of(run.tree, VOCAB, words_by=order).texts
    found = names_in(run, form, words_by=order, **how)
    assert len(found) >= 4
    assert found == {node: whole[node] for node in found}


@pytest.mark.parametrize("how", [{"cut": "3"}, {"supported": 0.5}], ids=str)
def test_the_page_of_a_cut_tree_has_the_names_of_the_whole(
    run: RunDir, how: dict[str, Any], tmp_path: Path
) -> None:
    order = by_name(run.tree, VOCAB)
    hiertopics.report(run, output=tmp_path / "a.html", json=tmp_path / "a.json", **how)
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    for node, called in zip(data["nodes"]["id"], data["nodes"]["called"], strict=True):
        words = [data["words"][word] for word in called]
        assert words == [VOCAB[word] for word in order.top_words(node, len(words))]
    plain = re.findall(r"(w[\w ]+?) <small>\[(\d+)\]", (tmp_path / "a.html").read_text())
    assert plain and all(
        name.split()[:NAME_WORDS] == names_of(run.tree, VOCAB).texts[int(node)].split()
        for name, node in plain
    )


def test_cutting_keeps_the_order_of_words() -> None:
    for order in ORDERS:
        ranked = in_order(grown(2), VOCAB, order)
        for smaller in (in_levels(ranked, (3,)), ranked.without(np.arange(ranked.n_nodes) > 5)):
            for row in smaller.shown.tolist():
                assert smaller.top_words(row, 9).tolist() == ranked.top_words(row, 9).tolist()
