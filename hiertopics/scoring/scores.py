"""Arithmetic of held-out scores: log likelihoods, perplexity, standard error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.base.stretches import rows_of


class Score(NamedTuple):
    """log_likelihood_per_word in natural logs; perplexity = exp(-log_likelihood_per_word).

    standard_error: of log_likelihood_per_word, over documents. n_docs: with a scored token.
    """

    log_likelihood_per_word: float
    perplexity: float
    standard_error: float
    n_docs: int
    n_tokens: int


def word_chances(theta: sparse.csr_array, phi: F64, scored: sparse.csr_array) -> F64:
    """Return p(w | d) for each stored entry of ``scored`` [n_docs, n_words], float64 [nnz].

    theta: CSR [n_docs, n_nodes]; phi: [n_nodes, n_words].
    """
    by_word = np.ascontiguousarray(phi.T)
    chances = np.empty(scored.nnz)
    for doc in range(scored.shape[0]):
        cells = slice(scored.indptr[doc], scored.indptr[doc + 1])
        nodes = slice(theta.indptr[doc], theta.indptr[doc + 1])
        rows = by_word[scored.indices[cells]][:, theta.indices[nodes]]
        chances[cells] = rows @ theta.data[nodes]
    return chances


def log_likelihoods(chances: F64, scored: sparse.csr_array) -> F64:
    """Return each document's log likelihood [n_docs] of its scored tokens, taken separately."""
    return _per_row(scored, scored.data * np.log(chances))


def perplexity_of(chances: F64, times: NDArray[Any]) -> float | None:
    """Return the perplexity of tokens from probabilities [n] and their counts; None if empty."""
    n_tokens = times.sum()
    return float(np.exp(-(times @ np.log(chances)) / n_tokens)) if n_tokens else None


def pool(per_doc: F64, scored: sparse.csr_array) -> Score:
    """Pool documents' log likelihoods [n_docs] of all their scored tokens.

    The error treats documents as the sampled units. Of differences between two models' log
    likelihoods it gives the mean difference per word, with the error of that.
    """
    lengths = _per_row(scored, scored.data)
    n_tokens = int(lengths.sum())
    if n_tokens == 0:
        return Score(float("nan"), float("nan"), float("nan"), 0, 0)
    mean = float(per_doc.sum() / n_tokens)
    error = float(np.sqrt(((per_doc - mean * lengths) ** 2).sum()) / n_tokens)
    return Score(mean, float(np.exp(-mean)), error, int((lengths > 0).sum()), n_tokens)


def _per_row(scored: sparse.csr_array, values: NDArray[Any]) -> F64:
    rows = rows_of(scored.indptr)
    return np.asarray(np.bincount(rows, values, minlength=scored.shape[0]), dtype=np.float64)
