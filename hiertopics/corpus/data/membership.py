"""The documents of a node: the rule behind every number of documents (docs/runs.md).

A document belongs to a node that its path passes. Where documents mix nodes, it belongs to a node
where at least one of its tokens is expected at or below it. A single root has every document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Ints
from hiertopics.base.stretches import ends_of, rows_of, stretches
from hiertopics.corpus.data.tree import ROOT, Tree

BLOCK = 1 << 13
"""Documents whose shares are looked at together, at most."""

ENTRIES = 1 << 19
"""Shares that are looked at together, a document with more apart: 6 MB, and 30 MB beside them."""


def documents_with(shares: sparse.csr_array, doc_lengths: Ints | F64) -> sparse.csr_array:
    """Return the documents with a token's share of each column, bool CSR [n_docs, n_columns].

    shares: float64 CSR [n_docs, n_columns]. doc_lengths: [n_docs], in tokens.
    """
    docs = rows_of(shares.indptr)
    enough = shares.data >= 1.0 / np.maximum(doc_lengths, 1)[docs]
    ends = ends_of(enough)[shares.indptr]
    cells = (np.ones(int(ends[-1]), dtype=bool), shares.indices[enough], ends)
    return sparse.csr_array(cells, shape=shares.shape)


def passing(path: I32, n_nodes: int) -> I64:
    """Return how many documents pass each node, int64 [n_nodes].

    path: int32 [n_docs, L], the nodes on each document's path, padded with -1.
    """
    counts = np.zeros(n_nodes, np.int64)
    for first in range(0, len(path), BLOCK):
        some = path[first : first + BLOCK]
        counts += np.bincount(some[some >= 0], minlength=n_nodes)
    return counts


def branch_members(
    tree: Tree,
    theta: sparse.csr_array,
    doc_lengths: I64,
    path: I32 | None,
    nodes: I64 | None = None,
) -> sparse.csr_array:
    """Return which documents belong to which of ``nodes``, bool CSR [n_docs, len(nodes)].

    theta: float64 CSR [n_docs, n_nodes]. doc_lengths: int64 [n_docs]. path: as of ``passing``; None
    where documents mix nodes. nodes: rows of the tree; None: all of them.
    """
    n_docs, chosen = theta.shape[0], np.arange(tree.n_nodes) if nodes is None else nodes
    if path is None:
        members = documents_with(sparse.csr_array(theta @ tree.above[:, chosen]), doc_lengths)
    else:
        docs, levels = np.nonzero(path >= 0)
        cells = (np.ones(len(docs), dtype=bool), (docs, path[docs, levels]))
        members = sparse.csr_array(cells, shape=(n_docs, tree.n_nodes))[:, chosen]
    roots = np.flatnonzero(chosen == single_root(tree))
    if len(roots):
        cells = (np.ones(n_docs, dtype=bool), (np.arange(n_docs), np.full(n_docs, roots[0])))
        members = members.maximum(sparse.csr_array(cells, shape=members.shape))
    return sparse.csr_array(members)


def branch_counts(tree: Tree, theta: sparse.csr_array, doc_lengths: I64, path: I32 | None) -> I64:
    """Return how many documents each node has, int64 [n_nodes]; the arguments of the members."""
    return counts_of_blocks(tree, blocks_of(theta), doc_lengths, path)


def blocks_of(shares: sparse.csr_array, entries: int | None = None) -> Iterator[sparse.csr_array]:
    """Yield rows of shares, CSR [n_docs, n_nodes], some documents after the other.

    entries: together, at most.
    """
    ends = shares.indptr.astype(np.int64)
    for first, last in stretches(ends, entries or ENTRIES, BLOCK):
        yield sparse.csr_array(shares[first:last])


def counts_of_blocks(
    tree: Tree, blocks: Iterable[sparse.csr_array], doc_lengths: I64, path: I32 | None
) -> I64:
    """Return the ``branch_counts``, int64 [n_nodes], of a theta that comes in blocks of rows.

    doc_lengths: int64 [n_docs]. path: int32 [n_docs, L] or None.
    """
    counts, first = np.zeros(tree.n_nodes, dtype=np.int64), 0
    for block in blocks:
        rows = slice(first, first + block.shape[0])
        own = path if path is None else path[rows]
        members = branch_members(tree, block, doc_lengths[rows], own)
        counts += np.bincount(members.indices, minlength=tree.n_nodes)
        first = rows.stop
    return counts


def columns_of(tree: Tree, n_columns: int) -> sparse.csr_array:
    """Return which column of theta each row of a tree is, float64 CSR [n_columns, n_nodes].

    A tree that was arranged after the fit has other rows than theta has columns.
    """
    columns = [(tree.id_of(node), node) for node in range(tree.n_nodes)]
    pairs = np.array([pair for pair in columns if isinstance(pair[0], int)]).reshape(-1, 2)
    shape = (n_columns, tree.n_nodes)
    return sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape)


def single_root(tree: Tree) -> int:
    """Return the root of a tree with a single root and nodes below it; otherwise -1."""
    roots = tree.shown[tree.parent[tree.shown] == ROOT]
    return int(roots[0]) if len(roots) == 1 and len(tree.shown) > 1 else ROOT
