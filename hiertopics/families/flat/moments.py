"""Expected table counts from the moments of expected counts (theory/hdp 5.2).

An expected count is a sum of independent Bernoulli variables. Of the number of tables that it
makes, the expectation is taken by conditioning on n > 0 and expanding to second order.
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import REASSOCIATE, in_fixed_order, kernel
from hiertopics.numeric.special import digamma, digamma_and_tetragamma, log, tetragamma

RARE = 1e-4
VANISHED = 1e-300
MOST_SEEN = np.float32(1 - 1e-7)


@kernel(fastmath=REASSOCIATE)
def spread_block(
    cells: Cells, doc_shard: int, word_shard: int, resp: Floats, var_dk: Floats, var_wk: Floats
) -> None:
    """Add a block's pairs to Var[n_dk] and Var[n_wk], which the caller has set to zero.

    Each of a pair's tokens adds q (1 - q). Tables in resp's dtype, shaped as n_dk and n_wk.
    """
    cuts, words, tokens, doc_bounds = cells
    one = resp.dtype.type(1)
    for doc in range(doc_bounds[doc_shard], doc_bounds[doc_shard + 1]):
        doc_var = var_dk[doc]
        for pair in range(cuts[doc, word_shard], cuts[doc, word_shard + 1]):
            row = resp[pair]
            word_var = var_wk[words[pair]]
            for topic in range(len(row)):
                spread = tokens[pair] * row[topic] * (one - row[topic])
                doc_var[topic] += spread
                word_var[topic] += spread


@kernel(fastmath=REASSOCIATE)
def expected_tables(
    start: int,
    stop: int,
    mean: Floats,
    variance: Floats,
    seen: Floats,
    row_prior: F64,
    column_prior: F64,
    by_row: F64,
    by_column: F64,
) -> None:
    """Add E[tables] of rows start .. stop to their sums by_row [n_rows] and by_column [T].

    The concentration of a cell is x = row_prior * column_prior, and
    E[s] = x P (psi(x + E) - psi(x) + V psi''(x + E) / 2) with E = E[n | n > 0], V its variance.
    For P below ``RARE`` one token is the only case that matters, and it makes one table:
    E[s] = P to a relative error below P / 2. The same holds for an x that has vanished.
    """
    x, psi_x = np.empty(mean.shape[1]), np.empty(mean.shape[1])
    for row in range(start, stop):
        if row == start or row_prior[row] != row_prior[row - 1]:
            concentrations(row_prior[row], column_prior, x, psi_x)
        by_row[row] += tables_of_row(mean[row], variance[row], seen[row], x, psi_x, by_column)


@kernel(fastmath=REASSOCIATE)
def tables_of_row(
    mean: Floats, variance: Floats, seen: Floats, x: F64, psi_x: F64, by_column: F64
) -> float:
    """Add E[tables] of a row's cells to by_column [T]; return their sum. No branch: vector code."""
    total = 0.0
    for column in range(len(x)):
        tables = tables_of_cell(
            mean[column], variance[column], seen[column], x[column], psi_x[column]
        )
        total += tables
        by_column[column] += tables
    return total


@kernel(inline=True)
def tables_of_cell(mean: float, variance: float, seen: float, x: float, psi_x: float) -> float:
    """Return E[tables] of a cell with these moments and concentration; psi_x: digamma of x."""
    chance = float(seen)
    known = 1.0 / max(chance, RARE)
    count = float(mean) * known
    second = (float(variance) + float(mean) * float(mean)) * known
    spread = max(second - count * count, 0.0)
    psi, curvature = digamma_and_tetragamma(x + max(count, 1.0))
    growth = psi - psi_x + 0.5 * spread * curvature
    return x * chance * growth if chance > RARE else chance


@kernel()
def tables_of_row_in_fixed_order(
    mean: Floats, variance: Floats, seen: Floats, x: F64, psi_x: F64, by_column: F64
) -> float:
    """Do as ``tables_of_row`` does, with the same bits on every processor: all rows [n_columns].

    The sum has a loop of its own, which leaves the other one vector code.
    """
    tables = np.empty(len(x))
    for column in range(len(x)):
        tables[column] = tables_of_cell(
            mean[column], variance[column], seen[column], x[column], psi_x[column]
        )
        by_column[column] += tables[column]
    total = 0.0
    for column in range(len(x)):
        total += tables[column]
    return total


@kernel()
def log_unseen(seen: Floats) -> F64:
    """Return the sum over rows of log(1 - seen) [T]; seen: [n, T]. The same on every processor."""
    found = np.zeros(seen.shape[1])
    for row in range(len(seen)):
        for column in range(seen.shape[1]):
            found[column] += log(1.0 - float(min(seen[row, column], MOST_SEEN)))
    return found


@kernel()
def concentrations(row_prior: float, column_prior: F64, x: F64, psi_x: F64) -> None:
    """Write the concentrations of a row's cells, and their digamma, to x and psi_x [T]."""
    for column in range(len(x)):
        x[column] = max(row_prior * column_prior[column], VANISHED)
        same = column > 0 and x[column] == x[column - 1]
        psi_x[column] = psi_x[column - 1] if same else digamma(x[column])


@kernel()
def expected_log_xi(mean: F64, variance: F64, seen: F64, total: float) -> float:
    """Return sum over topics of E[log xi_k], xi_k ~ Beta(total, n_k); all arguments [T]."""
    log_xi = 0.0
    for topic in range(len(mean)):
        if seen[topic] > 0.0:
            count = mean[topic] / seen[topic]
            second = (variance[topic] + mean[topic] ** 2) / seen[topic]
            spread = max(second - count * count, 0.0)
            growth = digamma(total + count) - digamma(total)
            log_xi -= seen[topic] * (growth + 0.5 * spread * tetragamma(total + count))
    return log_xi


spread_block_in_fixed_order = in_fixed_order(spread_block)
expected_tables_in_fixed_order = in_fixed_order(
    expected_tables, tables_of_row=tables_of_row_in_fixed_order
)
"""The kernels of these names with the same bits on every processor."""
