"""The collapsed sweep over tokens: a document with pseudo-counts of its own for each topic."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, I32, I64, Floats
from hiertopics.numeric.jit import REASSOCIATE, kernel

BLOCK = 32
"""Topics whose weights are added up together; a draw looks for its block first."""


# Its arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel()
def sweep_document(
    z: I32,
    words: I32,
    n_wk: I32,
    doc_row: I32,
    n_k: I64,
    prior: Floats,
    inverse: F64,
    scaled: F64,
    scratch: F64,
    ends: F64,
    word_prior: Floats,
    word_total: float,
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return how many moved.

    P(z = k) is proportional to (n_dk + prior_k)(n_wk + word_prior_w)/(n_k + word_total) without the
    token itself. prior [T]: of the document. word_prior [n_words]; word_total: its sum over all
    words. scaled [T]: (n_dk + prior) * inverse, inverse [T]: 1 / (n_k + word_total), both kept up
    to date at the two topics that a token leaves and joins. scratch [T] and ends
    [ceil(T / BLOCK)] are overwritten.
    """
    moved = 0
    for token in range(len(z)):
        word = words[token]
        word_row = n_wk[word]
        old = z[token]
        doc_row[old] -= 1
        word_row[old] -= 1
        n_k[old] -= 1
        inverse[old] = 1.0 / (n_k[old] + word_total)
        scaled[old] = (doc_row[old] + prior[old]) * inverse[old]

        weigh(scaled, word_row, word_prior[word], scratch)
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
def weigh(scaled: F64, word_row: I32, eta: float, weights: F64) -> None:
    """Write scaled * (word_row + eta) to ``weights`` [T]."""
    for topic in range(len(scaled)):
        weights[topic] = scaled[topic] * (word_row[topic] + eta)


@kernel(fastmath=REASSOCIATE)
def add_up_blocks(weights: Floats, ends: F64) -> float:
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
def draw_in_blocks(weights: Floats, ends: F64, uniform: float) -> int:
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
