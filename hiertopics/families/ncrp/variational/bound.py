"""The bound of the truncated tree, term by term (theory/ncrp 3.6), and priors that raise it.

The sticks' term is with them, in ``nested.slots``. gamma, eta and the level prior are point
estimates; no step towards them lowers the bound.

For the documents the chances of paths and levels are taken where they are best given the rest:
of paths and levels in the structured family, of levels alone under mean field.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, polygamma, psi

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.ncrp.variational.expectations import outside_log_chance
from hiertopics.families.nested.slots import NodeSticks, SlotNodes, log_series, sticks_term

LEAST_CHANGE = 1e-6
LOWEST, HIGHEST = 1e-3, 1e3
LARGEST_STEP = 2.0


def topic_terms(lam: Floats, eta: float) -> F64:
    """Return E log p - E log q of each topic, float64 [n_nodes]; lam [n_words, n_nodes].

    Most entries are the prior's; they add nothing but to their topic's total.
    """
    word, node = np.nonzero(np.abs(lam - eta) > LEAST_CHANGE * eta)
    values = lam[word, node].astype(np.float64)
    totals = lam.sum(axis=0, dtype=np.float64)
    cells = gammaln(values) - gammaln(eta) - (values - eta) * psi(values)
    prior = len(lam) * eta
    whole = gammaln(prior) - gammaln(totals) + (totals - prior) * psi(totals)
    return np.asarray(np.bincount(node, cells, lam.shape[1]) + whole)


def levels_term(tau: F64, level_prior: F64) -> float:
    """Return E_theta over the documents; tau [n_docs, depth]."""
    total = tau.sum(axis=1)
    e_log = psi(tau) - psi(total)[:, None]
    own = gammaln(level_prior.sum()) - gammaln(level_prior).sum()
    own += gammaln(tau).sum(axis=1) - gammaln(total)
    return float((own + ((level_prior - tau) * e_log).sum(axis=1)).sum())


def best_gamma(nodes: SlotNodes, sticks: NodeSticks, slot_mass: F64, gamma: float) -> float:
    """Return the gamma that is best for the sticks and for the slots that leave the tree.

    slot_mass [n_nodes]: the documents' mass in each slot.
    """
    open_levels = float((slot_mass * (nodes.depth - 1 - nodes.level)).sum())

    def loss(log_gamma: float) -> float:
        value = float(np.exp(log_gamma))
        return -sticks_term(sticks, value) - open_levels * log_series(value)

    return _better(loss, gamma)


def best_eta(words: Floats, n_outside: float, eta: float) -> float:
    """Return a better eta for expected counts [n_words, n_nodes], lam at its best for each eta.

    The bound as a function of eta is the sum over topics of log B(counts + eta) / B(eta), plus
    e0 for each token outside the tree.
    """
    seen = words[words > 0].astype(np.float64)
    totals = words.sum(axis=0, dtype=np.float64)
    n_words, n_nodes = words.shape

    def loss(log_eta: float) -> float:
        value = float(np.exp(log_eta))
        own = gammaln(n_words * value) * n_nodes - gammaln(n_words * value + totals).sum()
        cells = gammaln(seen + value).sum() - len(seen) * gammaln(value)
        return -float(own + cells + n_outside * outside_log_chance(value, n_words))

    return _better(loss, eta)


def _better(loss: Callable[[float], float], value: float) -> float:
    """Return the minimum of ``loss`` of the logarithm near ``value``, or ``value`` itself."""
    here = np.log(value)
    low, high = max(here - LARGEST_STEP, np.log(LOWEST)), min(here + LARGEST_STEP, np.log(HIGHEST))
    if low >= high:
        return value
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x)) if found.fun < loss(here) else value


def best_level_prior(tau: F64, prior: F64) -> F64:
    """Return a better level prior for q(theta) by Newton's steps (T. Minka, Estimating a
    Dirichlet distribution, 2000), of documents' mean E log theta; tau [n_docs, depth].
    """
    if not len(tau):
        return prior
    target = (psi(tau) - psi(tau.sum(axis=1))[:, None]).mean(axis=0)

    def value(alpha: F64) -> float:
        return float(gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * target).sum())

    current = prior
    for _ in range(20):
        gradient = psi(current.sum()) - psi(current) + target
        curvature = -polygamma(1, current)
        shared = polygamma(1, current.sum())
        shift = (gradient / curvature).sum() / (1.0 / shared + (1.0 / curvature).sum())
        proposed = current - (gradient - shift) / curvature
        proposed = np.clip(proposed, np.maximum(current / 4, LOWEST), current * 4)
        if not value(proposed) > value(current):
            break
        current = proposed
    return current
