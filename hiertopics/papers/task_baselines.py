"""Baselines of tasks: scores that need no topics.

Of a pair of nodes, from the training links themselves; of documents, by TF-IDF vectors; of labels,
by one-vs-rest logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.stretches import rows_of

QUERIES = 128
"""Rows of a product of adjacency matrices held at a time."""

MAX_STEPS = 1000

Score = Callable[[sparse.csr_array, I64, sparse.csr_array], F64]
"""Takes the training counts [n_nodes, n_nodes], the queries and the pairs [n_queries, n_nodes];
gives one number per entry of the pairs."""


def random(training: sparse.csr_array, query: I64, pairs: sparse.csr_array) -> F64:
    """Return the same score for every pair, so that ties decide.

    float64 [n_pairs], as all baselines. training: CSR [n_nodes, n_nodes], a bag in each row. query:
    int64 [n_queries], rows of it. pairs: CSR [n_queries, n_nodes], the nodes to score.
    """
    return np.zeros(pairs.nnz)


def popularity(training: sparse.csr_array, query: I64, pairs: sparse.csr_array) -> F64:
    """Return in how many training bags the node is; arrays as of ``random``, float64 [n_pairs]."""
    found: F64 = _degrees(training)[pairs.indices]
    return found


def mirror_lookup(training: sparse.csr_array, query: I64, pairs: sparse.csr_array) -> F64:
    """Return 1 where the query is in the training bag of the node, else 0: float64 [n_pairs].

    Arrays as of ``random``.
    """
    return _values_at(_pattern(sparse.csr_array(training.T))[query], pairs)


def common_neighbours(training: sparse.csr_array, query: I64, pairs: sparse.csr_array) -> F64:
    """Return how many nodes the bags of query and node share: float64 [n_pairs].

    Arrays as of ``random``.
    """
    return _shared(training, query, pairs, np.ones(training.shape[1]))


def adamic_adar(training: sparse.csr_array, query: I64, pairs: sparse.csr_array) -> F64:
    """Return the sum over shared nodes of 1 / log(degree).

    float64 [n_pairs]; arrays as of ``random``. L. Adamic, E. Adar: Friends and neighbors on the
    Web, Social Networks 25 (2003).
    """
    # What two bags share has a degree of 2 at least; the others count nowhere.
    weight = 1 / np.log(np.maximum(_degrees(training), 2))
    return _shared(training, query, pairs, weight)


BASELINES: tuple[Score, ...] = (random, popularity, mirror_lookup, common_neighbours, adamic_adar)


def _shared(training: sparse.csr_array, query: I64, pairs: sparse.csr_array, weight: F64) -> F64:
    bags = _pattern(training)
    weighted = bags.copy()
    weighted.data = weight[bags.indices]
    holders = sparse.csr_array(bags.T)
    found = []
    for first in range(0, len(query), QUERIES):
        block = slice(first, first + QUERIES)
        product = sparse.csr_array(weighted[query[block]] @ holders)
        product.sort_indices()
        found.append(_values_at(product, pairs[block]))
    return np.concatenate(found)


def _values_at(matrix: sparse.csr_array, pairs: sparse.csr_array) -> F64:
    """Return the values of ``matrix`` at the entries of ``pairs``; both have sorted indices."""
    keys, wanted = _keys(matrix), _keys(pairs)
    place = np.searchsorted(keys, wanted)
    values = np.append(matrix.data, 0.0)
    found: F64 = np.where(np.append(keys, -1)[place] == wanted, values[place], 0.0)
    return found


def _keys(matrix: sparse.csr_array) -> I64:
    rows = rows_of(matrix.indptr)
    keys: I64 = rows * matrix.shape[1] + matrix.indices
    return keys


def _pattern(counts: sparse.csr_array) -> sparse.csr_array:
    pattern = sparse.csr_array(counts.astype(bool).astype(np.float64))
    pattern.sort_indices()
    return pattern


def _degrees(training: sparse.csr_array) -> F64:
    return np.bincount(training.indices, minlength=training.shape[1]).astype(np.float64)


def logistic_scores(
    train: sparse.csr_array, labels: Bools, test: sparse.csr_array
) -> tuple[F64, F64]:
    """Return p(label) of training and test documents [n_docs, n_labels], each label by itself.

    labels: bool [n_train, n_labels]; one that all or no training documents have keeps that share.
    The counts of words are the features.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    sides = [_features(counts) for counts in (train, test)]
    found = [np.tile(labels.mean(axis=0), (side.shape[0], 1)) for side in sides]
    for label in np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0)):
        model = LogisticRegression(solver="liblinear", max_iter=MAX_STEPS)
        model.fit(sides[0], labels[:, label])
        for scores, side in zip(found, sides, strict=True):
            scores[:, label] = model.predict_proba(side)[:, 1]
    return found[0], found[1]


def _features(counts: sparse.csr_array) -> sparse.csr_matrix:
    """Return counts as scikit-learn takes them: with indices of 32 bits."""
    places = (counts.indices.astype(np.int32), counts.indptr.astype(np.int32))
    return sparse.csr_matrix((counts.data.astype(np.float64), *places), shape=counts.shape)
