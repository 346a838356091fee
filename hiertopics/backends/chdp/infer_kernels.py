"""Fold-in: the expected topic counts of a new document, everything else held fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.jit import REASSOCIATE, kernel


@kernel(fastmath=REASSOCIATE)
def fold_in(
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    phi: NDArray[np.float64],
    prior: NDArray[np.float64],
    n_sweeps: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Return expected topic counts [T] of a document with these pairs (spec pcvb0 7.2).

    phi [n_words, T] (word-major); prior [T]: the document's own pseudo-counts. q(z = k) is
    proportional to phi (n_dk - q + prior), from q proportional to phi * prior, until no entry
    moves by ``tolerance`` or ``n_sweeps`` are done.
    """
    n_topics = len(prior)
    resp = np.empty((len(words), n_topics))
    doc_row = np.zeros(n_topics)
    weights = np.empty(n_topics)
    for pair in range(len(words)):
        total = 0.0
        for topic in range(n_topics):
            weights[topic] = phi[words[pair], topic] * prior[topic]
            total += weights[topic]
        for topic in range(n_topics):
            resp[pair, topic] = weights[topic] / total
            doc_row[topic] += counts[pair] * resp[pair, topic]
    for _ in range(n_sweeps):
        largest = 0.0
        for pair in range(len(words)):
            total = 0.0
            for topic in range(n_topics):
                others = max(doc_row[topic] - resp[pair, topic], 0.0)
                weights[topic] = phi[words[pair], topic] * (others + prior[topic])
                total += weights[topic]
            for topic in range(n_topics):
                moved = weights[topic] / total - resp[pair, topic]
                resp[pair, topic] += moved
                doc_row[topic] += counts[pair] * moved
                largest = max(largest, abs(moved))
        if largest < tolerance:
            break
    return doc_row
