"""Tables of many cells at once, from how often each count occurs (theory/hdp 6.4).

The tables of a cell of n tokens are 1 + sum_{j=1}^{n-1} Bernoulli(a / (a + j)), all independent
given the counts. Where only sums over cells of one concentration a are wanted, the Bernoulli
variables of one j are a Binomial one: as many as there are cells of more than j tokens.
"""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, I32, I64
from hiertopics.numeric.jit import kernel

SMALL = 256
"""Counts below it are in a histogram, others are listed one by one."""


@kernel()
def draw_table_sums(
    histogram: I64, large: I64, concentration: F64, rng: np.random.Generator
) -> I64:
    """Return the tables of each row's cells, int64 [n_rows].

    histogram: int64 [n_rows, SMALL], cells with each small count. large: int64 [n, 2], row and
    count of the others. concentration: float64 [n_rows], of each of the row's cells.
    """
    n_rows = len(histogram)
    tables, n_large = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    for i in range(len(large)):
        n_large[large[i, 0]] += 1
    for row in range(n_rows):
        a, n_cells = concentration[row], n_large[row]
        for count in range(1, SMALL):
            n_cells += histogram[row, count]
        tables[row] = n_cells
        for seated in range(1, SMALL - 1):
            n_cells -= histogram[row, seated]
            if n_cells == 0:
                break
            tables[row] += rng.binomial(n_cells, a / (a + seated))
    for i in range(len(large)):
        a = concentration[large[i, 0]]
        for seated in range(SMALL - 1, large[i, 1]):
            tables[large[i, 0]] += rng.random() * (a + seated) < a
    return tables


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
