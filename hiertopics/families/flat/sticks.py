"""Stick-breaking weights of the top level: pi_k = v_k prod_{l<k} (1 - v_l), v_k ~ Beta(1, gamma).

theory/hdp 3.3, 4.2 and 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from hiertopics.base.arrays import F64, I64
from hiertopics.numeric.priors import GammaPrior

LEAST_LOG_MEAN, LARGEST_LOG_MEAN = -30.0, 30.0
"""Between them exp(-x) differs from 1 and from 0 in double precision."""


class Sticks(NamedTuple):
    """Beta(a, b) posteriors of the first T - 1 sticks, along ``order`` (topic ids, first stick
    first). All float64 [T - 1] but order int64 [T].
    """

    order: I64
    a: F64
    b: F64

    @property
    def e_log_rest(self) -> F64:
        """E[log(1 - v)], float64 [T - 1]."""
        return np.asarray(digamma(self.b) - digamma(self.a + self.b))

    @property
    def e_log(self) -> F64:
        """E[log v], float64 [T - 1]."""
        return np.asarray(digamma(self.a) - digamma(self.a + self.b))


def fit_sticks(n_tables: F64, gamma: float, *, reorder: bool) -> Sticks:
    """Return the exact maximiser q(v) given expected tables per topic [T] (equations 24-28).

    reorder: sort topics by tables, decreasing, which is the best order (theory/hdp 4.2).
    """
    order = np.argsort(-n_tables, kind="stable") if reorder else np.arange(len(n_tables))
    along = n_tables[order]
    after = np.cumsum(along[::-1])[::-1] - along
    return Sticks(order, 1.0 + along[:-1], gamma + after[:-1])


def mean_weights(sticks: Sticks) -> F64:
    """Return E[pi], float64 [T], summing to 1."""
    share = sticks.a / (sticks.a + sticks.b)
    rest = np.concatenate([[1.0], np.cumprod(1.0 - share)])
    return _scatter(np.append(share, 1.0) * rest, sticks.order)


def geometric_weights(sticks: Sticks, exp: Callable[[F64], F64] = np.exp) -> F64:
    """Return exp(E[log pi]), float64 [T]; its sum is below 1."""
    log_rest = np.concatenate([[0.0], np.cumsum(sticks.e_log_rest)])
    return _scatter(exp(np.append(sticks.e_log, 0.0) + log_rest), sticks.order)


def best_gamma(sticks: Sticks) -> float:
    """Return the gamma that maximises the bound given q(v) (equation 33)."""
    return float(len(sticks.a) / -sticks.e_log_rest.sum())


def weights_from_fractions(fractions: F64) -> F64:
    """Return pi [T] of stick fractions v [T - 1], the last stick taking what remains."""
    rest = np.concatenate([[1.0], np.cumprod(1.0 - fractions)])
    return np.append(fractions, 1.0) * rest


def redraw_order(log_weights: F64, gamma: float | GammaPrior, rng: np.random.Generator) -> I64:
    """Return the topic of each place, int64 [T]: a draw of the weights' order along the sticks.

    All places but the last by arrival times, then the last two (theory/hdp 6.1). log_weights: [T],
    along the sticks. gamma: held; or its prior, under which it is integrated out, to be drawn
    afterwards.
    """
    order = np.arange(len(log_weights))
    if len(order) < 2 or not np.isfinite(log_weights).all():
        return order
    gaps = np.log(rng.standard_exponential(len(order))) - log_remainders(log_weights)
    log_end = np.logaddexp.reduce(gaps)
    order[:-1] = np.argsort(_log_arrivals(log_weights[:-1], log_end, rng), kind="stable")
    last, other = (
        _log_density_of_last(log_weights[place], len(order), gamma) for place in order[:-3:-1]
    )
    if np.log1p(-rng.random()) + np.logaddexp(last, other) > last:
        order[-2:] = order[:-3:-1]
    return order


def log_remainders(log_weights: F64) -> F64:
    """Return the log of the sum of each weight and those after it [T], of log weights [T]."""
    return np.asarray(np.logaddexp.accumulate(log_weights[::-1])[::-1])


def _log_arrivals(log_rates: F64, log_end: float, rng: np.random.Generator) -> F64:
    """Return the logs of exponential times that are before an end, in units of it.

    Of rates so small that nothing is expected before the end the times are uniform.
    """
    log_mean = np.maximum(log_rates + log_end, LEAST_LOG_MEAN)
    mean = np.exp(np.minimum(log_mean, LARGEST_LOG_MEAN))
    times = -np.log1p(rng.random(len(log_rates)) * np.expm1(-mean))
    return np.asarray(np.log(times) - log_mean)


def _log_density_of_last(log_weight: float, n_places: int, gamma: float | GammaPrior) -> float:
    """Return the log density of a weight in the last place, up to a constant."""
    if not isinstance(gamma, GammaPrior):
        return float((gamma - 1.0) * log_weight)
    shape, rate = gamma.posterior(n_places - 1, -log_weight)
    return float(-log_weight - shape * np.log(rate))


def _scatter(along: F64, order: I64) -> F64:
    weights = np.empty(len(order))
    weights[order] = along
    return weights
