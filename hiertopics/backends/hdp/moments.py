"""Expected table counts from the moments of expected counts (spec pcvb0 section 5.2).

An expected count is a sum of independent Bernoulli variables. Of the number of tables that it
makes, the expectation is taken by conditioning on n > 0 and expanding to second order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.backends.hdp.kernels import note_seen
from hiertopics.backends.hdp.layout import Cells
from hiertopics.jit import REASSOCIATE, digamma, digamma_and_tetragamma, kernel, tetragamma

RARE = 1e-4


class Moments(NamedTuple):
    """P(n >= 1) and Var[n] of each cell of the count tables, in the tables' dtype.

    seen_dk, var_dk [n_docs, T]; seen_wk, var_wk [n_words, T]. All start at zero.
    """

    seen_dk: NDArray[np.floating]
    var_dk: NDArray[np.floating]
    seen_wk: NDArray[np.floating]
    var_wk: NDArray[np.floating]


@kernel(fastmath=REASSOCIATE)
def gather_block(
    cells: Cells, doc_shard: int, word_shard: int, resp: NDArray[np.floating], moments: Moments
) -> None:
    """Add a block's pairs to the moments: Var grows by count q (1 - q)."""
    seen_dk, var_dk, seen_wk, var_wk = moments
    one = resp.dtype.type(1)
    scratch = np.empty(resp.shape[1], resp.dtype)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        doc_var = var_dk[doc]
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            row = resp[pair]
            word = cells.word[pair]
            count = cells.tokens[pair]
            word_var = var_wk[word]
            for topic in range(len(row)):
                spread = count * row[topic] * (one - row[topic])
                doc_var[topic] += spread
                word_var[topic] += spread
            note_seen(row, count, seen_dk[doc], seen_wk[word], scratch)


@kernel()
def expected_tables(
    start: int,
    stop: int,
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    seen: NDArray[np.floating],
    row_prior: NDArray[np.float64],
    column_prior: NDArray[np.float64],
    by_row: NDArray[np.float64],
    by_column: NDArray[np.float64],
) -> None:
    """Add E[tables] of rows start .. stop to their sums by_row [n_rows] and by_column [T].

    The concentration of a cell is x = row_prior * column_prior, and
    E[s] = x P (psi(x + E) - psi(x) + V psi''(x + E) / 2) with E = E[n | n > 0], V its variance.
    For P below ``RARE`` one token is the only case that matters, and it makes one table:
    E[s] = P to a relative error below P / 2.
    """
    known_x = np.full(mean.shape[1], -1.0)
    known_psi = np.empty(mean.shape[1])
    for row in range(start, stop):
        for column in range(mean.shape[1]):
            chance = float(seen[row, column])
            tables = chance
            if chance > RARE:
                x = row_prior[row] * column_prior[column]
                if x != known_x[column]:
                    known_x[column] = x
                    known_psi[column] = digamma(x)
                count = mean[row, column] / chance
                second = (variance[row, column] + mean[row, column] ** 2) / chance
                spread = max(second - count * count, 0.0)
                psi, curvature = digamma_and_tetragamma(x + count)
                tables = x * chance * (psi - known_psi[column] + 0.5 * spread * curvature)
            by_row[row] += tables
            by_column[column] += tables


@kernel()
def expected_log_xi(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    seen: NDArray[np.float64],
    total: float,
) -> float:
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
