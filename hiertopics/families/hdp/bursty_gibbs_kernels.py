"""Sweeps of the truncated HDP, collapsed, whose documents are bursty (theory/bursts 9).

Of each document the tables get topics as tokens do in the plain sampler; then some come or go.
"""

from __future__ import annotations

import numpy as np

from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.seat_kernels import (
    Seats,
    empty_slots,
    longest_of,
    put_tables,
    seat_document,
    seat_document_by_lists,
    take_tables,
)
from hiertopics.families.flat.sweep_kernels import (
    BLOCK,
    list_words_that_grow,
    scratch_of,
    sweep_document,
    sweep_document_by_lists,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.numeric.jit import kernel


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    pseudo_counts: PseudoCounts,
    seats: Seats,
    held: bool,
    rng: np.random.Generator,
    seat_rng: np.random.Generator,
) -> int:
    """Redraw tables of a block; return how many changed their topic.

    As ``gibbs_kernels.sweep_block``, which see. held: no table comes or goes, which takes no number
    of seat_rng.
    """
    n_k, doc_prior = tables.n_k, pseudo_counts.doc
    n_topics = len(n_k)
    inverse = np.empty(n_topics)
    inverse[:] = 1.0 / (n_k + pseudo_counts.word_total)
    scaled, scratch = np.empty(n_topics), np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    topics = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
    words_of = np.empty_like(topics)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        doc_row = tables.n_dk[doc]
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + doc_prior[topic]) * inverse[topic]
        z, words = tables.z[start:stop], cells.word[start:stop]
        n_tables = take_tables(z, words, topics, words_of)
        moved += sweep_document(
            topics[:n_tables], words_of[:n_tables], tables.n_wk, doc_row, n_k, doc_prior, inverse,
            scaled, scratch, ends, pseudo_counts.word, pseudo_counts.word_total, rng,
        )  # fmt: skip
        put_tables(topics, z)
        # A document that is put aside has no table, and gets none.
        if not held and n_tables > 0:
            seat_document(
                z, words, tables.n_wk, doc_row, n_k, doc_prior, inverse, scaled, scratch, ends,
                pseudo_counts.word, pseudo_counts.word_total, seats, seat_rng,
            )  # fmt: skip
    return moved


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    pseudo_counts: PseudoCounts,
    seats: Seats,
    held: bool,
    rng: np.random.Generator,
    seat_rng: np.random.Generator,
) -> int:
    """Do as ``sweep_block`` does, at the cost of the topics of each table's word."""
    n_k, doc_prior, word_total = tables.n_k, pseudo_counts.doc, pseudo_counts.word_total
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    inverse = np.empty(len(n_k))
    inverse[:] = 1.0 / (n_k + word_total)
    growth = empty_slots(cells, doc_shard, word_shard, tables.z, len(tables.n_wk))
    lists = list_words_that_grow(tables.n_wk, first_word, last_word, growth)
    start, length, listed, times = lists
    scaled, chances, sums, before, ends = scratch_of(len(n_k))
    topics = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
    words_of = np.empty_like(topics)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        first, last = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if first == last:
            continue
        z, words, doc_row = tables.z[first:last], cells.word[first:last], tables.n_dk[doc]
        n_tables = take_tables(z, words, topics, words_of)
        moved += sweep_document_by_lists(
            topics[:n_tables], words_of[:n_tables], doc_row, n_k, doc_prior, pseudo_counts.word,
            word_total, inverse, start, length, listed, times, scaled, chances, sums, before, ends,
            rng,
        )  # fmt: skip
        put_tables(topics, z)
        # A document that is put aside has no table, and gets none.
        if not held and n_tables > 0:
            seat_document_by_lists(
                z, words, doc_row, n_k, doc_prior, pseudo_counts.word, word_total, inverse,
                start, length,
                listed, times, scaled, chances, sums, before, ends, seats, seat_rng,
            )  # fmt: skip
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved
