"""The node table: depth, children, subtrees and top words of a small tree and of a forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hiertopics.corpus.data.tree import (
    FEW_TOKENS,
    NODE,
    OUTSIDE,
    Tree,
    by_branch,
    by_frex,
    by_relevance,
)
from hiertopics.runs.rows import node_rows

WEIGHT = (0.1, 0.2, 0.1, 0.05, 0.3, 0.15, 0.1)


def tree_of(parent: Sequence[int], weight: Sequence[float], kind: Sequence[int] = ()) -> Tree:
    n_nodes = len(parent)
    phi = np.random.default_rng(1).dirichlet(np.ones(5), n_nodes)
    return Tree(
        phi,
        np.array(parent, dtype=np.int32),
        np.array(kind or [NODE] * n_nodes, dtype=np.int8),
        np.array(weight),
        np.arange(n_nodes, 0, -1),
        100 * np.array(weight),
        {"own": np.arange(3)},
    )


@pytest.fixture
def tree() -> Tree:
    """Return a root, three children, two grandchildren, and what lies outside."""
    return tree_of((-1, 0, 0, 0, 2, 2, -1), WEIGHT, (0, 0, 0, 0, 0, 0, OUTSIDE))


def test_depth_counts_from_the_root(tree: Tree) -> None:
    assert tree.depth.tolist() == [0, 1, 1, 1, 2, 2, 0]


def test_a_forest_has_depth_zero_everywhere() -> None:
    assert tree_of((-1, -1, -1), (0.2, 0.5, 0.3)).depth.tolist() == [0, 0, 0]


def test_subtree_weight_adds_what_lies_below(tree: Tree) -> None:
    assert tree.subtree_weight == pytest.approx([0.9, 0.2, 0.55, 0.05, 0.3, 0.15, 0.1])
    assert tree.weight.tolist() == list(WEIGHT)


def test_children_come_heaviest_subtree_first(tree: Tree) -> None:
    assert tree.children(0).tolist() == [2, 1, 3]
    assert tree.children(2).tolist() == [4, 5]
    assert tree.children(4).tolist() == []


def test_roots_are_the_children_of_minus_one_without_what_lies_outside(tree: Tree) -> None:
    assert tree.children(-1).tolist() == [0]
    assert tree_of((-1, -1, -1), (0.2, 0.5, 0.3)).children(-1).tolist() == [1, 2, 0]


def test_equal_weights_keep_the_order_of_ids() -> None:
    assert tree_of((-1, -1, -1), (0.2, 0.4, 0.4)).children(-1).tolist() == [1, 2, 0]


def test_shown_leaves_out_what_lies_outside(tree: Tree) -> None:
    assert tree.n_nodes == 7 and tree.shown.tolist() == [0, 1, 2, 3, 4, 5]
    assert [row["id"] for row in node_rows(tree, tuple("abcde"), 2)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("n_words", [1, 2, 3, 5, 9])
def test_top_words_are_the_most_probable_ties_by_id(n_words: int) -> None:
    tree = tree_of((-1,), (1.0,))
    phi = np.array([[0.1, 0.3, 0.1, 0.3, 0.1, 0.1]])
    tied = Tree(phi, tree.parent, tree.kind, tree.weight, tree.n_docs, tree.n_tokens)
    assert tied.top_words(0, n_words).tolist() == [1, 3, 0, 2, 4, 5][:n_words]


def test_top_words_of_many_agree_with_a_full_sort() -> None:
    rng = np.random.default_rng(4)
    phi = rng.integers(1, 30, (3, 400)).astype(float)  # many ties
    flat = tree_of((-1, -1, -1), (0.2, 0.5, 0.3))
    tree = Tree(phi, flat.parent, flat.kind, flat.weight, flat.n_docs, flat.n_tokens)
    for node in range(3):
        expected = sorted(range(400), key=lambda word: (-phi[node, word], word))
        for n_words in (1, 7, 25, 399, 400, 500):
            assert tree.top_words(node, n_words).tolist() == expected[:n_words]


def test_arrays_carry_the_backends_own_beside_the_table(tree: Tree) -> None:
    arrays = tree.to_arrays()
    assert set(arrays) == {"phi", "parent", "kind", "weight", "n_docs", "n_tokens", "own"}
    again = Tree.from_arrays(arrays)
    assert again.extra["own"].tolist() == [0, 1, 2] and again.parent.tolist() == [
        -1,
        0,
        0,
        0,
        2,
        2,
        -1,
    ]


@pytest.mark.parametrize("name", ["phi", "parent", "kind", "weight", "n_docs", "n_tokens"])
def test_a_missing_array_is_a_key_error(tree: Tree, name: str) -> None:
    arrays = tree.to_arrays()
    del arrays[name]
    with pytest.raises(KeyError, match=name):
        Tree.from_arrays(arrays)


def test_words_of_a_branch_are_those_of_all_tokens_below(tree: Tree) -> None:
    found = by_branch(tree)
    below = [2, 4, 5]
    tokens = (tree.phi[below] * tree.n_tokens[below, None]).sum(axis=0)
    assert found.phi[2] == pytest.approx(tokens / tokens.sum())
    assert found.phi[4] == pytest.approx(tree.phi[4])
    assert found.phi.sum(axis=1) == pytest.approx(1)
    corpus = tree.n_tokens @ tree.phi / tree.n_tokens.sum()
    score = found.phi[2] * np.log(found.phi[2] / corpus)
    assert found.top_words(2, 5).tolist() == np.argsort(-score, kind="stable").tolist()
    assert found.chance(2, 3) == found.phi[2, 3]
    assert tree.top_words(2, 5).tolist() == np.argsort(-tree.phi[2], kind="stable").tolist()


def test_a_branch_without_tokens_has_the_words_of_its_nodes() -> None:
    empty = tree_of((-1, 0, 0), (0.0, 0.0, 0.0))
    found = by_branch(empty)
    assert found.phi[1] == pytest.approx(empty.phi[1])
    assert found.phi[0] == pytest.approx(empty.phi.mean(axis=0))


def test_a_single_root_shows_its_own_words() -> None:
    alone = tree_of((-1, 0, 0), (0.2, 0.5, 0.3))
    assert by_branch(alone).top_words(0, 5).tolist() == alone.top_words(0, 5).tolist()


def test_words_by_relevance_are_ranked_by_its_definition(tree: Tree) -> None:
    corpus = tree.n_tokens @ tree.phi / tree.n_tokens.sum()
    for weight in (0.0, 0.6, 1.0):
        found = by_relevance(tree, weight)
        for node in range(tree.n_nodes):
            score = weight * np.log(tree.phi[node])
            score = score + (1 - weight) * np.log(tree.phi[node] / corpus)
            own = tree.phi[node] * tree.n_tokens[node] >= FEW_TOKENS
            expected = sorted(range(5), key=lambda w: (not own[w], -(score[w] if own[w] else 0)))
            n_own = int(own.sum())
            assert found.top_words(node, n_own).tolist() == expected[:n_own]
    assert (found.phi == tree.phi).all(), "what is shown stays the probability"


def test_words_by_frex_are_ranked_by_its_definition(tree: Tree) -> None:
    found = by_frex(tree)
    exclusive = tree.phi / tree.phi.sum(axis=0)
    for node in range(tree.n_nodes):
        ranks = [
            [sum(other <= value for other in row) / len(row) for value in row]
            for row in (exclusive[node], tree.phi[node])
        ]
        score = [1 / (0.5 / first + 0.5 / second) for first, second in zip(*ranks, strict=True)]
        own = tree.phi[node] * tree.n_tokens[node] >= FEW_TOKENS
        expected = sorted(range(5), key=lambda w: (not own[w], -score[w] if own[w] else 0))
        n_own = int(own.sum())
        assert found.top_words(node, n_own).tolist() == expected[:n_own]


@pytest.mark.parametrize("ranked", [by_relevance, by_frex])
def test_words_that_smoothing_put_there_come_last(ranked: Callable[[Tree], Tree]) -> None:
    """A word with a tenth of a token is exclusive to its node, and no word of it."""
    flat = tree_of((-1, -1), (0.5, 0.5))
    phi = np.array([[0.6, 0.398, 0.002, 0, 0], [0.4, 0.3, 0, 0.2, 0.1]])
    found = ranked(replace(flat, phi=phi))
    assert found.top_words(0, 5).tolist()[2:] == [2, 3, 4]
    assert set(found.top_words(0, 2).tolist()) == {0, 1}
