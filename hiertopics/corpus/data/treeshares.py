"""Shares of documents at and below the nodes of one tree, from any program.

What measures of trees look at: no words, one root, nothing outside. The expected depth of the
lowest common ancestor of a token of one document and a token of another is the sum over the nodes
below the root of the products of their shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Ints
from hiertopics.corpus.data.tree import ROOT, Tree

CELLS = 1 << 21
"""Scores of pairs held at a time: 16 MB."""

ALIKE = 1e-9
"""Two shares of a document that differ by less count as equal: sums are rounded."""

FULL = 0.1
"""A matrix with a larger share of entries that are not 0 is multiplied as a dense one."""


class TreeShares(NamedTuple):
    """One tree and the places of documents in it.

    parent: int32 [n_nodes], parents before children; row 0 is the root and the only one. below:
    float64 CSR [n_docs, n_nodes], the share of each document at and below each node. rows: int64
    [n_nodes], what each row is in the tree that this was made of; -1 for a root added to a forest.
    """

    parent: I32
    below: sparse.csr_array
    rows: I64

    @property
    def branches(self) -> I64:
        """The children of the root: int64 [n], ascending."""
        return np.flatnonzero(self.parent == 0)

    def of_documents(self, docs: Ints) -> TreeShares:
        """Return the same tree with some of the documents, int [n]."""
        return self._replace(below=sparse.csr_array(self.below[docs]))


def ancestry(parent: Ints) -> sparse.csr_array:
    """Return 1 where a column lies at or above a row, float64 [n_nodes, n_nodes]."""
    node = np.arange(len(parent))
    up = node.copy()
    rows, columns = [], []
    while len(node):
        rows.append(node)
        columns.append(up)
        above = np.asarray(parent)[up]
        node, up = node[above != ROOT], above[above != ROOT]
    cells = (np.concatenate(rows), np.concatenate(columns))
    shape = (len(parent), len(parent))
    return sparse.csr_array((np.ones(len(cells[0])), cells), shape=shape)


def tree_shares(tree: Tree, theta: sparse.csr_array) -> TreeShares:
    """Return the shares of documents in a tree; theta: [n_docs, n_nodes], shares at nodes.

    Several roots, such as flat topics, get a root above them. What lies outside the nodes is in no
    node below the root.
    """
    shown = tree.shown
    own = sparse.csr_array(theta)[:, shown]
    place = np.full(tree.n_nodes, ROOT, dtype=np.int32)
    place[shown] = np.arange(len(shown))
    above = tree.parent[shown]
    return forest_shares(np.where(above == ROOT, ROOT, place[above]), own, shown)


def forest_shares(parent: Ints, own: sparse.csr_array, rows: I64) -> TreeShares:
    """Return the shares of documents in a tree; several trees get one root above them.

    parent: [n_nodes], parents before children. own: CSR [n_docs, n_nodes], shares at nodes. rows:
    as of ``TreeShares``.
    """
    if (parent == ROOT).sum() == 1:
        return _with_root(parent.astype(np.int32), own, rows)
    above = np.concatenate([[ROOT], parent + 1]).astype(np.int32)
    empty = sparse.csr_array((own.shape[0], 1))
    own = sparse.csr_array(sparse.hstack([empty, own], format="csr"))
    return _with_root(above, own, np.concatenate([[ROOT], rows]))


def linkage_tree(merges: F64) -> tuple[I32, sparse.csr_array]:
    """Return the parents of a linkage of documents, and theta: each lies at its own leaf.

    merges: as scipy.cluster.hierarchy gives them, [n_docs - 1, 4].
    """
    n_docs = len(merges) + 1
    last = 2 * n_docs - 2
    parent = np.empty(2 * n_docs - 1, dtype=np.int32)
    parent[0] = ROOT
    # The last merge is the root: rows go backwards.
    for row, (left, right) in enumerate(merges[:, :2].astype(np.int64)):
        parent[[last - left, last - right]] = last - (n_docs + row)
    leaves = last - np.arange(n_docs)
    cells = (np.ones(n_docs), (np.arange(n_docs), leaves))
    return parent, sparse.csr_array(cells, shape=(n_docs, len(parent)))


def linkage_shares(merges: F64) -> TreeShares:
    """Return where documents lie in a linkage of them, float64 [n_docs - 1, 4].

    See ``linkage_tree``.
    """
    parent, own = linkage_tree(merges)
    return _with_root(parent, own, np.arange(len(parent)))


def _with_root(parent: I32, own: sparse.csr_array, rows: I64) -> TreeShares:
    below = sparse.csr_array(own @ ancestry(parent))
    return TreeShares(parent, below, rows.astype(np.int64))


def pair_scores(shares: TreeShares) -> Iterator[tuple[int, F64]]:
    """Yield blocks of the scores of all pairs: first document, float64 [n_rows, n_docs].

    A score is the expected depth of the lowest common ancestor of a token of each.
    """
    # The root is above all of them and tells nothing.
    inner = sparse.csr_array(shares.below[:, 1:])
    n_docs = inner.shape[0]
    dense = inner.nnz > FULL * inner.shape[0] * inner.shape[1]
    left = inner.toarray() if dense else inner
    right = np.ascontiguousarray(left.T) if dense else sparse.csr_array(inner.T)
    n_rows = max(1, CELLS // max(n_docs, 1))
    for first in range(0, n_docs, n_rows):
        block = left[first : first + n_rows] @ right
        yield first, np.asarray(block if dense else block.toarray())


def descend(shares: TreeShares, *, settles: bool = False) -> I64:
    """Return the node at which each document ends that always goes to the largest child, [n_docs].

    Of equal children it goes to the first, and where none has a share of it, it stays. settles: it
    also stays at a node below the root that has more of it at itself than at or below any child.
    """
    columns = sparse.csc_array(shares.below)
    order = np.argsort(shares.parent, kind="stable")
    starts = np.searchsorted(shares.parent[order], np.arange(len(shares.parent) + 1))
    at = np.zeros(columns.shape[0], dtype=np.int64)
    here: dict[int, I64] = {0: np.arange(columns.shape[0])}
    for node in range(len(shares.parent)):
        docs, children = here.pop(node, None), order[starts[node] : starts[node + 1]]
        if docs is None:
            continue
        at[docs] = node
        if not len(children):
            continue
        block = columns[:, children].toarray()[docs]
        best = block.argmax(axis=1)
        largest = block[np.arange(len(docs)), best]
        goes = largest > 0
        if settles and node:
            own = columns[:, [node]].toarray()[docs, 0] - block.sum(axis=1)
            goes &= own <= largest + ALIKE
        for child in np.unique(best[goes]).tolist():
            here[int(children[child])] = docs[goes & (best == child)]
    return at


def main_topics(tree: Tree, theta: sparse.csr_array) -> I64:
    """Return the main topic of each document: where its way into the largest child ends, [n_docs].

    theta: [n_docs, n_nodes], shares at nodes. Otherwise as ``main_rows``.
    """
    return main_rows(tree_shares(tree, theta))


def main_rows(shares: TreeShares) -> I64:
    """Return the row of each document's main topic, int64 [n_docs].

    The way into the largest child ends at a node below the root that has more of the document at
    itself than at or below any child. A document outside all nodes is at a single root; -1 where
    there is none.
    """
    return np.asarray(shares.rows[descend(shares, settles=True)])
