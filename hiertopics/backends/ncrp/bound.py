"""The evidence lower bound of the truncated tree, term by term (spec ncrp section 3.6).

For the documents the chances of paths and levels are taken where they are best given the rest:
of paths and levels in the structured family, of levels alone under mean field.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, psi

from hiertopics.backends.ncrp.slots import Sticks


def sticks_term(sticks: Sticks, gamma: float) -> float:
    """Return E_v, E log p(v) - E log q(v) over all nodes but the root."""
    a, b = sticks.a[1:], sticks.b[1:]
    both = psi(a + b)
    e_log_stick, e_log_rest = psi(a) - both, psi(b) - both
    terms = np.log(gamma) + (gamma - 1) * e_log_rest + betaln(a, b)
    return float((terms - (a - 1) * e_log_stick - (b - 1) * e_log_rest).sum())


def words_term(lam: NDArray[np.floating], eta: float) -> float:
    """Return E_beta, E log p - E log q over the topics; lam [n_words, n_nodes]."""
    wide = np.asarray(lam, dtype=np.float64)
    prior = np.full(wide.shape[1], eta)
    return _dirichlets(wide.T, prior[:, None] * np.ones(len(wide)))


def levels_term(tau: NDArray[np.float64], level_prior: NDArray[np.float64]) -> float:
    """Return E_theta over the documents; tau [n_docs, depth]."""
    return _dirichlets(tau, np.broadcast_to(level_prior, tau.shape))


def _dirichlets(posterior: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Return the sum over rows of E log p - E log q."""
    total = posterior.sum(axis=1)
    e_log = psi(posterior) - psi(total)[:, None]
    own = gammaln(prior.sum(axis=1)) - gammaln(prior).sum(axis=1)
    own -= gammaln(total) - gammaln(posterior).sum(axis=1)
    return float((own + ((prior - posterior) * e_log).sum(axis=1)).sum())
