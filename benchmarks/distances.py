"""Distances between the nodes of a tree, and the correlation of two kinds of distances."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from hiertopics.arrays import F64, I32
from hiertopics.data.tree import ROOT


def correlation(first: F64, second: F64) -> float:
    """Return Spearman's correlation; 0 where one of the two is constant."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(spearmanr(first, second).statistic)


def edges_between(paths: I32) -> F64:
    """Return the edges between the last nodes of each two paths, as ``pdist`` orders pairs.

    paths: int32 [n_rows, L], from a root down, padded with -1.
    """
    depth = (paths >= 0).sum(axis=1)
    first, second = np.triu_indices(len(paths), 1)
    agree = (paths[first] == paths[second]) & (paths[first] >= 0)
    shared = np.cumprod(agree, axis=1).sum(axis=1)
    return np.asarray(depth[first] + depth[second] - 2.0 * shared)


def lineage(parent: I32) -> I32:
    """Return the path to each node, int32 [n_nodes, L], padded with -1; parents come first."""
    path = np.full((len(parent), len(parent)), ROOT, dtype=np.int32)
    depth = np.zeros(len(parent), dtype=np.int64)
    for node, above in enumerate(parent.tolist()):
        if above != ROOT:
            path[node] = path[above]
            depth[node] = depth[above] + 1
        path[node, depth[node]] = node
    return path[:, : depth.max() + 1]
