"""Task ``links``: withheld links of a node ranked among nodes that it is not linked to.

Ranked by p(l | j) = theta_j . phi_l under the training theta. I. Sato, K. Kurihara, H. Nakagawa:
Practical collapsed variational Bayes inference for hierarchical Dirichlet process, KDD 2012;
theory/hdp 7.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import seeds
from hiertopics.errors import UsageError
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.request import Request
from hiertopics.scoring.scores import word_chances
from hiertopics.scoring.tasks.graph import BASELINES
from hiertopics.scoring.tasks.ranking import average_precisions, candidates, mean_with_error
from hiertopics.scoring.tasks.result import Result


class Options(NamedTuple):
    """average: rank by the mean of p(l | j) over a sampler's kept draws."""

    average: bool = False


def score(request: Request, options: Options) -> Result:
    """Return ``mean_average_precision`` over the query nodes and its ``standard_error``."""
    run = request.run
    split, links = run.split, run.split.links
    if links is None:
        raise UsageError(f"{run.path} withheld no links; fit with --holdout links:0.2")
    among = candidates(links.positives, links.negatives, seeds.derive(split.seed, "links-ties"))
    precisions = average_precisions(among, _chances(run, links.query, among.pairs, options.average))
    baselines = {
        baseline.__name__: mean_with_error(
            average_precisions(among, baseline(split.observed, links.query, among.pairs))
        )
        for baseline in BASELINES
    }
    return Result(
        metrics=mean_with_error(precisions),
        sizes={
            "n_queries": len(links.query),
            "n_positives": links.positives.nnz,
            "mirror": links.mirror,
        },
        split=split.hash,
        baselines=baselines,
        arrays={"query": links.query, "average_precision": precisions},
    )


def _chances(
    run: RunDir, query: NDArray[np.int64], pairs: sparse.csr_array, average: bool
) -> NDArray[np.float64]:
    """Return p(l | j) of every pair, float64 [nnz]."""
    if not average:
        return word_chances(run.theta[query], run.tree.phi, pairs)
    chances = [word_chances(theta[query], tree.phi, pairs) for tree, theta in run.draws()]
    if not chances:
        raise UsageError(f"{run.path} kept no draws to average over")
    mean: NDArray[np.float64] = np.mean(chances, axis=0)
    return mean
