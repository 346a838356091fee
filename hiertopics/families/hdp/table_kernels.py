"""Sums over groups of customers, drawn from how often each size of a group occurs (theory/hdp 6.4).

A row holds the groups of one concentration x: a histogram of their sizes, and the large ones one by
one. Let D_j be the groups of more than j customers.
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I64
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
def draw_growth(histogram: I64, large: I64, concentration: F64, rng: np.random.Generator) -> F64:
    """Return the sum of -log e over each row's groups, e ~ Beta(x, size), float64 [n_rows].

    For a whole size n that is the sum over j < n of variables Exp(rate x + j) (theory/nhdp 5.2),
    so that D_j of them make a Gamma one. Arguments as of ``draw_table_sums``; 0 for rows of
    concentration 0.
    """
    n_rows = len(histogram)
    growth, n_large = np.zeros(n_rows), np.zeros(n_rows, np.int64)
    for i in range(len(large)):
        n_large[large[i, 0]] += 1
    for row in range(n_rows):
        x, n_cells = concentration[row], n_large[row]
        if x <= 0.0:
            continue
        for count in range(1, SMALL):
            n_cells += histogram[row, count]
        for seated in range(SMALL - 1):
            n_cells -= histogram[row, seated] if seated > 0 else 0
            if n_cells == 0:
                break
            growth[row] += rng.standard_gamma(n_cells) / (x + seated)
    for i in range(len(large)):
        x = concentration[large[i, 0]]
        for seated in range(SMALL - 1, large[i, 1] if x > 0.0 else 0):
            growth[large[i, 0]] += rng.standard_exponential() / (x + seated)
    return growth
