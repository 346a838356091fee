"""Tables of bursty documents come and go under latent Dirichlet allocation (theory/bursts 9)."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.seat_kernels import DocumentProcess, seat_document
from hiertopics.families.flat.sweep_kernels import BLOCK
from hiertopics.families.lda.gibbs_kernels import PaddedTopics
from hiertopics.numeric.jit import kernel


@kernel()
def seat_documents(
    cells: Cells,
    tables: PaddedTopics,
    alpha: F64,
    eta: float,
    seats: DocumentProcess,
    rng: np.random.Generator,
) -> None:
    """Let tables of all documents come or go. tables.z: topics of slots. alpha: [n_topics]."""
    z, n_wk, n_k = tables
    n_topics, word_total = len(alpha), eta * len(n_wk)
    word_prior = np.full(len(n_wk), eta)
    doc_row = np.zeros(n_topics, np.int32)
    inverse = np.empty(n_topics)
    scaled, scratch = np.empty(n_topics), np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    inverse[:] = 1.0 / (n_k[:n_topics] + word_total)
    for doc in range(len(cells.cuts)):
        first, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        if first == stop:
            continue
        doc_row[:] = 0
        for slot in range(first, stop):
            if z[slot] >= 0:
                doc_row[z[slot]] += 1
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + alpha[topic]) * inverse[topic]
        seat_document(
            z[first:stop], cells.word[first:stop], n_wk, doc_row, n_k, alpha, inverse, scaled,
            scratch, ends, word_prior, word_total, seats, rng,
        )  # fmt: skip
