"""Top documents of each node: those with the largest share of tokens at or below it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.tree import ROOT, Tree
from hiertopics.errors import HiertopicsError
from hiertopics.runs.noderows import Documents
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.visible import visible

LEAST = 0.005
"""Smaller shares are printed as 0.00."""

EQUAL = 9
"""Decimals to which two shares must agree to count as equal."""


def documents_of(run: RunDir, tree: Tree, n_docs: int) -> Documents:
    """Return the top training documents of each node of a run's tree, or of it arranged.

    They go by their names in the corpus file; by their numbers in it, from 1, where they have
    none or where the file is gone.
    """
    return top_documents(tree, run.theta, document_names(run), n_docs)


def top_documents(
    tree: Tree, theta: sparse.csr_array, names: Sequence[int | str], n_docs: int
) -> Documents:
    """Return ``(name, share)`` of the ``n_docs`` top documents of each shown node, best first.

    share: sum of theta over the node and all nodes below it. theta: CSR [n_docs, n_nodes], its
    columns are the tree's own ids. Equal shares: the document with more at the node itself
    first, then the earlier one. Documents whose share rounds to 0.00 are left out.
    """
    own = sparse.csc_array(theta @ _columns(tree, theta.shape[1]))
    below = sparse.csc_array(own @ _ancestors(tree))
    found = {}
    for node in tree.shown.tolist():
        cells = slice(below.indptr[node], below.indptr[node + 1])
        docs, shares = below.indices[cells], below.data[cells].round(EQUAL)
        lowest = np.sort(shares)[-n_docs:].min(initial=np.inf)
        leading = (shares >= lowest) & (shares >= LEAST)
        docs, shares = docs[leading], below.data[cells][leading]
        at_node = own[:, [node]].toarray().ravel()[docs].round(EQUAL)
        order = np.lexsort((docs, -at_node, -shares.round(EQUAL)))[:n_docs]
        found[node] = [(names[docs[place]], min(float(shares[place]), 1.0)) for place in order]
    return found


def _columns(tree: Tree, n_columns: int) -> sparse.csr_array:
    """Return which column of theta each row of the tree is, [n_columns, n_nodes]."""
    columns = [(tree.id_of(node), node) for node in range(tree.n_nodes)]
    pairs = np.array([pair for pair in columns if isinstance(pair[0], int)]).reshape(-1, 2)
    shape = (n_columns, tree.n_nodes)
    return sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape)


def _ancestors(tree: Tree) -> sparse.csr_array:
    """Return which nodes lie at or above each, [n_nodes, n_nodes]."""
    pairs: list[tuple[int, int]] = []
    for node in range(tree.n_nodes):
        above = node
        while above != ROOT:
            pairs.append((node, above))
            above = int(tree.parent[above])
    cells: NDArray[np.int64] = np.array(pairs).reshape(-1, 2)
    shape = (tree.n_nodes, tree.n_nodes)
    return sparse.csr_array((np.ones(len(cells)), (cells[:, 0], cells[:, 1])), shape=shape)


def document_names(run: RunDir) -> Sequence[int | str]:
    """Return what the training documents are called: by the run, its corpus, or their numbers."""
    kept = run.documents
    if kept is not None and kept.names is not None:
        return kept.names
    if kept is not None and kept.snippets is not None:  # raw text without names
        return [int(doc) + 1 for doc in run.split.train_docs]
    try:
        names = read_original(run).train.doc_ids
    except HiertopicsError as error:
        print(f"warning: documents go by their numbers: {visible(str(error))}", file=sys.stderr)
        names = None
    return [int(doc) + 1 for doc in run.split.train_docs] if names is None else names
