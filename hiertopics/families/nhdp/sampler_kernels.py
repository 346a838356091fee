"""The sweep of a block by samplers of trees, of tokens or of tables (theory/nhdp 5, bursts 9.2).

Of documents that are bursty the tables get nodes as tokens do; then some come or go. Of a tree
theta sums to 1, so that the chance p of a word is the sum of the weights of nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.seat_kernels import (
    DocumentProcess,
    empty_slots,
    longest_of,
    put_tables,
    take_tables,
)
from hiertopics.families.flat.sweep_kernels import (
    list_words,
    list_words_that_grow,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.families.nhdp.bursty_gibbs_kernels import seat_document, seat_document_by_lists
from hiertopics.families.nhdp.gibbs_kernels import (
    NodeParameters,
    begin_chances,
    inverse_sizes,
    redraw_tokens,
)
from hiertopics.families.nhdp.list_kernels import (
    TOKENS,
    families_of,
    mixture_of,
    nodes_of,
    redraw_document,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: TokenTopics,
    parameters: NodeParameters,
    rng: np.random.Generator,
    seats: DocumentProcess | None = None,
    seat_rng: Any = None,
) -> int:
    """Redraw the node of each token of a block given all others; return how many moved.

    The chance is that of theory/nhdp 3.1 with whole counts, the token taken out of its node and of
    all nodes above. n_k is moved too: pass the block's own copy. seats: tables have nodes, not
    tokens, and come and go by numbers of seat_rng.
    """
    n_nodes = tables.n_dk.shape[1]
    inverse = inverse_sizes(tables.n_k, parameters.eta_total)
    passing, stay, go = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    total = np.zeros(n_nodes)
    if seats is not None:
        own_nodes = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
        words_of = np.empty_like(own_nodes)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        begin, end = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if begin == end:
            continue
        z, words, doc_row = tables.z[begin:end], cells.word[begin:end], tables.n_dk[doc]
        begin_chances(doc_row, passing, parameters, stay, go)
        if seats is None:
            moved += redraw_tokens(
                z, words, doc_row, tables.n_wk, tables.n_k, inverse, passing, parameters, stay, go,
                total, rng,
            )  # fmt: skip
        else:
            n_tables = take_tables(z, words, own_nodes, words_of)
            moved += redraw_tokens(
                own_nodes[:n_tables], words_of[:n_tables], doc_row, tables.n_wk, tables.n_k,
                inverse, passing, parameters, stay, go, total, rng,
            )  # fmt: skip
            put_tables(own_nodes, z)
            seat_document(
                z, words, doc_row, tables.n_wk, tables.n_k, inverse, passing, parameters, stay, go,
                total, seats, seat_rng,
            )  # fmt: skip
    return moved


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: TokenTopics,
    parameters: NodeParameters,
    rng: np.random.Generator,
    seats: DocumentProcess | None = None,
    seat_rng: Any = None,
) -> int:
    """Do as ``sweep_block`` does, by the lists of nodes that words have."""
    n_k = tables.n_k
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    # The lists stand for the rows of n_wk until the end, with room for every table that may come.
    if seats is None:
        lists = list_words(tables.n_wk, first_word, last_word)
    else:
        growth = empty_slots(cells, doc_shard, word_shard, tables.z, len(tables.n_wk))
        lists = list_words_that_grow(tables.n_wk, first_word, last_word, growth)
        own_nodes = np.empty(longest_of(cells, doc_shard, word_shard), np.int32)
        words_of = np.empty_like(own_nodes)
    start, length, entries, times = lists
    links, paths, member, head, above, begin, end = families_of(parameters.parent, parameters.first)
    nodes = nodes_of(n_k, parameters)
    share, local, factor, exact, weight = mixture_of(len(n_k), len(above))
    room = (len(n_k) + LANES - 1) // LANES * LANES
    chances, sums = np.zeros(room, np.float32), np.zeros(room, np.float32)
    before = np.zeros(LANES + 1, np.float32)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        # Only the tokens whose words lie in the block; another turn visits the others.
        begins, ends = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if begins == ends:
            continue
        z, words, doc_row = tables.z[begins:ends], cells.word[begins:ends], tables.n_dk[doc]
        if seats is None:
            moved += redraw_document(
                z, words, doc_row, parameters.eta, parameters.eta_total,
                links, paths, member, head, above, begin, end, start, length, entries, times,
                nodes, share, local, factor, exact, weight, chances, sums, before, rng,
            )  # fmt: skip
        else:
            # The nodes of the tables that there are come first; then tables come and go, given
            # these nodes.
            n_tables = take_tables(z, words, own_nodes, words_of)
            moved += redraw_document(
                own_nodes[:n_tables], words_of[:n_tables], doc_row,
                parameters.eta, parameters.eta_total,
                links, paths, member, head, above, begin, end, start, length, entries, times,
                nodes, share, local, factor, exact, weight, chances, sums, before, rng,
            )  # fmt: skip
            put_tables(own_nodes, z)
            seat_document_by_lists(
                z, words, doc_row, parameters.eta, parameters.eta_total,
                links, paths, member, head, above, begin, end, start, length, entries, times,
                nodes, share, local, factor, exact, weight, chances, sums, before, seats, seat_rng,
            )  # fmt: skip
    # ``nodes`` held the sums of the block meanwhile, beside what else is read of a node.
    for node in range(len(n_k)):
        n_k[node] = np.int64(nodes[node, TOKENS])
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved
