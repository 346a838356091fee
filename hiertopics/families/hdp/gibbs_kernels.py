"""Loops of the collapsed Gibbs sampler of the truncated HDP over tokens (theory/hdp 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.token_kernels import Tables, draw_n_tables
from hiertopics.numeric.jit import kernel


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    prior: Prior,
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + doc prior)(n_wk + word prior)/(n_k + total) without the
    token itself (equation 13). n_k is moved too: pass the block's own copy.
    """
    z, n_dk, n_wk, n_k = tables
    n_topics = n_dk.shape[1]
    cumulative = np.empty(n_topics)
    inverse = np.empty(n_topics)
    for topic in range(n_topics):
        inverse[topic] = 1.0 / (n_k[topic] + prior.word_total)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        doc_row = n_dk[doc]
        for token in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            word = cells.word[token]
            word_row = n_wk[word]
            old = z[token]
            doc_row[old] -= 1
            word_row[old] -= 1
            n_k[old] -= 1
            inverse[old] = 1.0 / (n_k[old] + prior.word_total)

            total = 0.0
            for topic in range(n_topics):
                total += (
                    (doc_row[topic] + prior.doc[topic])
                    * (word_row[topic] + prior.word[word])
                    * inverse[topic]
                )
                cumulative[topic] = total

            target = rng.random() * total
            new = 0
            while cumulative[new] < target and new < n_topics - 1:
                new += 1

            doc_row[new] += 1
            word_row[new] += 1
            n_k[new] += 1
            inverse[new] = 1.0 / (n_k[new] + prior.word_total)
            z[token] = new
            moved += new != old
    return moved


@kernel()
def draw_tables(
    counts: NDArray[np.int32],
    row_prior: NDArray[np.float64],
    column_prior: NDArray[np.float64],
    by_row: NDArray[np.int64],
    by_column: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Add the tables of each cell of ``counts`` to their sums by_row [n_rows], by_column [T].

    The concentration of a cell is row_prior * column_prior (theory/hdp 6, step 2).
    """
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            n_tokens = counts[row, column]
            if n_tokens == 0:
                continue
            tables = draw_n_tables(n_tokens, row_prior[row] * column_prior[column], rng)
            by_row[row] += tables
            by_column[column] += tables
