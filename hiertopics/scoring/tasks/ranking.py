"""Candidates ranked for each query, and how well the positives among them are placed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.scoring.tasks.result import Metrics


@dataclass(frozen=True)
class Candidates:
    """Positives and negatives of the queries, every query with a positive.

    pairs: CSR [n_queries, n_nodes], column indices sorted; what it stores has no meaning.
    positive: bool [nnz], in the order of its entries. ties: int64 [nnz], a permutation that
    ranks candidates of equal score.
    """

    pairs: sparse.csr_array
    positive: NDArray[np.bool_]
    ties: NDArray[np.int64]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The query of each entry, int64 [nnz]."""
        return np.repeat(np.arange(self.pairs.shape[0]), np.diff(self.pairs.indptr))


def candidates(
    positives: sparse.csr_array, negatives: sparse.csr_array, rng: np.random.Generator
) -> Candidates:
    """Put the positives and negatives of each query together."""
    pairs = sparse.csr_array(positives.astype(bool) * 1 + negatives.astype(bool) * 2)
    pairs.sort_indices()
    return Candidates(pairs, pairs.data == 1, rng.permutation(pairs.nnz))


def average_precisions(among: Candidates, scores: NDArray[np.float64]) -> NDArray[np.float64]:
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
    mean: NDArray[np.float64] = summed / np.bincount(rows, hit, minlength=n_queries)
    return mean


def mean_with_error(values: NDArray[np.float64]) -> Metrics:
    """Return the mean over queries and its standard error (None for a single query)."""
    n_queries = len(values)
    error = float(values.std(ddof=1) / np.sqrt(n_queries)) if n_queries > 1 else None
    return {"mean_average_precision": float(values.mean()), "standard_error": error}
