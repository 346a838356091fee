"""Plain twins of the binary model's kernels."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.families.tssb.binary_kernels import Family


def log_joint(theta: F64, family: Family) -> F64:
    """Return the log density of parameters and rows, column by column, as theory/tssb writes it."""
    total = np.zeros(theta.shape[1])
    for node, up in enumerate(family.up):
        centre = 0.0 if up < 0 else family.persistence * theta[up]
        precision = family.root_precision if up < 0 else family.precision
        total += -0.5 * precision * (theta[node] - centre) ** 2
        total += family.sums[node] * theta[node]
        total -= family.n_at[node] * np.log1p(np.exp(theta[node]))
    return total


def some_family(n_columns: int = 3, persistence: float = 0.9, n_at: object = None) -> Family:
    """Return five nodes with rows at some of them."""
    rng = np.random.default_rng(4)
    up = np.array([-1, 0, 1, 1, 0], np.int32)
    counts = np.array([4.0, 0.0, 7.0, 1.0, 30.0]) if n_at is None else np.asarray(n_at)
    sums = np.floor(counts[:, None] * rng.random((5, n_columns)))
    variance = rng.uniform(0.2, 1.0, n_columns)
    return Family(up, counts, sums, persistence, 1.0 / variance, 1.0 / variance)
