"""Loops over tokens of the Gibbs sampler of the cooperative HDP (theory/chdp 4.1 and 7)."""

from __future__ import annotations

import numpy as np

from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import BLOCK, sweep_document
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.numeric.jit import kernel


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    parents: Parents,
    weights: Weights,
    alpha_doc: float,
    eta: float,
    word_total: float,
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + alpha_doc b_dk)(n_wk + eta)/(n_k + n_words eta) without
    the token itself. word_total: n_words eta, of all words. n_k is moved too: pass the block's own
    copy.
    """
    n_k = tables.n_k
    n_topics = len(n_k)
    word_prior = np.full(len(tables.n_wk), eta)
    inverse = np.empty(n_topics)
    inverse[:] = 1.0 / (n_k + word_total)
    prior = np.empty(n_topics)
    scaled = np.empty(n_topics)
    scratch = np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        base_row(doc, parents, weights, prior)
        prior *= alpha_doc
        doc_row = tables.n_dk[doc]
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + prior[topic]) * inverse[topic]
        z, words = tables.z[start:stop], cells.word[start:stop]
        moved += sweep_document(
            z, words, tables.n_wk, doc_row, n_k, prior, inverse, scaled, scratch, ends,
            word_prior, word_total, rng,
        )  # fmt: skip
    return moved
