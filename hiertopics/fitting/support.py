"""How sure a sampler is of the nodes of its tree: the support of each node's split by the draws.

A node splits the documents into those whose path passes it and the rest. On real corpora no two
draws have a node of exactly the same documents, so support is graded by the transfer distance: how
many documents would have to be moved (F. Lemoine et al.: Renewing Felsenstein's phylogenetic
bootstrap in the era of big data, Nature 2018, here for rooted trees).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def split_probability(
    path: NDArray[np.integer], n_nodes: int, draws: Iterable[NDArray[np.integer]]
) -> NDArray[np.float64] | None:
    """Return the mean support of each node over draws, float64 [n_nodes]; None without draws.

    path: [n_docs, L], the nodes on each document's path, padded with -1. draws: likewise, each
    over node numbers of its own, the documents in the same order.

    A node of n documents out of D, whose nearest node of a draw differs from it in d documents,
    has the support max(0, 1 - d / (min(n, D - n) - 1)) by this draw, and 1 where d = 0.
    """
    mine = _passing(path, n_nodes)
    smaller = np.asarray(mine.sum(axis=0)).ravel()
    smaller = np.minimum(smaller, len(path) - smaller)
    room = np.maximum(smaller - 1, 1)
    total, n_draws = np.zeros(n_nodes), 0
    for drawn in draws:
        total += np.clip(1.0 - _nearest(mine, _passing(drawn)) / room, 0.0, 1.0)
        n_draws += 1
    return total / n_draws if n_draws else None


def _passing(path: NDArray[np.integer], n_nodes: int | None = None) -> sparse.csc_array:
    """Return which documents pass which node, int64 [n_docs, n_nodes], one where they do."""
    doc, level = np.nonzero(path >= 0)
    node = path[doc, level]
    n_columns = int(node.max(initial=-1)) + 1 if n_nodes is None else n_nodes
    ones = np.ones(len(doc), dtype=np.int64)
    return sparse.csc_array((ones, (doc, node)), shape=(len(path), n_columns))


def _nearest(mine: sparse.csc_array, theirs: sparse.csc_array) -> NDArray[np.int64]:
    """Return how many documents each of my nodes differs in from the nearest of theirs.

    A node of theirs without a document in common is farther than the smaller side of any split,
    as are all documents: that number stands where there is none in common.
    """
    common = (mine.T @ theirs).tocoo()
    node, other = common.coords
    n_mine, n_theirs = (np.asarray(passing.sum(axis=0)).ravel() for passing in (mine, theirs))
    distance = n_mine[node] + n_theirs[other] - 2 * common.data
    nearest = np.full(mine.shape[1], mine.shape[0])
    np.minimum.at(nearest, node, distance)
    return nearest
