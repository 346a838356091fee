"""Classification by the nearest of labelled unit vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

CELLS = 1 << 21
"""Similarities held at a time: 16 MB."""

FULL = 1 / 3
"""A matrix with a larger share of stored entries is multiplied faster when it is dense."""


class Predicted(NamedTuple):
    """Label ids of the test rows, int64 [n_test]: by majority vote, and of the nearest alone."""

    by_vote: NDArray[np.int64]
    by_nearest: NDArray[np.int64]


def predict(
    test: sparse.csr_array,
    train: sparse.csr_array,
    labels: NDArray[np.int64],
    k: int,
    rng: np.random.Generator,
) -> Predicted:
    """Label each row of ``test`` by the ``k`` rows of ``train`` with the largest inner product.

    Rows are unit vectors (or zero), so that this is a ranking by distance too. Equal votes go to
    the label with the larger summed similarity; rows at equal distance stand in an order drawn
    by ``rng``, never in that of the corpus.
    """
    order = rng.permutation(train.shape[0])
    shuffled = labels[order]
    votes, nearest = [], []
    for similarity in _similarities(test, sparse.csr_array(train[order])):
        near = _nearest(similarity, k)
        found = shuffled[near]
        votes.append(_vote(found, np.take_along_axis(similarity, near, axis=1)))
        nearest.append(found[:, 0])
    return Predicted(np.concatenate(votes), np.concatenate(nearest))


def _similarities(test: sparse.csr_array, train: sparse.csr_array) -> Iterator[NDArray[np.float64]]:
    """Yield inner products block by block, float64 [n_rows, n_train]."""
    dense = train.nnz > FULL * train.shape[0] * train.shape[1]
    columns = np.ascontiguousarray(train.toarray().T) if dense else sparse.csr_array(train.T)
    n_rows = max(1, CELLS // train.shape[0])
    for first in range(0, test.shape[0], n_rows):
        block = test[first : first + n_rows]
        yield block.toarray() @ columns if dense else (block @ columns).toarray()


def _nearest(similarity: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the columns of the ``k`` largest of each row, largest first, ties by column."""
    n_rows, n_columns = similarity.shape
    least = np.partition(similarity, n_columns - k, axis=1)[:, n_columns - k]
    rows, columns = np.nonzero(similarity >= least[:, None])
    ranked = np.lexsort((columns, -similarity[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(n_rows))
    near: NDArray[np.int64] = columns[ranked[starts[:, None] + np.arange(k)]]
    return near


def _vote(found: NDArray[np.int64], similarity: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the label of most neighbours of each row; found: label ids [n_rows, k]."""
    n_labels = int(found.max()) + 1
    place = np.arange(len(found))[:, None] * n_labels + found
    n_votes = np.bincount(place.ravel())[place]
    summed = np.bincount(place.ravel(), similarity.ravel())[place]
    # The sort is stable: a label that ties in both wins by its nearest neighbour.
    best = np.lexsort((-summed, -n_votes), axis=1)[:, :1]
    winner: NDArray[np.int64] = np.take_along_axis(found, best, axis=1)[:, 0]
    return winner
