"""The evidence lower bound of the truncated tree, term by term (theory/ncrp 3.6).

The sticks' term is with them, in ``nested.slots``.

For the documents the chances of paths and levels are taken where they are best given the rest:
of paths and levels in the structured family, of levels alone under mean field.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

LEAST_CHANGE = 1e-6


def words_term(lam: NDArray[np.floating], eta: float) -> float:
    """Return E_beta, E log p - E log q over the topics; lam [n_words, n_nodes]."""
    return float(topic_terms(lam, eta).sum())


def topic_terms(lam: NDArray[np.floating], eta: float) -> NDArray[np.float64]:
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


def levels_term(tau: NDArray[np.float64], level_prior: NDArray[np.float64]) -> float:
    """Return E_theta over the documents; tau [n_docs, depth]."""
    total = tau.sum(axis=1)
    e_log = psi(tau) - psi(total)[:, None]
    own = gammaln(level_prior.sum()) - gammaln(level_prior).sum()
    own += gammaln(tau).sum(axis=1) - gammaln(total)
    return float((own + ((level_prior - tau) * e_log).sum(axis=1)).sum())
