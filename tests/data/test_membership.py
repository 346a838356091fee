"""Which documents a node has, counted one by one."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.made import all_entries
from hiertopics.corpus.data import membership
from hiertopics.corpus.data.tree import ROOT, Tree

PARENT = (ROOT, 0, 0, 1, 1)
LENGTHS = np.array([10, 4, 2, 0, 8])
THETA = np.array(
    [
        [0.85, 0.0, 0.05, 0.06, 0.04],  # 1 token at and below node 1, of which none is at it
        [0.0, 0.25, 0.75, 0.0, 0.0],  # exactly one token at node 1
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],  # without a token: at no node but a single root
        [0.2, 0.1, 0.0, 0.6, 0.1],
    ]
)
PATH = np.array([[0, 1, 3], [0, 1, 4], [0, 2, -1], [0, -1, -1], [0, 1, 3]], np.int32)


def tree_of(parent: tuple[int, ...]) -> Tree:
    n_nodes = len(parent)
    return Tree(
        phi=np.full((n_nodes, 2), 0.5),
        parent=np.array(parent, np.int32),
        kind=np.zeros(n_nodes, np.int8),
        weight=np.full(n_nodes, 1 / n_nodes),
        n_docs=np.ones(n_nodes, np.int64),
        n_tokens=np.ones(n_nodes),
    )


def below(parent: tuple[int, ...], node: int) -> list[int]:
    """Return a node and all below it."""
    found = [node]
    for child, above in enumerate(parent):
        found += below(parent, child) if above == node else []
    return found


def by_hand(parent: tuple[int, ...]) -> list[list[bool]]:
    """Say document by document where at least one token is; a single root has them all."""
    alone = parent.count(ROOT) == 1
    return [
        [
            (alone and parent[node] == ROOT)
            or THETA[doc, below(parent, node)].sum() * max(LENGTHS[doc], 1) >= 1 - 1e-12
            for node in range(len(parent))
        ]
        for doc in range(len(THETA))
    ]


@pytest.mark.parametrize("parent", [PARENT, (ROOT, ROOT, 0, 1, 1)], ids=["one root", "two roots"])
@pytest.mark.parametrize("block", [2, 100])
def test_documents_that_mix_nodes_have_a_token_at_or_below_them(
    parent: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "BLOCK", block)
    tree, theta, wanted = tree_of(parent), sparse.csr_array(THETA), np.array(by_hand(parent))
    found = membership.branch_members(tree, theta, LENGTHS, None)
    np.testing.assert_array_equal(found.toarray(), wanted)
    some = np.array([3, 0])
    found = membership.branch_members(tree, theta, LENGTHS, None, some)
    np.testing.assert_array_equal(found.toarray(), wanted[:, some])
    counts = membership.branch_counts(tree, theta, LENGTHS, None)
    assert counts.tolist() == wanted.sum(axis=0).tolist()


def test_a_share_of_exactly_one_token_is_enough() -> None:
    shares = sparse.csr_array(np.array([[0.25, 0.75], [0.2, 0.8], [1.0, 0.0]]))
    found = membership.documents_with(shares, np.array([4, 4, 1])).toarray()
    assert found.tolist() == [[True, True], [False, True], [True, False]]


@pytest.mark.parametrize("block", [2, 100])
def test_documents_of_one_path_belong_to_its_nodes(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their shares are."""
    monkeypatch.setattr(membership, "BLOCK", block)
    tree, theta = tree_of(PARENT), sparse.csr_array(THETA)
    wanted = [[node in row for node in range(5)] for row in PATH.tolist()]
    found = membership.branch_members(tree, theta, LENGTHS, PATH)
    assert found.toarray().tolist() == wanted
    counts = [5, 3, 1, 2, 1]
    assert membership.branch_counts(tree, theta, LENGTHS, PATH).tolist() == counts
    assert membership.passing(PATH, 5).tolist() == counts


def test_documents_with_a_share_of_every_node_are_counted_some_at_a_time() -> None:
    """A block takes as little memory if theta stores every entry as if it stores few."""
    rng = np.random.default_rng(0)
    tree = tree_of((ROOT, 0, 0, *rng.integers(0, 3, 297).tolist()))
    rows = rng.dirichlet(np.full(300, 0.1), 12_000)
    theta, lengths = all_entries(rows), rng.integers(1, 9, len(rows))
    tracemalloc.start()
    counts = membership.branch_counts(tree, theta, lengths, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    at_or_below = tree.above.toarray()[:, 1:]
    expected = ((rows @ at_or_below) * lengths[:, None] >= 1).sum(axis=0)
    assert counts[0] == len(rows)
    np.testing.assert_allclose(counts[1:], expected, atol=1)
    assert peak < 1.5 * theta.data.nbytes
