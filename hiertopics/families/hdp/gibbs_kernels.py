"""Loops of the collapsed Gibbs sampler of the truncated HDP: tokens, and tables (theory/hdp 6).

The tables of a cell of n tokens are 1 + sum_{j=1}^{n-1} Bernoulli(a / (a + j)), all independent
given the counts. Where only sums over cells of one concentration a are wanted, the Bernoulli
variables of one j are a Binomial one: as many as there are cells of more than j tokens (6.4).
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import (
    BLOCK,
    list_words,
    scratch_of,
    sweep_document,
    sweep_document_by_lists,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import Tables, draw_n_tables
from hiertopics.families.hdp.table_kernels import SMALL
from hiertopics.numeric.jit import kernel


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    pseudo_counts: PseudoCounts,
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + doc prior)(n_wk + word prior)/(n_k + total) without the
    token itself (equation 13). n_k is moved too: pass the block's own copy.
    """
    n_k, doc_prior = tables.n_k, pseudo_counts.doc
    n_topics = len(n_k)
    inverse = np.empty(n_topics)
    inverse[:] = 1.0 / (n_k + pseudo_counts.word_total)
    scaled, scratch = np.empty(n_topics), np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        doc_row = tables.n_dk[doc]
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + doc_prior[topic]) * inverse[topic]
        z, words = tables.z[start:stop], cells.word[start:stop]
        moved += sweep_document(
            z, words, tables.n_wk, doc_row, n_k, doc_prior, inverse, scaled, scratch, ends,
            pseudo_counts.word, pseudo_counts.word_total, rng,
        )  # fmt: skip
    return moved


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    pseudo_counts: PseudoCounts,
    rng: np.random.Generator,
) -> int:
    """Do as ``sweep_block`` does, at the cost of the topics of each token's word (6.7)."""
    n_k, doc_prior = tables.n_k, pseudo_counts.doc
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    inverse = np.empty(len(n_k))
    inverse[:] = 1.0 / (n_k + pseudo_counts.word_total)
    lists = list_words(tables.n_wk, first_word, last_word)
    start, length, topics, times = lists
    scaled, chances, sums, before, ends = scratch_of(len(n_k))
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        first, last = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if first == last:
            continue
        z, words = tables.z[first:last], cells.word[first:last]
        moved += sweep_document_by_lists(
            z, words, tables.n_dk[doc], n_k, doc_prior,
            pseudo_counts.word, pseudo_counts.word_total, inverse,
            start, length, topics, times, scaled, chances, sums, before, ends, rng,
        )  # fmt: skip
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved


@kernel()
def draw_tables(
    counts: I32,
    row_prior: F64,
    column_prior: F64,
    by_row: I64,
    by_column: I64,
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


@kernel()
def count_cells(counts: I32, histogram: I64) -> I64:
    """Add the cells of all rows to a ``histogram`` [1, SMALL]; return the ``large`` ones."""
    n_large = 0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            count = counts[row, column]
            if count >= SMALL:
                n_large += 1
            elif count > 0:
                histogram[0, count] += 1
    large = np.zeros((n_large, 2), np.int64)
    if n_large > 0:
        for row in range(counts.shape[0]):
            for column in range(counts.shape[1]):
                if counts[row, column] >= SMALL:
                    n_large -= 1
                    large[n_large, 1] = counts[row, column]
    return large
