"""Draws of gamma, eta and the level prior given a chain, each exact.

Priors: gamma and eta are Exponential(1), each entry of the level prior Exponential(1/10).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hiertopics.families.ncrp import joint_kernels
from hiertopics.families.ncrp.chain_kernels import Chain, Prior

RATE = 1.0
LEVEL_RATE = 0.1
WIDTH = 1.0
"""First width of a slice, in logs."""

LOWEST, HIGHEST = 1e-8, 1e6
"""Where the priors end."""


def log_prior(prior: Prior) -> float:
    """Return the log density of the hyperparameters."""
    return float(-RATE * (prior.gamma + prior.eta) - LEVEL_RATE * prior.level.sum())


def draw_gamma(chain: Chain, gamma: float, rng: np.random.Generator) -> float:
    """Draw gamma given the tree, with an auxiliary Beta variable for each inner node.

    gamma^J Gamma(gamma)/Gamma(gamma + m) at each inner node of J children and m documents is
    that of the number of tables of a Chinese restaurant (M. Escobar, M. West, JASA 1995).
    """
    inner = chain.visits[: chain.first[-2]]
    sizes = inner[inner > 0].astype(np.float64)
    n_children = int((chain.visits > 0).sum()) - 1
    if n_children <= 0:
        return _clipped(rng.exponential(1.0 / RATE))
    log_rest = np.log(rng.beta(gamma + 1.0, sizes))
    successes = int((rng.random(len(sizes)) * (sizes + gamma) < sizes).sum())
    shape = 1.0 + n_children - successes
    return _clipped(rng.gamma(shape, 1.0 / (RATE - log_rest.sum())))


def draw_eta(chain: Chain, eta: float, rng: np.random.Generator) -> float:
    """Draw eta given the words of each node, by slice sampling of its logarithm."""
    times = joint_kernels.count_counts(chain.n_wk)
    counts = np.flatnonzero(times)
    times = times[counts]
    totals = chain.n_k[chain.n_k > 0]
    n_words = len(chain.n_wk)

    def log_density(eta: float) -> float:
        mass = n_words * eta
        by_word = times @ (gammaln(counts + eta) - gammaln(eta))
        by_node = (gammaln(mass) - gammaln(mass + totals)).sum()
        return float(by_word + by_node) - RATE * eta

    return draw_by_slice(eta, log_density, rng)


def draw_level_prior(
    n_dl: NDArray[np.int32], level_prior: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the level prior, one level after the other, by slice sampling of its logarithm."""
    drawn = level_prior.copy()
    lengths, n_with = np.unique(n_dl.sum(axis=1), return_counts=True)
    for level in range(len(drawn)):
        counts, times = np.unique(n_dl[:, level], return_counts=True)
        others = drawn.sum() - drawn[level]

        def log_density(
            value: float,
            counts: NDArray[np.int32] = counts,
            times: NDArray[np.int64] = times,
            others: float = others,
        ) -> float:
            mass = others + value
            by_level = times @ (gammaln(counts + value) - gammaln(value))
            by_doc = n_with @ (gammaln(mass) - gammaln(mass + lengths))
            return float(by_level + by_doc) - LEVEL_RATE * value

        drawn[level] = draw_by_slice(drawn[level], log_density, rng)
    return drawn


def draw_by_slice(
    value: float, log_density: Callable[[float], float], rng: np.random.Generator
) -> float:
    """Return a new value > 0 by one slice sampling step on the log scale (R. Neal, 2003).

    log_density: of the value itself; the Jacobian of the logarithm is added here.
    """

    def height(place: float) -> float:
        inside = math.log(LOWEST) <= place <= math.log(HIGHEST)
        return log_density(math.exp(place)) + place if inside else -math.inf

    start = math.log(value)
    floor = height(start) - rng.exponential()
    low = start - WIDTH * rng.random()
    high = low + WIDTH
    while height(low) > floor:
        low -= WIDTH
    while height(high) > floor:
        high += WIDTH
    while True:
        place = rng.uniform(low, high)
        if height(place) >= floor:
            return math.exp(place)
        if place < start:
            low = place
        else:
            high = place


def _clipped(value: float) -> float:
    return float(np.clip(value, LOWEST, HIGHEST))
