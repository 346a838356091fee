"""Task ``links``: withheld links of a node ranked among nodes that it is not linked to.

Ranked by p(l | j) = theta_j . phi_l under the training theta. I. Sato, K. Kurihara, H. Nakagawa:
Practical collapsed variational Bayes inference for hierarchical Dirichlet process, KDD 2012;
theory/hdp 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.base.stretches import rows_of
from hiertopics.papers.task_baselines import BASELINES
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.request import Metrics, Request, Scorer, TaskResult
from hiertopics.scoring.scores import word_chances


class LinksOptions(NamedTuple):
    """average: rank by the mean of p(l | j) over a sampler's kept draws."""

    average: bool = False


def score(request: Request, options: LinksOptions) -> TaskResult:
    """Return ``mean_average_precision`` over the query nodes and its ``standard_error``.

    Raises UsageError for a run that withheld no links.
    """
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
    return TaskResult(
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


def _chances(run: RunDir, query: I64, pairs: sparse.csr_array, average: bool) -> F64:
    """Return p(l | j) of every pair, float64 [nnz]."""
    if not average:
        return word_chances(run.theta[query], run.tree.phi, pairs)
    chances = [word_chances(theta[query], tree.phi, pairs) for tree, theta in run.draws()]
    if not chances:
        raise UsageError(f"{run.path} kept no draws to average over")
    mean: F64 = np.mean(chances, axis=0)
    return mean


@dataclass(frozen=True)
class Candidates:
    """Positives and negatives of the queries, every query with a positive.

    pairs: CSR [n_queries, n_nodes], column indices sorted; what it stores has no meaning.
    positive: bool [nnz], in the order of its entries. ties: int64 [nnz], a permutation that
    ranks candidates of equal score.
    """

    pairs: sparse.csr_array
    positive: Bools
    ties: I64

    @cached_property
    def rows(self) -> I64:
        """The query of each entry, int64 [nnz]."""
        return rows_of(self.pairs.indptr)


def candidates(
    positives: sparse.csr_array, negatives: sparse.csr_array, rng: np.random.Generator
) -> Candidates:
    """Put the positives and negatives of each query together, both CSR [n_queries, n_nodes]."""
    pairs = sparse.csr_array(positives.astype(bool) * 1 + negatives.astype(bool) * 2)
    pairs.sort_indices()
    return Candidates(pairs, pairs.data == 1, rng.permutation(pairs.nnz))


def average_precisions(among: Candidates, scores: F64) -> F64:
    """Return for each query the mean over its positives of the precision at their rank.

    scores: float64 [nnz], large ones first.
    """
    n_queries, rows = among.pairs.shape[0], among.rows
    order = np.lexsort((among.ties, -scores, rows))
    hit = among.positive[order]
    starts = among.pairs.indptr[rows]
    seen = np.cumsum(hit)
    hits = seen - np.concatenate([[0], seen])[starts]
    precision = hits / (np.arange(len(rows)) - starts + 1)
    summed = np.bincount(rows, precision * hit, minlength=n_queries)
    mean: F64 = summed / np.bincount(rows, hit, minlength=n_queries)
    return mean


def mean_with_error(values: F64) -> Metrics:
    """Return the mean over queries and its standard error (None for a single query).

    values: float64 [n_queries].
    """
    n_queries = len(values)
    error = float(values.std(ddof=1) / np.sqrt(n_queries)) if n_queries > 1 else None
    return {"mean_average_precision": float(values.mean()), "standard_error": error}


task = Scorer(LinksOptions, score)
