"""The surrogate objective of the variational cooperative HDP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.entropy_kernels import entropy
from hiertopics.families.chdp.estimates import State
from hiertopics.families.flat import layout
from hiertopics.numeric.evidence import log_rising

SMALLEST = 1e-300
ROWS = 4096


class OfDocuments(NamedTuple):
    """What the documents of a piece add to the objective."""

    topics: float
    entropy: float


def of_documents(
    n_dk: NDArray[np.floating],
    prior: NDArray[np.floating],
    resp: NDArray[np.floating],
    tokens: NDArray[np.floating],
) -> OfDocuments:
    """Return the documents' part. n_dk, prior: [n_docs, T]; resp [n_pairs, T]; tokens [n_pairs]."""
    return OfDocuments(_in_blocks(n_dk, prior), float(entropy(resp, tokens)))


def log_joint(
    documents: list[OfDocuments],
    state: State,
    word_prior: NDArray[np.floating],
    alpha_doc: float,
    laid: layout.Data,
) -> float:
    """Return log p(w, z) at expected counts, given the priors, plus the entropy of q(z).

    Zero-order updates ascend this and not the bound; it may fall when priors move. documents: of
    each piece. word_prior: [n_words].
    """
    docs = sum((each.topics for each in documents), 0.0)
    docs -= float(log_rising(alpha_doc, laid.doc_lengths).sum())
    words = _in_blocks(state.n_wk, np.broadcast_to(word_prior[:, None], state.n_wk.shape))
    totals = np.maximum(state.n_k, 0.0)
    words -= float(log_rising(state.word_mass, totals).sum())
    return docs + words + sum((each.entropy for each in documents), 0.0)


def _in_blocks(counts: NDArray[np.floating], prior: NDArray[np.floating]) -> float:
    """Return the sum of ``log_rising``, block by block; counts below 0 are drift."""
    total = 0.0
    for first in range(0, len(counts), ROWS):
        block = slice(first, first + ROWS)
        x = np.maximum(prior[block].astype(np.float64), SMALLEST)
        n = np.maximum(counts[block], 0.0)
        total += float(log_rising(x, n).sum())
    return total
