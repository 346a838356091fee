"""Do like rows stand together? Distances in a run's tree against distances of its rows.

The distance of two rows in a tree is the number of edges between their nodes; that of the rows
themselves is the number of columns in which they differ (for numbers: the sum of differences).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.records import Record
from benchmarks.table import Table
from hiertopics.base.arrays import F64, I32
from hiertopics.corpus.data.tree import ROOT
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir

TABLE = Table(
    ("run",),
    {
        "run": "{run}",
        "rows": "{rows}",
        "nodes": "{nodes}",
        "Spearman": "{spearman:.3f}",
        "draws": "{draws}",
        "Spearman of the mean over draws": "{spearman_of_draws:.3f}",
    },
)


@benchmark("tree-distance", TABLE)
@click.argument("runs", type=options.FOLDER, nargs=-1, required=True)
def measure(runs: tuple[Path, ...]) -> Iterator[Record]:
    """Whether rows that differ more stand further apart in the trees of RUNS (Spearman)."""
    for folder in runs:
        yield {"run": str(folder), **_measure(RunDir.open(folder))}


def _measure(run: RunDir) -> Record:
    """Return Spearman's correlation of the two distances, over all pairs of training rows.

    ``spearman`` is that of the run's tree; ``spearman_of_draws`` takes the mean distance over all
    kept draws.
    """
    assert run.paths is not None
    differing = pdist(read_original(run).train.rows, "cityblock")
    in_tree = edges_between(run.paths.node)
    drawn = [
        edges_between(lineage(tree.parent)[theta.toarray().argmax(axis=1)])
        for tree, theta in run.draws()
    ]
    over_draws = np.mean(drawn, axis=0) if drawn else in_tree
    return {
        "rows": len(run.paths.node),
        "nodes": len(run.tree.shown),
        "draws": len(drawn),
        "spearman": correlation(in_tree, differing),
        "spearman_of_draws": correlation(over_draws, differing),
    }


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
