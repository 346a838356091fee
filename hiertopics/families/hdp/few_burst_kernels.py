"""The sweep over a few entries of each pair where documents are bursty (theory/bursts 6).

As ``hdp.few_kernels``, with the expected tables of a pair in the place of its tokens. All topics
are weighed at each visit, so that the chance of the word is exact; entries are thinned as ever.
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32
from hiertopics.families.flat.burst_kernels import TableRule, at_least_once, seated, total_of
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.hdp.few_kernels import (
    WORDS_AHEAD,
    Names,
    Table,
    Tables,
    Thinning,
    begin_document,
    choose,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd import prefetch_row, weigh_shares
from hiertopics.numeric.streams import random_bits


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    pair_tables: Table,
    n_k: F64,
    pseudo_counts: PseudoCounts,
    thinning: Thinning,
    seating: TableRule,
) -> int:
    """Visit each pair of a block once; as ``hdp.few_kernels.sweep_block``, which see.

    pair_tables [n_pairs]: of each pair, refitted too; documents without tables are put aside.
    Returns -1, or the document at which the weights ceased to be positive and finite.
    """
    n_topics = tables.n_dk.shape[1]
    noting = tables.seen_wk.shape[1] > 0
    room = (n_topics + LANES - 1) // LANES * LANES
    base, doc_row = np.zeros(n_topics, np.float32), np.zeros(n_topics, np.float32)
    shares, weights = np.zeros(n_topics, np.float32), np.full(room, np.float32(-1.0))
    names, values = np.zeros(room, np.int32), np.zeros(room, np.float32)
    nothing, once = np.zeros(0, np.float32), np.zeros(1, np.float32)
    mass = total_of(pseudo_counts.doc)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        doc_tables = total_of(pair_tables[cells.cuts[doc, 0] : cells.cuts[doc, -1]])
        # A document without tables is put aside: its pairs neither move nor count.
        if doc_tables == 0:
            continue
        n_dk = tables.n_dk[doc]
        # Rows of the document hold its counts with the prior; totals hold those of all other
        # documents.
        begin_document(n_dk, n_k, pseudo_counts, base, doc_row, shares)
        sound = visit(
            start,
            cells.word[start:stop],
            cells.tokens[start:stop],
            tables.topic,
            tables.share,
            tables.n_wk,
            pseudo_counts.word,
            pseudo_counts.doc,
            np.float32(pseudo_counts.word_total),
            thinning.grain,
            thinning.noise,
            thinning.key,
            base,
            doc_row,
            shares,
            weights,
            names,
            values,
            tables.seen_dk[doc] if noting else nothing,
            tables.seen_wk,
            once,
            pair_tables[start:stop],
            doc_tables,
            mass,
            seating,
        )
        if not sound:
            return doc
        # What the visits moved goes to the totals before the next document begins.
        for topic in range(n_topics):
            n_k[topic] -= n_dk[topic]
            n_dk[topic] = doc_row[topic] - pseudo_counts.doc[topic]
            n_k[topic] += n_dk[topic]
    return -1


# The arrays come one by one: taken from a tuple they cost counted references at each pair.


@kernel()
def visit(
    first_pair: int,
    words: I32,
    tokens: Table,
    topics: Names,
    kept: Table,
    n_wk: Table,
    word_prior: Table,
    doc_prior: Table,
    least: np.float32,
    grain: float,
    noise: Table,
    key: np.uint64,
    base: Table,
    doc_row: Table,
    shares: Table,
    weights: Table,
    names: I32,
    values: Table,
    doc_seen: Table,
    seen_wk: Table,
    once: Table,
    pair_tables: Table,
    doc_tables: float,
    mass: float,
    seating: TableRule,
) -> bool:
    """Visit the pairs of one document; False if weights are not positive and finite.

    least: below which no topic's total of counts and prior may fall by rounding. doc_tables: of the
    document; mass: of its prior.
    """
    none, one = np.float32(0.0), np.float32(1.0)
    n_topics, room, last = len(doc_row), kept.shape[1], len(words) - 1
    n_starts = np.uint64(len(noise) - len(weights))
    for place in range(len(words)):
        pair, word, count = first_pair + place, words[place], tokens[place]
        prefetch_row(n_wk, words[min(place + WORDS_AHEAD, last)])
        word_row = n_wk[word]
        n_old = 0
        # One table of the pair is taken out of document, word and shares. Entries fill a pair's
        # room from the left; the first empty one ends them.
        while n_old < room and kept[pair, n_old] > none:
            topic, share = np.int64(topics[pair, n_old]), kept[pair, n_old]
            left = max(doc_row[topic] - share, doc_prior[topic])
            doc_row[topic], word_row[topic] = left, max(word_row[topic] - share, none)
            shares[topic] = left / max(left + base[topic], least)
            n_old += 1
        total = weigh_shares(shares, word_row, word_prior[word], weights[:n_topics])
        if not (total > none and total < np.inf):
            return False
        start = np.int64(random_bits(key, pair) % n_starts)
        threshold = np.float32(grain) * total
        # Entries that are small beside the sum are kept at random with their mean unchanged, so
        # that a pair has few.
        n_new = choose(weights, noise, start, threshold, room, names, values)
        before, after = pair_tables[place], pair_tables[place]
        if seating.refit and count > one:
            others = doc_tables - 1.0
            after = np.float32(seated(count, total / (others + mass), others, seating))
            doc_tables += after - before
            pair_tables[place] = after
        # The other tables of the pair leave after the weights were taken: only one was to be
        # excluded.
        for i in range(n_old if before > one else 0):
            topic, share = np.int64(topics[pair, i]), (before - one) * kept[pair, i]
            left = max(doc_row[topic] - share, doc_prior[topic])
            doc_row[topic], word_row[topic] = left, max(word_row[topic] - share, none)
            shares[topic] = left / max(left + base[topic], least)
        for i in range(n_new):
            topic, share = np.int64(names[i]), values[i]
            topics[pair, i], kept[pair, i] = topic, share
            more = doc_row[topic] + after * share
            doc_row[topic] = more
            word_row[topic] += after * share
            shares[topic] = more / max(more + base[topic], least)
            # The chance that a topic is seen at least once, for the expected tables of the
            # hyperparameters.
            if len(doc_seen) > 0:
                whole = int(after)
                at_least_once(values[i : i + 1], whole, float(after) - whole, once)
                doc_seen[topic] += (one - doc_seen[topic]) * once[0]
                seen_wk[word, topic] += (one - seen_wk[word, topic]) * once[0]
        for i in range(n_new, n_old):
            kept[pair, i] = none
    return True
