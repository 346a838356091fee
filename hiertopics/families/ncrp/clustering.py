"""Clusters of documents, from which a tree can start: spherical k-means on weighted counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ROUNDS = 10
DOCS_PER_LEAF, MOST_LEAVES = 4, 450


def nested_clusters(
    counts: sparse.csr_array, depth: int, n_leaves: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return clusters of documents, clusters of those, and so on up, int [n_docs, depth - 1].

    Columns run from the level below the root down to the leaves; names are unique within a level.
    """
    rows = weighted_rows(counts)
    labels = cluster(rows, n_leaves, rng)
    paths = [labels]
    for level in range(depth - 2, 0, -1):
        n_clusters = max(1, round(n_leaves ** np.sqrt(level / (depth - 1))))
        rows = unit_rows(sums_of(rows, labels, int(labels.max(initial=0)) + 1))
        labels = above = cluster(rows, n_clusters, rng)
        paths.insert(0, above[paths[0]])
    return np.column_stack(paths)


def leaves_for(n_docs: int) -> int:
    """Return the number of leaves with which a tree for ``n_docs`` documents starts."""
    return int(np.clip(n_docs // DOCS_PER_LEAF, 1, MOST_LEAVES))


def weighted_rows(counts: sparse.csr_array) -> sparse.csr_array:
    """Return rows of log(1 + count) times inverse document frequency, of length 1 (or 0)."""
    n_docs = counts.shape[0]
    n_with = np.bincount(counts.indices, minlength=counts.shape[1])
    values = np.log1p(counts.data) * np.log((1.0 + n_docs) / (1.0 + n_with))[counts.indices]
    rows = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    return unit_rows(rows)


def cluster(rows: sparse.csr_array, n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a cluster per row, int64 in 0 .. n_used, none of them empty (spherical k-means).

    It starts from ``n_clusters`` rows far apart; clusters that run empty go.
    """
    n_rows = rows.shape[0]
    if n_rows == 0:
        return np.zeros(0, dtype=np.int64)
    centres = rows[_spread_seeds(rows, min(n_clusters, n_rows), rng)]
    labels = np.full(n_rows, -1)
    for _ in range(ROUNDS):
        found = np.argmax((rows @ centres.T).toarray(), axis=1)
        if (found == labels).all():
            break
        labels = found
        n_used = len(np.unique(labels))
        labels = np.unique(labels, return_inverse=True)[1].ravel()
        centres = unit_rows(sums_of(rows, labels, n_used))
    return labels.astype(np.int64)


def _spread_seeds(
    rows: sparse.csr_array, n_seeds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
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


def sums_of(
    rows: sparse.csr_array, labels: NDArray[np.integer], n_clusters: int
) -> sparse.csr_array:
    """Return the sum of the rows of each cluster, CSR [n_clusters, n_columns]."""
    n_rows = rows.shape[0]
    members = sparse.csr_array(
        (np.ones(n_rows), (labels, np.arange(n_rows))), shape=(n_clusters, n_rows)
    )
    return sparse.csr_array(members @ rows)


def unit_rows(rows: sparse.csr_array) -> sparse.csr_array:
    """Return the rows scaled to length 1; rows of zeros stay."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.repeat(1.0 / np.where(norms > 0, norms, 1.0), np.diff(rows.indptr))
    return sparse.csr_array((rows.data * scale, rows.indices, rows.indptr), shape=rows.shape)
