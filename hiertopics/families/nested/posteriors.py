"""From chances of path slots to theta over nodes and paths.

A path slot belongs to a node: at the last level it is the path that ends there; above it holds
every path that leaves the tree right below the node (theory/ncrp 2.2).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hiertopics.arrays import F64, Ints
from hiertopics.data.tree import ROOT
from hiertopics.families.nested.slots import ancestors
from hiertopics.model import PathMixture, Paths, Posterior

RARE = 1e-7


def sparse_rows(chances: F64) -> sparse.csr_array:
    """Return chances as CSR without those below ``RARE``, rows summing to 1."""
    rows = sparse.csr_array(np.where(chances > RARE, chances, 0.0))
    rows.data /= np.repeat(np.asarray(rows.sum(axis=1)).ravel(), np.diff(rows.indptr))
    return rows


def place(parent: Ints, depth: int, slot_probs: sparse.csr_array, level_weights: F64) -> Posterior:
    """Return theta over nodes, one last column for what lies outside, and the paths.

    theta of a node is the sum over slots at or below it of the slot's chance times the weight of
    the node's level; levels below a slot are outside. slot_probs: CSR [n_docs, n_nodes].
    level_weights: [nnz, depth], for each entry of slot_probs.
    """
    path = ancestors(parent, depth)
    n_docs, n_nodes = slot_probs.shape
    cells = slot_probs.tocoo()
    doc, slot = cells.coords
    nodes = path[slot]
    columns = np.where(nodes == ROOT, n_nodes, nodes)
    values = cells.data[:, None] * level_weights
    rows = np.repeat(doc, depth)
    shape = (n_docs, n_nodes + 1)
    theta = sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=shape)
    theta.sum_duplicates()
    theta.eliminate_zeros()
    theta.data /= np.repeat(np.asarray(theta.sum(axis=1)).ravel(), np.diff(theta.indptr))
    best = np.zeros(n_docs, dtype=np.int64)
    log_prob = np.zeros(n_docs)
    for doc in range(n_docs):
        row = slice(slot_probs.indptr[doc], slot_probs.indptr[doc + 1])
        winner = int(np.argmax(slot_probs.data[row]))
        best[doc] = slot_probs.indices[row][winner]
        log_prob[doc] = min(np.log(slot_probs.data[row][winner]), 0.0)
    mixture = PathMixture(
        slot_probs.indptr.astype(np.int64),
        path[slot_probs.indices],
        np.minimum(np.log(slot_probs.data), 0.0),
        level_weights,
    )
    return Posterior(theta, Paths(path[best], log_prob), mixture)
