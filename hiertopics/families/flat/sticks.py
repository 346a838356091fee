"""Stick-breaking weights of the top level: pi_k = v_k prod_{l<k} (1 - v_l), v_k ~ Beta(1, gamma).

theory/hdp 3.3 and 4.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma


class Sticks(NamedTuple):
    """Beta(a, b) posteriors of the first T - 1 sticks, along ``order`` (topic ids, first stick
    first). All float64 [T - 1] but order int64 [T].
    """

    order: NDArray[np.int64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    @property
    def e_log_rest(self) -> NDArray[np.float64]:
        """E[log(1 - v)], float64 [T - 1]."""
        return np.asarray(digamma(self.b) - digamma(self.a + self.b))

    @property
    def e_log(self) -> NDArray[np.float64]:
        """E[log v], float64 [T - 1]."""
        return np.asarray(digamma(self.a) - digamma(self.a + self.b))


def fit_sticks(n_tables: NDArray[np.float64], gamma: float, *, reorder: bool) -> Sticks:
    """Return the exact maximiser q(v) given expected tables per topic [T] (equations 24-28).

    reorder: sort topics by tables, decreasing, which is the best order (theory/hdp 4.2).
    """
    order = np.argsort(-n_tables, kind="stable") if reorder else np.arange(len(n_tables))
    along = n_tables[order]
    after = np.cumsum(along[::-1])[::-1] - along
    return Sticks(order, 1.0 + along[:-1], gamma + after[:-1])


def mean_weights(sticks: Sticks) -> NDArray[np.float64]:
    """Return E[pi], float64 [T], summing to 1."""
    share = sticks.a / (sticks.a + sticks.b)
    rest = np.concatenate([[1.0], np.cumprod(1.0 - share)])
    return _scatter(np.append(share, 1.0) * rest, sticks.order)


def geometric_weights(sticks: Sticks) -> NDArray[np.float64]:
    """Return exp(E[log pi]), float64 [T]; its sum is below 1."""
    log_rest = np.concatenate([[0.0], np.cumsum(sticks.e_log_rest)])
    return _scatter(np.exp(np.append(sticks.e_log, 0.0) + log_rest), sticks.order)


def best_gamma(sticks: Sticks) -> float:
    """Return the gamma that maximises the bound given q(v) (equation 33)."""
    return float(len(sticks.a) / -sticks.e_log_rest.sum())


def weights_from_fractions(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return pi [T] of stick fractions v [T - 1], the last stick taking what remains."""
    rest = np.concatenate([[1.0], np.cumprod(1.0 - fractions)])
    return np.append(fractions, 1.0) * rest


def _scatter(along: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    weights = np.empty(len(order))
    weights[order] = along
    return weights
