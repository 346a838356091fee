"""Documents as mixtures theta of topics phi, where every document has a part of every topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def all_entries(theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return dense rows as CSR with every entry stored."""
    n_rows, n_columns = theta.shape
    indices = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int32) * n_columns
    return sparse.csr_array((theta.ravel(), indices, indptr), shape=theta.shape)


def draw_counts(
    theta: NDArray[np.float64],
    phi: NDArray[np.float64],
    doc_length: int,
    rng: np.random.Generator,
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
