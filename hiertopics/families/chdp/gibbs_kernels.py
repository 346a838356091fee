"""Loops over tokens of the Gibbs sampler of the cooperative HDP (theory/chdp 4.1 and 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.numeric.jit import REASSOCIATE, kernel

BLOCK = 32
"""Topics whose weights are added up together; a draw looks for its block first."""


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
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + alpha_doc b_dk)(n_wk + eta)/(n_k + n_words eta) without
    the token itself. n_k is moved too: pass the block's own copy.
    """
    n_k = tables.n_k
    n_topics = len(n_k)
    word_total = eta * len(tables.n_wk)
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
            eta, word_total, rng,
        )  # fmt: skip
    return moved


# Its arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel()
def sweep_document(
    z: NDArray[np.int32],
    words: NDArray[np.int32],
    n_wk: NDArray[np.int32],
    doc_row: NDArray[np.int32],
    n_k: NDArray[np.int64],
    prior: NDArray[np.float64],
    inverse: NDArray[np.float64],
    scaled: NDArray[np.float64],
    scratch: NDArray[np.float64],
    ends: NDArray[np.float64],
    eta: float,
    word_total: float,
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return how many moved.

    scaled [T]: (n_dk + prior) * inverse, inverse [T]: 1 / (n_k + word_total), both kept up to
    date at the two topics that a token leaves and joins. scratch [T] and ends
    [ceil(T / BLOCK)] are overwritten.
    """
    moved = 0
    for token in range(len(z)):
        word_row = n_wk[words[token]]
        old = z[token]
        doc_row[old] -= 1
        word_row[old] -= 1
        n_k[old] -= 1
        inverse[old] = 1.0 / (n_k[old] + word_total)
        scaled[old] = (doc_row[old] + prior[old]) * inverse[old]

        weigh(scaled, word_row, eta, scratch)
        new = draw_in_blocks(scratch, ends, rng.random())

        doc_row[new] += 1
        word_row[new] += 1
        n_k[new] += 1
        inverse[new] = 1.0 / (n_k[new] + word_total)
        scaled[new] = (doc_row[new] + prior[new]) * inverse[new]
        z[token] = new
        moved += new != old
    return moved


@kernel()
def weigh(
    scaled: NDArray[np.float64],
    word_row: NDArray[np.int32],
    eta: float,
    weights: NDArray[np.float64],
) -> None:
    """Write scaled * (word_row + eta) to ``weights`` [T]."""
    for topic in range(len(scaled)):
        weights[topic] = scaled[topic] * (word_row[topic] + eta)


@kernel(fastmath=REASSOCIATE)
def add_up_blocks(weights: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Write the running totals at the ends of blocks of ``weights`` to ``ends``; return the sum."""
    total = 0.0
    for block in range(len(ends)):
        # A slice, because a loop over it becomes vector code and one over block + offset does not.
        chunk = weights[block * BLOCK : block * BLOCK + BLOCK]
        part = 0.0
        for offset in range(len(chunk)):
            part += chunk[offset]
        total += part
        ends[block] = total
    return total


@kernel()
def draw_in_blocks(weights: NDArray[np.float64], ends: NDArray[np.float64], uniform: float) -> int:
    """Return a topic drawn in proportion to ``weights`` [T] by one uniform number.

    ends: scratch [ceil(T / BLOCK)].
    """
    target = uniform * add_up_blocks(weights, ends)
    block = 0
    while block < len(ends) - 1 and ends[block] <= target:
        block += 1
    if block > 0:
        target -= ends[block - 1]
    topic, last = block * BLOCK, len(weights) - 1
    while topic < last and weights[topic] <= target:
        target -= weights[topic]
        topic += 1
    # Rounding may lead past the last topic of positive weight; none of zero weight is drawn.
    while weights[topic] <= 0.0 and topic > 0:
        topic -= 1
    return topic
