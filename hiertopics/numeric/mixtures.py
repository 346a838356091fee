"""Mixtures theta of topics phi over documents, and the chance of counts under such a prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import gammaln

from hiertopics.base.arrays import F64


def draw_counts(
    theta: F64, phi: F64, doc_length: int, rng: np.random.Generator
) -> sparse.csr_array:
    """Draw documents of ``doc_length`` tokens, int32 [n_docs, n_words].

    theta [n_docs, T], phi [T, n_words].
    """
    counts = np.zeros((len(theta), phi.shape[1]), dtype=np.int32)
    for doc in range(len(theta)):
        topics = rng.multinomial(doc_length, theta[doc])
        for topic in np.flatnonzero(topics):
            counts[doc] += rng.multinomial(topics[topic], phi[topic]).astype(np.int32)
    return sparse.csr_array(counts)


def log_rising(prior: ArrayLike, counts: ArrayLike) -> F64:
    """Return log Gamma(prior + counts) / Gamma(prior), float64 of the shape of prior + counts.

    Prior (> 0) and counts (>= 0) broadcast.

    Draws with these counts, in their order, under Dir(a) have log chance log_rising(a, counts)
    summed, less log_rising(a.sum(), counts.sum()).
    """
    return np.asarray(gammaln(np.add(prior, counts)) - gammaln(prior))
