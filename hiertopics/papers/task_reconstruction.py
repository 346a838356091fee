"""Task ``reconstruction``: how far rows lie from the space of the vectors on their best path.

The squared Euclidean distance per row, beside that to the space of as many principal components.
C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009,
table 2; theory/ncrp 7.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.holdouts.split import hash_of_file
from hiertopics.runs import newdocs, unseen
from hiertopics.runs.original import read_original
from hiertopics.scoring.request import Request, Scorer, TaskResult


class ReconstructionOptions(NamedTuple):
    """corpus: the rows of this file, not those of the training."""

    corpus: Path | str | None = None


def score(request: Request, options: ReconstructionOptions) -> TaskResult:
    """Return ``mean_squared_error`` over rows, and that of as many principal components.

    Paths of new rows come from local steps with the tree held fixed; PCA has its mean and axes
    from the training rows. Raises UsageError where there is no row.
    """
    run = request.run
    train = read_original(run).train
    if options.corpus is None:
        rows, paths, code = train.rows, run.paths, run.split.hash
    else:
        new = unseen.read_matched(run, options.corpus, request.data).corpus
        paths = newdocs.infer_theta(run, new, engine=request.engine).paths
        rows, code = new.rows, hash_of_file(new)
    if not len(rows):
        raise UsageError("there is no row to reconstruct")
    assert paths is not None
    squared = squared_distances(rows, run.tree, paths.node)
    baseline = pca_squared_distances(rows, train.rows, paths.node.shape[1])
    pca = float(baseline.mean())
    return TaskResult(
        metrics={"mean_squared_error": float(squared.mean()), "pca_mean_squared_error": pca},
        sizes={"n_docs": len(rows), "n_nodes": len(run.tree.shown)},
        split=code,
        baselines={"pca": {"mean_squared_error": pca}},
        arrays={"path": paths.node, "squared_error": squared, "pca_squared_error": baseline},
    )


def squared_distances(rows: F64, tree: Tree, paths: I32) -> F64:
    """Return the squared distance of each row to the space of the vectors on its path.

    paths: [n_docs, L], padded with -1 for levels outside the tree. Returns float64 [n_docs].
    """
    vectors = tree.vectors
    assert vectors is not None
    centred = rows - tree.extra["mu"]
    squared = np.empty(len(rows))
    distinct, kind = np.unique(paths, axis=0, return_inverse=True)
    for place, path in enumerate(distinct):
        mine = kind.ravel() == place
        axes = vectors[path[path >= 0]].T
        fitted = axes @ np.linalg.lstsq(axes, centred[mine].T, rcond=None)[0]
        squared[mine] = ((centred[mine] - fitted.T) ** 2).sum(axis=1)
    return squared


def pca_squared_distances(rows: F64, train: F64, n_components: int) -> F64:
    """Return the squared distance of each row to the leading principal components of ``train``.

    float64 [n_rows]. rows, train: float64 [n_rows, n_columns], each with its own number of rows.
    """
    centre = train.mean(axis=0)
    _, _, axes = np.linalg.svd(train - centre, full_matrices=False)
    leading = axes[:n_components]
    centred = rows - centre
    rest = centred - (centred @ leading.T) @ leading
    squared: F64 = (rest**2).sum(axis=1)
    return squared


task = Scorer(ReconstructionOptions, score, ("vectors",))
