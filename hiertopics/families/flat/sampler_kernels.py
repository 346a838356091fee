"""The sweep of a block by samplers of flat topics, of tokens or of tables (theory/hdp 6, bursts 9).

Of documents that are bursty the tables get topics as tokens do; then some come or go. What stands
behind ``seats is None`` is not compiled for such a sweep, nor the other branch for one of tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.seat_kernels import (
    DocumentProcess,
    empty_slots,
    longest_of,
    put_tables,
    seat_document,
    seat_document_by_lists,
    take_tables,
)
from hiertopics.families.flat.sweep_kernels import (
    BLOCK,
    list_words,
    list_words_that_grow,
    scratch_of,
    sweep_document,
    sweep_document_by_lists,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.numeric.jit import by_type, kernel


@kernel()
def prior_of_all(prior: PseudoCounts, doc: int, row: F64) -> Floats:
    """Return the pseudo-counts that all documents share, [n_topics]; row serves other rules."""
    return prior.doc


PRIORS: dict[type, Any] = {PseudoCounts: prior_of_all}
"""How a document gets its pseudo-counts, by the type of the prior."""


@by_type(PRIORS)
def prior_of_document(prior: Any, doc: int, row: F64) -> Floats:
    """Return the pseudo-counts [T] of a document's topics. row: float64 [T], to be written to."""
    found: Floats = PRIORS[type(prior)](prior, doc, row)
    return found


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: TokenTopics,
    prior: Any,
    rng: np.random.Generator,
    seats: DocumentProcess | None = None,
    held: bool = False,
    seat_rng: Any = None,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + doc prior)(n_wk + word prior)/(n_k + total) without the
    token itself (equation 13). n_k is moved too: pass the block's own copy. prior: with ``word``
    [n_words], their sum ``word_total``, and what ``PRIORS`` knows of documents. seats: tables have
    topics, not tokens, and come and go by numbers of seat_rng. held: none does, which takes no
    number.
    """
    n_k, word_prior, word_total = tables.n_k, prior.word, prior.word_total
    n_topics = len(n_k)
    # A quotient for each topic, which the tokens that move keep up to date: no division at the
    # other topics.
    inverse = np.empty(n_topics)
    inverse[:] = 1.0 / (n_k + word_total)
    own, scaled, scratch = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    if seats is not None:
        topics = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
        words_of = np.empty_like(topics)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        # Only the tokens whose words lie in the block; another turn visits the others.
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        doc_prior, doc_row = prior_of_document(prior, doc, own), tables.n_dk[doc]
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + doc_prior[topic]) * inverse[topic]
        z, words = tables.z[start:stop], cells.word[start:stop]
        if seats is None:
            moved += sweep_document(
                z, words, tables.n_wk, doc_row, n_k, doc_prior, inverse, scaled, scratch, ends,
                word_prior, word_total, rng,
            )  # fmt: skip
        else:
            # The topics of the tables that there are come first; then tables come and go, given
            # these topics.
            n_tables = take_tables(z, words, topics, words_of)
            moved += sweep_document(
                topics[:n_tables], words_of[:n_tables], tables.n_wk, doc_row, n_k, doc_prior,
                inverse, scaled, scratch, ends, word_prior, word_total, rng,
            )  # fmt: skip
            put_tables(topics, z)
            # A document that is put aside has no table, and gets none.
            if not held and n_tables > 0:
                seat_document(
                    z, words, tables.n_wk, doc_row, n_k, doc_prior, inverse, scaled, scratch, ends,
                    word_prior, word_total, seats, seat_rng,
                )  # fmt: skip
    return moved


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: TokenTopics,
    prior: Any,
    rng: np.random.Generator,
    seats: DocumentProcess | None = None,
    held: bool = False,
    seat_rng: Any = None,
) -> int:
    """Do as ``sweep_block`` does, at the cost of the topics of each token's word (6.7)."""
    n_k, word_prior, word_total = tables.n_k, prior.word, prior.word_total
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    inverse = np.empty(len(n_k))
    inverse[:] = 1.0 / (n_k + word_total)
    own = np.empty(len(n_k))
    # The lists stand for the rows of n_wk until the end. Where tables come, a list has room for all
    # that may join its word: every empty slot of the block.
    if seats is None:
        lists = list_words(tables.n_wk, first_word, last_word)
    else:
        growth = empty_slots(cells, doc_shard, word_shard, tables.z, len(tables.n_wk))
        lists = list_words_that_grow(tables.n_wk, first_word, last_word, growth)
        topics = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
        words_of = np.empty_like(topics)
    start, length, listed, times = lists
    scaled, chances, sums, before, ends = scratch_of(len(n_k))
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        # Only the tokens whose words lie in the block, as in ``sweep_block``.
        first, last = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if first == last:
            continue
        doc_prior, doc_row = prior_of_document(prior, doc, own), tables.n_dk[doc]
        z, words = tables.z[first:last], cells.word[first:last]
        if seats is None:
            moved += sweep_document_by_lists(
                z, words, doc_row, n_k, doc_prior, word_prior, word_total, inverse,
                start, length, listed, times, scaled, chances, sums, before, ends, rng,
            )  # fmt: skip
        else:
            n_tables = take_tables(z, words, topics, words_of)
            moved += sweep_document_by_lists(
                topics[:n_tables], words_of[:n_tables], doc_row, n_k, doc_prior, word_prior,
                word_total, inverse, start, length, listed, times, scaled, chances, sums, before,
                ends, rng,
            )  # fmt: skip
            put_tables(topics, z)
            # A document that is put aside has no table, and gets none.
            if not held and n_tables > 0:
                seat_document_by_lists(
                    z, words, doc_row, n_k, doc_prior, word_prior, word_total, inverse,
                    start, length, listed, times, scaled, chances, sums, before, ends, seats,
                    seat_rng,
                )  # fmt: skip
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved
