"""Clusters of documents, from which a tree can start: spherical k-means on weighted counts.

Of a large corpus a random part is clustered; its other documents join the nearest leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Ints
from hiertopics.base.stretches import ends_of

ROUNDS = 10
DOCS_PER_LEAF, MOST_LEAVES = 4, 450

MOST_PAIRS = 1 << 22
"""Pairs of documents and words that are clustered."""

CELLS = 1 << 20
"""Likenesses of documents and clusters, or pairs, that are in memory at a time."""

CountsOf = Callable[[I64], sparse.csr_array]
"""From numbers of documents to their counts, float64."""


def branches_of(
    counts_of: CountsOf, doc_pairs: I64, depth: int, n_leaves: int, rng: np.random.Generator
) -> I64:
    """Return ``nested_clusters`` of all documents, [n_docs, depth - 1].

    doc_pairs: int64 [n_docs], pairs of each. Where they are more than ``MOST_PAIRS``, clusters are
    those of random documents, and the others are on the leaf whose documents are most like them.
    """
    n_docs = len(doc_pairs)
    if doc_pairs.sum() <= MOST_PAIRS:
        return nested_clusters(counts_of(np.arange(n_docs)), depth, n_leaves, rng)
    docs = some_of(doc_pairs, rng)
    counts = counts_of(docs)
    branch = nested_clusters(counts, depth, n_leaves, rng)
    importance = importance_of(_n_with(counts), len(docs))
    rows = _weighted(counts, importance)
    del counts
    leaf = _joined(counts_of, doc_pairs, importance, rows, branch[:, -1])
    leaf[docs] = branch[:, -1]
    way = np.empty((int(branch[:, -1].max()) + 1, depth - 1), np.int64)
    way[branch[:, -1]] = branch
    return way[leaf]


def in_two(counts_of: CountsOf, doc_pairs: I64, importance: F64, rng: np.random.Generator) -> I64:
    """Return the cluster of each document, int64 [n_docs]; 0 for all if there is one cluster.

    doc_pairs as in ``branches_of``, above ``MOST_PAIRS`` clusters are those of random documents,
    too. importance: float64 [n_words], see ``importance_of``.
    """
    if doc_pairs.sum() <= MOST_PAIRS:
        return cluster(_weighted(counts_of(np.arange(len(doc_pairs))), importance), 2, rng)
    docs = some_of(doc_pairs, rng)
    rows = _weighted(counts_of(docs), importance)
    labels = cluster(rows, 2, rng)
    found = _joined(counts_of, doc_pairs, importance, rows, labels)
    found[docs] = labels
    return found


def some_of(doc_pairs: I64, rng: np.random.Generator) -> I64:
    """Return random documents with at most ``MOST_PAIRS`` pairs, at least one.

    int64 [n], ascending. doc_pairs: int64 [n_docs].
    """
    order = rng.permutation(len(doc_pairs))
    n_some = int(np.searchsorted(np.cumsum(doc_pairs[order]), MOST_PAIRS, side="right"))
    return np.sort(order[: max(1, n_some)])


def _joined(
    counts_of: CountsOf, doc_pairs: I64, importance: F64, rows: sparse.csr_array, labels: I64
) -> I64:
    """Return the cluster that each document is most like; labels: the clusters of ``rows``."""
    centres = unit_rows(sums_of(rows, labels, int(labels.max()) + 1))
    found, ends = np.empty(len(doc_pairs), np.int64), ends_of(doc_pairs)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1] + CELLS, CELLS))
    for first, last in pairwise(np.unique(np.minimum(cuts, len(found))).tolist()):
        own = _weighted(counts_of(np.arange(first, last)), importance)
        found[first:last] = nearest(own, centres)
    return found


def nested_clusters(
    counts: sparse.csr_array, depth: int, n_leaves: int, rng: np.random.Generator
) -> I64:
    """Return clusters of documents, clusters of clusters, and so on, int [n_docs, depth - 1].

    Columns run from the level below the root down to the leaves; names are unique within a level.
    """
    rows = weighted_rows(counts)
    labels = cluster(rows, n_leaves, rng)
    paths = [labels]
    for n_clusters in widths(depth, n_leaves)[-2::-1]:
        rows = unit_rows(sums_of(rows, labels, int(labels.max(initial=0)) + 1))
        labels = above = cluster(rows, n_clusters, rng)
        paths.insert(0, above[paths[0]])
    return np.column_stack(paths)


def widths(depth: int, n_leaves: int) -> list[int]:
    """Return the number of clusters at each level below the root."""
    shares = (np.sqrt(level / (depth - 1)) for level in range(1, depth))
    return [max(1, round(n_leaves**share)) for share in shares]


def leaves_for(n_docs: int) -> int:
    """Return the number of leaves with which a tree for ``n_docs`` documents starts."""
    return int(np.clip(n_docs // DOCS_PER_LEAF, 1, MOST_LEAVES))


def weighted_rows(counts: sparse.csr_array) -> sparse.csr_array:
    """Return rows of log(1 + count) times inverse document frequency, of length 1 (or 0).

    Both float CSR [n_docs, n_words].
    """
    return _weighted(counts, importance_of(_n_with(counts), counts.shape[0]))


def importance_of(n_with: I64, n_docs: int) -> F64:
    """Return the logarithm of each word's inverse document frequency, float64 [n_words].

    n_with: int64 [n_words], documents with each word.
    """
    return np.asarray(np.log((1.0 + n_docs) / (1.0 + n_with)))


def _n_with(counts: sparse.csr_array) -> I64:
    return np.bincount(counts.indices, minlength=counts.shape[1])


def _weighted(counts: sparse.csr_array, importance: F64) -> sparse.csr_array:
    values = np.log1p(counts.data) * importance[counts.indices]
    rows = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    return unit_rows(rows)


def cluster(rows: sparse.csr_array, n_clusters: int, rng: np.random.Generator) -> I64:
    """Return a cluster per row, int64 [n_rows] in 0 .. n_used - 1, none empty (spherical k-means).

    rows: CSR [n_rows, n_columns], of length 1 or 0. It starts from ``n_clusters`` rows far apart;
    clusters that run empty go.
    """
    n_rows = rows.shape[0]
    if n_rows == 0:
        return np.zeros(0, dtype=np.int64)
    centres = rows[_spread_seeds(rows, min(n_clusters, n_rows), rng)]
    labels = np.full(n_rows, -1)
    for _ in range(ROUNDS):
        found = nearest(rows, centres)
        if (found == labels).all():
            break
        labels = found
        n_used = len(np.unique(labels))
        labels = np.unique(labels, return_inverse=True)[1].ravel()
        centres = unit_rows(sums_of(rows, labels, n_used))
    return labels.astype(np.int64)


def nearest(rows: sparse.csr_array, centres: sparse.csr_array) -> I64:
    """Return which of the centres is most like each row, int64 [n_rows]."""
    across, step = sparse.csr_array(centres.T), max(1, CELLS // centres.shape[0])
    found = np.empty(rows.shape[0], np.int64)
    for first in range(0, len(found), step):
        some = slice(first, first + step)
        found[some] = np.argmax((rows[some] @ across).toarray(), axis=1)
    return found


def _spread_seeds(rows: sparse.csr_array, n_seeds: int, rng: np.random.Generator) -> I64:
    """Draw rows one by one, by their squared distance to the nearest drawn so far (k-means++)."""
    n_rows = rows.shape[0]
    seeds = [int(rng.integers(n_rows))]
    nearest, empty = np.zeros(n_rows), np.diff(rows.indptr) == 0
    while len(seeds) < n_seeds:
        latest = rows[[seeds[-1]]].toarray().ravel()
        nearest = np.maximum(nearest, rows @ latest)
        distance = np.maximum(1.0 - nearest, 0.0)
        distance[seeds] = 0.0
        distance[empty] = 0.0
        total = distance.sum()
        if total <= 0:
            break
        drawn = int(np.searchsorted(np.cumsum(distance), rng.random() * total))
        seeds.append(min(drawn, n_rows - 1))
    return np.array(sorted(set(seeds)))


def sums_of(rows: sparse.csr_array, labels: Ints, n_clusters: int) -> sparse.csr_array:
    """Return the sum of the rows of each cluster, CSR [n_clusters, n_columns]."""
    n_rows = rows.shape[0]
    members = sparse.csr_array(
        (np.ones(n_rows), (labels, np.arange(n_rows))), shape=(n_clusters, n_rows)
    )
    return sparse.csr_array(members @ rows)


def unit_rows(rows: sparse.csr_array) -> sparse.csr_array:
    """Return the rows, CSR [n_rows, n_columns], scaled to length 1; rows of zeros stay."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.repeat(1.0 / np.where(norms > 0, norms, 1.0), np.diff(rows.indptr))
    return sparse.csr_array((rows.data * scale, rows.indices, rows.indptr), shape=rows.shape)
