"""Tables of the collapsed Gibbs sampler of the truncated HDP (theory/hdp 6).

The tables of a cell of n tokens are 1 + sum_{j=1}^{n-1} Bernoulli(a / (a + j)), all independent
given the counts. Where only sums over cells of one concentration a are wanted, the Bernoulli
variables of one j are a Binomial one: as many as there are cells of more than j tokens (6.4).
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.token_kernels import draw_n_tables
from hiertopics.families.hdp.table_kernels import SMALL
from hiertopics.numeric.jit import kernel


@kernel()
def draw_tables(
    counts: I32,
    row_prior: F64,
    column_prior: F64,
    by_row: I64,
    by_column: I64,
    rng: np.random.Generator,
) -> None:
    """Add the tables of each cell of ``counts`` to their sums by_row [n_rows], by_column [T].

    The concentration of a cell is row_prior * column_prior (theory/hdp 6, step 2).
    """
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            n_tokens = counts[row, column]
            if n_tokens == 0:
                continue
            tables = draw_n_tables(n_tokens, row_prior[row] * column_prior[column], rng)
            by_row[row] += tables
            by_column[column] += tables


@kernel()
def count_cells(counts: I32, histogram: I64) -> I64:
    """Add the cells of all rows to a ``histogram`` [1, SMALL]; return the ``large`` ones."""
    n_large = 0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            count = counts[row, column]
            if count >= SMALL:
                n_large += 1
            elif count > 0:
                histogram[0, count] += 1
    large = np.zeros((n_large, 2), np.int64)
    if n_large > 0:
        for row in range(counts.shape[0]):
            for column in range(counts.shape[1]):
                if counts[row, column] >= SMALL:
                    n_large -= 1
                    large[n_large, 1] = counts[row, column]
    return large
