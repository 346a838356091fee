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

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.distances import correlation, edges_between, lineage
from benchmarks.records import Record
from benchmarks.table import Table
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
