"""Flat topics arranged as a tree: the clustering, the tree's columns, and how views show it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.archives import read_npz
from hiertopics.base.arrays import F64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.arranging import NOTE, arrange, banded, contexts
from hiertopics.corpus.data.membership import documents_with
from hiertopics.corpus.data.tree import NODE, OUTSIDE, OWN, ROOT, Tree
from hiertopics.runs.rows import node_rows
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render import View
from hiertopics.views.render.graphs import to_dot, to_graphml, to_newick
from hiertopics.views.render.trees import to_text

Members = Bools
VOCAB = tuple(f"word{number}" for number in range(12))


def flat(phi: F64, n_tokens: Sequence[float] = ()) -> Tree:
    """Return topics, and a last row that lies outside them."""
    n_topics = len(phi)
    tokens = np.array([*(n_tokens or range(10, 10 + n_topics)), 3.0], dtype=float)
    return Tree(
        np.vstack([phi, np.full((1, phi.shape[1]), 1 / phi.shape[1])]),
        np.full(n_topics + 1, ROOT, dtype=np.int32),
        np.array([NODE] * n_topics + [OUTSIDE], dtype=np.int8),
        tokens / tokens.sum(),
        np.arange(n_topics + 1, 0, -1),
        tokens,
        {"doc_prior": np.ones(n_topics + 1)},
    )


def topics(n_topics: int, seed: int = 0) -> F64:
    return np.random.default_rng(seed).dirichlet(np.full(len(VOCAB), 0.3), n_topics)


def some_members(n_rows: int) -> Members:
    return np.random.default_rng(5).random((40, n_rows)) < 0.2


def arranged(tree: Tree) -> Tree:
    return arrange(tree, some_members(tree.n_nodes))


def ids(tree: Tree) -> tuple[int | str, ...]:
    assert tree.arrangement is not None
    return tree.arrangement.ids


def lengths(tree: Tree) -> F64:
    assert tree.arrangement is not None
    return tree.arrangement.lengths


def leaves(tree: Tree, row: int) -> frozenset[int]:
    """Return the run's ids of the topics at or below a row."""
    children = np.flatnonzero(tree.parent == row)
    if not len(children):
        return frozenset([int(ids(tree)[row])])
    return frozenset().union(*(leaves(tree, int(child)) for child in children))


def hellinger(left: F64, right: F64) -> float:
    return float(np.sqrt(((np.sqrt(left) - np.sqrt(right)) ** 2).sum() / 2))


def ward_height(phi: F64, left: frozenset[int], right: frozenset[int]) -> float:
    """Return Ward's distance of two clusters: how much their merge adds to squared distances."""
    means = [np.sqrt(phi[sorted(side)]).mean(axis=0) / np.sqrt(2) for side in (left, right)]
    sizes = 2 * len(left) * len(right) / (len(left) + len(right))
    return float(np.sqrt(sizes * ((means[0] - means[1]) ** 2).sum()))


def brute_force(phi: F64) -> dict[frozenset[int], float]:
    """Return each cluster of an agglomeration written out, with Ward's distance at its merge."""
    clusters = [frozenset([topic]) for topic in range(len(phi))]
    heights = {}
    while len(clusters) > 1:
        height, left, right = min(
            (ward_height(phi, a, b), a, b) for a, b in itertools.combinations(clusters, 2)
        )
        clusters = [c for c in clusters if c not in (left, right)] + [left | right]
        heights[left | right] = height
    return heights


@pytest.mark.parametrize("n_topics", [2, 3, 4, 7, 11])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clusters_and_heights_are_those_of_an_agglomeration_written_out(
    n_topics: int, seed: int
) -> None:
    phi = topics(n_topics, seed)
    tree = arranged(flat(phi))
    expected = brute_force(phi)
    above = range(n_topics - 1)
    assert {leaves(tree, row) for row in above} == set(expected)
    for row in range(n_topics - 1, 2 * n_topics - 1):
        way, node = 0.0, row
        while tree.parent[node] != ROOT:
            way, node = way + lengths(tree)[node], int(tree.parent[node])
            assert way == pytest.approx(expected[leaves(tree, node)] / 2, abs=1e-12)


def test_topics_of_the_same_documents_go_together() -> None:
    """Three topics without a word in common; the first and the last are in the same documents."""
    tree = flat(np.eye(3))
    theta = sparse.csr_array([[0.5, 0, 0.5, 0], [0.4, 0, 0.6, 0], [0, 1.0, 0, 0]])
    context = contexts(theta, np.array([10, 10, 10]), tree.phi)
    assert context[0] == pytest.approx([4.1 / 9, 0, 4.9 / 9])
    found = arrange(tree, np.ones((3, 4), dtype=bool), context)
    assert leaves(found, 1) == {0, 2}
    assert contexts(theta, np.array([10, 10, 10]), tree.phi)[3] == pytest.approx(tree.phi[3])


def test_topics_do_not_chain() -> None:
    """Of these topics average linkage puts 53 into one of four clusters, and one into two."""
    phi = np.random.default_rng(1).dirichlet(np.full(60, 0.3), 60)
    tree = banded(arranged(flat(phi)))
    sizes = [len(leaves(tree, int(row))) for row in np.flatnonzero(tree.parent == 0)]
    assert len(sizes) == 4 and min(sizes) >= 5 and max(sizes) <= 30


def test_two_planted_groups_end_in_two_subtrees() -> None:
    rng = np.random.default_rng(3)
    food, sport = np.r_[np.full(6, 2.0), np.full(6, 0.05)], np.r_[np.full(6, 0.05), np.full(6, 2.0)]
    phi = np.vstack([rng.dirichlet(food, 5), rng.dirichlet(sport, 4)])
    order = rng.permutation(9)
    tree = arranged(flat(phi[order]))
    sides = {leaves(tree, int(child)) for child in np.flatnonzero(tree.parent == 0)}
    planted = frozenset(np.flatnonzero(order < 5).tolist())
    assert sides == {planted, frozenset(range(9)) - planted}


def test_topics_keep_their_rows_and_their_ids() -> None:
    before = flat(topics(6))
    tree = arranged(before)
    assert ids(tree) == ("a0", "a1", "a2", "a3", "a4", 0, 1, 2, 3, 4, 5)
    for name in ("phi", "weight", "n_docs", "n_tokens"):
        assert (getattr(tree, name)[5:] == getattr(before, name)[:6]).all()


def test_a_gap_in_the_ids_stays_a_gap() -> None:
    before = flat(topics(5))
    kind = before.kind.copy()
    kind[2] = OUTSIDE
    assert ids(arranged(replace(before, kind=kind)))[3:] == (0, 1, 3, 4)


def test_parents_come_before_children_and_have_two() -> None:
    tree = arranged(flat(topics(9)))
    assert (tree.parent < np.arange(tree.n_nodes)).all()
    assert np.bincount(tree.parent[1:]).tolist() == [2] * 8
    assert tree.parent[0] == ROOT and (tree.kind == NODE).all()


def test_totals_of_tokens_are_conserved_at_every_node() -> None:
    before = flat(topics(8))
    tree = arranged(before)
    assert (tree.weight[:7] == 0).all() and (tree.n_tokens[:7] == 0).all()
    for row in range(7):
        below = sorted(leaves(tree, row))
        assert tree.subtree_weight[row] == pytest.approx(before.weight[below].sum())
        mean = before.n_tokens[below] @ before.phi[below] / before.n_tokens[below].sum()
        np.testing.assert_allclose(tree.phi[row], mean, rtol=1e-12)
    assert tree.n_tokens.sum() == pytest.approx(before.n_tokens[:8].sum())


def test_documents_of_a_node_are_those_of_any_topic_below() -> None:
    before = flat(topics(8))
    members = some_members(before.n_nodes)
    tree = arrange(before, members)
    for row in range(7):
        assert tree.n_docs[row] == members[:, sorted(leaves(tree, row))].any(axis=1).sum()


def test_a_document_has_a_topic_from_one_token_on() -> None:
    theta = sparse.csr_array(np.array([[0.25, 0.75, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]))
    members = documents_with(theta, np.array([4, 3, 0])).toarray()
    assert members.tolist() == [[True, True, False], [False, False, True], [False, False, True]]


@pytest.mark.parametrize("backend", ["hdp-pcvb0", "hdp-gibbs"])
@pytest.mark.parametrize("holdout", ["docs:0.2@0", "tokens:0.2@0"])
def test_documents_of_topics_are_counted_as_the_fit_counted_them(
    finished: Callable[..., Path], backend: str, holdout: str
) -> None:
    run = RunDir(finished(backend, holdout))
    assert run.split.train_lengths is not None
    n_docs = documents_with(run.theta, run.split.train_lengths).sum(axis=0)
    assert n_docs.tolist() == run.tree.n_docs.tolist()


def test_identical_topics_merge_at_height_zero() -> None:
    phi = topics(3)[[0, 1, 0, 2, 0]]
    tree = arranged(flat(phi))
    for values in (lengths(tree), tree.phi, tree.subtree_weight):
        assert np.isfinite(values).all()
    assert (lengths(tree) >= 0).all()
    same = next(row for row in range(4) if leaves(tree, row) == {0, 2, 4})
    assert lengths(tree)[[row for row in range(9) if tree.parent[row] == same]].tolist() == [0, 0]


def test_topics_without_tokens_have_a_mean_too() -> None:
    phi = topics(4)
    tree = arranged(flat(phi, n_tokens=[0, 0, 0, 0]))
    np.testing.assert_allclose(tree.phi[0], phi.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize(("n_topics", "names"), [(0, ()), (1, (0,)), (2, ("a0", 0, 1))])
def test_few_topics_make_a_small_tree(n_topics: int, names: tuple[object, ...]) -> None:
    tree = arranged(flat(topics(3)[:n_topics]))
    assert ids(tree) == names
    lines = to_text(tree, VOCAB, View()).splitlines()
    assert lines[0] == NOTE and len(lines) == 1 + len(names)
    assert to_newick(tree, VOCAB, View()).endswith(";\n")
    assert to_graphml(tree, VOCAB, View()).count("<node ") == len(names)


def test_what_is_a_tree_already_is_refused() -> None:
    tree = arranged(flat(topics(3)))
    with pytest.raises(UsageError, match="a tree already"):
        arrange(tree, some_members(tree.n_nodes))


def test_text_says_first_that_the_model_is_flat_and_shows_whole_subtrees() -> None:
    before = flat(np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.1, 0.9]]), [20, 10, 47])
    tree = arrange(before, np.ones((6, 4), dtype=bool))
    assert to_text(tree, ("bread", "wine", "goal"), View(n_words=1)).splitlines() == [
        NOTE,
        "[a0] 96.25%      6 docs  goal",
        "├─ [2] 58.75%      2 docs  goal",
        "└─ [a1] 37.50%      6 docs  bread",
        "   ├─ [0] 25.00%      4 docs  bread",
        "   └─ [1] 12.50%      3 docs  bread",
    ]
    assert "flat" in NOTE and "after the fit" in NOTE


def names_in(form: str, tree: Tree, view: View) -> set[str]:
    """Return what the nodes of a view are called in one of its forms."""
    if form == "json":
        rows = node_rows(tree, VOCAB, 2, view.nodes(tree))
        assert {row["parent"] for row in rows} <= {row["id"] for row in rows} | {-1}
        return {str(row["id"]) for row in rows}
    write, pattern = {
        "text": (to_text, r"\[(\w+)\]"),
        "dot": (to_dot, r"^  n(\w+) \[label="),
        "newick": (to_newick, r"'(\w+) "),
        "graphml": (to_graphml, r'<node id="(\w+)"'),
    }[form]
    return set(re.findall(pattern, write(tree, VOCAB, view), re.M))


FORMS = ("text", "json", "dot", "newick", "graphml")


def test_all_forms_call_a_node_by_the_same_name() -> None:
    tree = arranged(flat(topics(7)))
    for view in (View(), View(depth=2), View(min_docs=7)):
        found = [names_in(form, tree, view) for form in FORMS]
        assert found == [found[0]] * len(FORMS)
        assert 1 < len(found[0]) <= 13
    assert found[0] < {str(name) for name in ids(tree)}


def test_depth_cuts_an_arranged_tree() -> None:
    tree = arranged(flat(topics(7)))
    below = {str(ids(tree)[row]) for row in np.flatnonzero(tree.parent == 0)}
    assert names_in("text", tree, View(depth=2)) == {"a0"} | below


def test_newick_has_the_lengths_of_branches() -> None:
    phi = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    phi[1] = [0.36, 0.64, 0.0]
    tree = arranged(flat(phi, [20, 10, 40]))
    near = ward_height(phi, frozenset([0]), frozenset([1]))
    far = ward_height(phi, frozenset([0, 1]), frozenset([2]))
    assert near == pytest.approx(hellinger(phi[0], phi[1]))
    assert to_newick(tree, ("x", "y", "z"), View(n_words=1)) == (
        f"('2 z':{far / 2:.6f},('0 x':{near / 2:.6f},'1 y':{near / 2:.6f})"
        f"'a1 x':{(far - near) / 2:.6f})'a0 z';\n"
    )


def test_dot_carries_the_note() -> None:
    text = to_dot(arranged(flat(topics(3))), VOCAB, View())
    assert f"  label={json.dumps(NOTE)};" in text.splitlines()


def test_a_chain_deeper_than_python_calls_is_shown() -> None:
    n_nodes = 1200
    parent = np.arange(-1, n_nodes - 1, dtype=np.int32)
    tree = replace(flat(topics(n_nodes - 1)), parent=parent, kind=np.zeros(n_nodes, dtype=np.int8))
    for write in (to_text, to_dot, to_newick, to_graphml):
        assert write(tree, VOCAB, View(n_words=1)).count("word") >= n_nodes


def test_arranging_twice_gives_the_same(finished: Callable[..., Path]) -> None:
    run = RunDir(finished())
    members = documents_with(run.theta, read_npz(run.path / "split.npz")["train_lengths"]).toarray()
    first, second = arrange(run.tree, members), arrange(run.tree, members)
    assert all((getattr(first, name) == getattr(second, name)).all() for name in OWN)
