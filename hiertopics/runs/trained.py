"""Theta of training documents as scores need it: with the entries that theta.npz leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64, Ints
from hiertopics.base.made import all_entries
from hiertopics.contract import registry
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.rundir import RunDir

DOCS_AT_ONCE = 1024
"""Documents whose theta is made at a time."""


def is_partial(run: RunDir, theta: sparse.csr_array) -> bool:
    """Tell whether theta, CSR [n_rows, n_nodes], lacks entries that the backend can make again."""
    every = theta.nnz == theta.shape[0] * theta.shape[1]
    return not every and registry.load_for(run.experiment).whole_theta is not None


def whole_rows(run: RunDir, tree: Tree, theta: sparse.csr_array, lengths: Ints) -> sparse.csr_array:
    """Return some rows of theta with every entry, where the backend may leave some out.

    tree: the run's own, or that of a draw. theta: the rows as they are stored, CSR [n_rows,
    n_nodes]. lengths: int [n_rows], training tokens of their documents.
    """
    if not is_partial(run, theta):
        return theta
    complete = registry.load_for(run.experiment).whole_theta
    assert complete is not None
    return all_entries(complete(tree, theta, lengths))


def whole_blocks(
    run: RunDir, tree: Tree, theta: sparse.csr_array
) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Yield which documents each block has, and ``whole_rows`` of them.

    theta: CSR [n_docs, n_nodes], of all training documents, as it is stored. A block has
    ``DOCS_AT_ONCE`` documents or, the last one, fewer.
    """
    lengths = training_lengths(run)
    for first in range(0, theta.shape[0], DOCS_AT_ONCE):
        docs = slice(first, min(first + DOCS_AT_ONCE, theta.shape[0]))
        yield docs, whole_rows(run, tree, sparse.csr_array(theta[docs]), lengths[docs])


def whole_theta(run: RunDir) -> sparse.csr_array:
    """Return theta of the training documents with every entry, CSR [n_docs, n_nodes]."""
    if not is_partial(run, run.theta):
        return run.theta
    blocks = [rows for _, rows in whole_blocks(run, run.tree, run.theta)]
    return sparse.csr_array(sparse.vstack(blocks, "csr"))


def training_lengths(run: RunDir) -> I64:
    """Return the training tokens of each training document, int64 [n_docs].

    Of old runs without them, what a split within documents left for training.
    """
    split = run.split
    if split.train_lengths is not None:
        return split.train_lengths
    return np.asarray(split.observed.sum(axis=1), np.int64).ravel()
