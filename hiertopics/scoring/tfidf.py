"""Documents as unit vectors of counts weighted by inverse document frequency."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.base.stretches import rows_of


def inverse_document_frequency(counts: sparse.csr_array) -> F64:
    """Return log((1 + N) / (1 + df)) + 1 of each word, float64 [n_words]; counts: N documents."""
    n_docs, n_words = counts.shape
    frequency = np.bincount(counts.indices, minlength=n_words)
    idf: F64 = np.log((1 + n_docs) / (1 + frequency)) + 1
    return idf


def unit_vectors(counts: sparse.csr_array, idf: F64, *, sublinear: bool) -> sparse.csr_array:
    """Return term frequency times ``idf``, rows of length 1 (a document without words: 0).

    counts: CSR [n_docs, n_words], as the result, float64. idf: float64 [n_words]. sublinear: 1 +
    log of the count is the term frequency, not the count.
    """
    frequency = 1 + np.log(counts.data) if sublinear else counts.data
    weights = frequency * idf[counts.indices]
    rows = rows_of(counts.indptr)
    length = np.sqrt(np.bincount(rows, weights**2, minlength=counts.shape[0]))
    parts = (weights / length[rows], counts.indices, counts.indptr)
    return sparse.csr_array(parts, shape=counts.shape)
