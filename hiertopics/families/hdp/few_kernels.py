"""The collapsed sweep over pairs whose responsibilities are kept as a few entries (theory/hdp 3.7).

All topics are weighed at each visit; what is stored of q(z) is a few entries whose expectation it
is. A pair costs one product per topic and one division per entry, and no memory per topic.

Names: topic and share hold the entries of q(z), share 0 from the first that is not used on; the
other names are those of ``flat.kernels``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, F64, I32
from hiertopics.families.flat.burst_kernels import (
    TableRule,
    at_least_once as row_at_least_once,
    seated,
    total_of,
)
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd import aligned_rows, prefetch_row, weigh, weigh_shares
from hiertopics.numeric.simd_draws import Float, Int, keep_few
from hiertopics.numeric.streams import random_bits

Table = F32
Names = NDArray[np.unsignedinteger[Any]]

WORDS_AHEAD = 3

COARSER = np.float32(1.5)
"""Factor of the threshold where more entries pass than there is room for."""

FINER = np.float32(0.5)
"""Factor of the threshold where no entry passes, which is rare: all shares are small then."""


class EntryCounts(NamedTuple):
    """A few entries of responsibilities and the expected counts, which a sweep moves.

    topic uint16 or uint32, share float32 [n_pairs, room]: entries. n_dk [n_docs, T], n_wk
    [n_words, T]; seen_dk and seen_wk likewise, or tables without columns where indicators are not
    wanted.
    """

    topic: Names
    share: Table
    n_dk: Table
    n_wk: Table
    seen_dk: Table
    seen_wk: Table


class Thinning(NamedTuple):
    """How entries are chosen: those below ``grain`` at random.

    noise: uniform numbers on (0, 1], T and more. key: of the sweep, which says where in the noise
    a pair begins.
    """

    grain: float
    noise: Table
    key: np.uint64


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: EntryCounts,
    n_k: F64,
    pseudo_counts: PseudoCounts,
    thinning: Thinning,
    pair_tables: Any = None,
    seating: TableRule | None = None,
) -> int:
    """Visit each pair of a block once; as ``flat.kernels.sweep_block``, which see.

    Where documents are bursty a pair's expected tables stand in the place of its tokens
    (theory/bursts 6). pair_tables [n_pairs]: of each pair, refitted too by ``seating``; documents
    without tables are put aside. Returns -1, or the document at which the weights ceased to be
    positive and finite.
    """
    n_topics = tables.n_dk.shape[1]
    noting = tables.seen_wk.shape[1] > 0
    room = (n_topics + LANES - 1) // LANES * LANES
    base, doc_row = np.zeros(n_topics, np.float32), np.zeros(n_topics, np.float32)
    shares, weights = np.zeros(n_topics, np.float32), np.full(room, np.float32(-1.0))
    names, values = np.zeros(room, np.int32), np.zeros(room, np.float32)
    nothing, once = np.zeros(0, np.float32), np.zeros(1, np.float32)
    own_tables, doc_tables, mass = nothing, 0.0, 0.0
    if seating is not None:
        mass = total_of(pseudo_counts.doc)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        if seating is not None:
            doc_tables = total_of(pair_tables[cells.cuts[doc, 0] : cells.cuts[doc, -1]])
            # A document without tables is put aside: its pairs neither move nor count.
            if doc_tables == 0:
                continue
            own_tables = pair_tables[start:stop]
        n_dk = tables.n_dk[doc]
        # Rows of the document hold its counts with the prior; totals hold those of all other
        # documents.
        begin_document(n_dk, n_k, pseudo_counts, base, doc_row, shares)
        # The pairs of the document that belong to this shard of words, in the order of word ids.
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
            own_tables,
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
    seating: TableRule | None,
) -> bool:
    """Visit the pairs of one document; False if weights are not positive and finite.

    least: below which no topic's total of counts and prior may fall by rounding. doc_tables: of the
    document; mass: of its prior. once: room for one number.
    """
    none, one = np.float32(0.0), np.float32(1.0)
    n_topics, room, last = len(doc_row), kept.shape[1], len(words) - 1
    n_starts = np.uint64(len(noise) - len(weights))
    for place in range(len(words)):
        pair, word, count = first_pair + place, words[place], tokens[place]
        prefetch_row(n_wk, words[min(place + WORDS_AHEAD, last)])
        word_row = n_wk[word]
        n_old = 0
        # One token, or table, of the pair is taken out of document, word and shares. Entries fill
        # a pair's room from the left; the first empty one ends them.
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
        times, after = count, count
        if seating is not None:
            times, after = pair_tables[place], pair_tables[place]
            if seating.refit and count > one:
                others = doc_tables - 1.0
                after = np.float32(seated(count, total / (others + mass), others, seating))
                doc_tables += after - times
                pair_tables[place] = after
        # The others of the pair leave after the weights were taken: only one was to be excluded.
        for i in range(n_old if times > one else 0):
            topic, share = np.int64(topics[pair, i]), (times - one) * kept[pair, i]
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
                if seating is None:
                    seen = at_least_once(share, np.int64(count))
                else:
                    whole = int(after)
                    row_at_least_once(values[i : i + 1], whole, float(after) - whole, once)
                    seen = once[0]
                doc_seen[topic] += (one - doc_seen[topic]) * seen
                seen_wk[word, topic] += (one - seen_wk[word, topic]) * seen
        for i in range(n_new, n_old):
            kept[pair, i] = none
    return True


@kernel()
def choose(
    weights: Table, noise: Table, start: Int, threshold: Float, room: int, names: I32, values: Table
) -> int:
    """Choose entries, scaled to sum to 1; return how many, 1 to ``room``.

    Where more pass than there is room for, the threshold grows; where none does, the next numbers
    of the noise are taken.
    """
    n_starts = len(noise) - len(weights)
    n_kept = keep_few(weights, noise, start, threshold, names, values)
    while n_kept > room or n_kept == 0:
        start = (start + len(weights)) % n_starts
        threshold *= COARSER if n_kept > 0 else FINER
        n_kept = keep_few(weights, noise, start, threshold, names, values)
    total = np.float32(0.0)
    for i in range(n_kept):
        total += values[i]
    for i in range(n_kept):
        values[i] /= total
    return n_kept


@kernel()
def at_least_once(share: np.float32, count: Int) -> np.float32:
    """Return 1 - (1 - share)^count, by squaring of "not seen" but without its cancellation."""
    seen, one = np.float32(0.0), np.float32(1.0)
    while count > 0:
        if count & 1:
            seen += (one - seen) * share
        share += (one - share) * share
        count >>= 1
    return seen


class CountTables(NamedTuple):
    """n_dk [n_docs, T], n_wk [n_words, T] and, float64, n_k [T]."""

    n_dk: Table
    n_wk: Table
    n_k: F64


@kernel()
def pass_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    counts: CountTables,
    pseudo_counts: PseudoCounts,
    new_dk: Table,
    new_wk: Table,
) -> int:
    """Add q(z) of a block's pairs, made of the counts before the pass alone, to new counts.

    Returns as ``sweep_block``.
    """
    n_topics = counts.n_dk.shape[1]
    rows = aligned_rows(5, new_wk)
    base, doc_row, shares = rows[0][:n_topics], rows[1][:n_topics], rows[2][:n_topics]
    own, weights = rows[3][:n_topics], rows[4][:n_topics]
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        begin_document(counts.n_dk[doc], counts.n_k, pseudo_counts, base, doc_row, shares)
        sound = pass_document(
            cells.word[start:stop],
            cells.tokens[start:stop],
            counts.n_wk,
            pseudo_counts.word,
            pseudo_counts.doc,
            base,
            doc_row,
            shares,
            own,
            weights,
            new_dk[doc],
            new_wk,
        )
        if not sound:
            return doc
    return -1


@kernel()
def pass_document(
    words: I32,
    tokens: Table,
    n_wk: Table,
    word_prior: Table,
    doc_prior: Table,
    base: Table,
    doc_row: Table,
    shares: Table,
    own: Table,
    weights: Table,
    new_row: Table,
    new_wk: Table,
) -> bool:
    """Add q(z) of a document's pairs to new counts; False: weights not positive and finite."""
    last = len(words) - 1
    for place in range(len(words)):
        word = words[place]
        prefetch_row(n_wk, words[min(place + WORDS_AHEAD, last)])
        prefetch_row(new_wk, words[min(place + WORDS_AHEAD, last)])
        total = weigh_alone(
            n_wk[word], word_prior[word], doc_prior, base, doc_row, shares, own, weights
        )
        if not (total > 0 and total < np.inf):
            return False
        add_scaled(weights, tokens[place] / total, new_row, new_wk[word])
    return True


@kernel()
def begin_document(
    n_dk: Table, n_k: F64, pseudo_counts: PseudoCounts, base: Table, doc_row: Table, shares: Table
) -> None:
    """Write a document's counts plus its prior, the corpus's others, and their quotient."""
    least = np.float32(pseudo_counts.word_total)
    for topic in range(len(base)):
        doc_row[topic] = n_dk[topic] + pseudo_counts.doc[topic]
        # Rounding may leave less than no tokens of others, where eta is tiny nothing at all.
        others = max(n_k[topic] - n_dk[topic], 0.0)
        base[topic] = others + pseudo_counts.word_total - pseudo_counts.doc[topic]
        shares[topic] = doc_row[topic] / max(doc_row[topic] + base[topic], least)


@kernel()
def weigh_alone(
    word_row: Table,
    word_prior: float,
    doc_prior: Table,
    base: Table,
    doc_row: Table,
    shares: Table,
    own: Table,
    weights: Table,
) -> float:
    """Write a pair's weights to ``weights`` [T] where its q(z) is not known; return their sum.

    q is what solves q = F(counts - q): one step from q = F(counts), which goes to ``own`` [T].
    """
    scale = np.float32(1.0) / weigh_shares(shares, word_row, word_prior, own)
    for topic in range(len(own)):
        own[topic] *= scale
    return weigh(own, doc_row, word_row, doc_prior, base, word_prior, weights)


@kernel()
def add_scaled(weights: Table, scale: float, doc_row: Table, word_row: Table) -> None:
    """Add ``scale`` times ``weights`` to two rows [T]."""
    factor = np.float32(scale)
    for topic in range(len(weights)):
        part = factor * weights[topic]
        doc_row[topic] += part
        word_row[topic] += part


@kernel()
def choose_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    counts: CountTables,
    pseudo_counts: PseudoCounts,
    thinning: Thinning,
    topics: Names,
    kept: Table,
) -> int:
    """Choose the first entries of a block's pairs, whose ``kept`` is 0, of q(z) as in a pass.

    Returns as ``sweep_block``.
    """
    n_topics, n_room = counts.n_dk.shape[1], kept.shape[1]
    rows = aligned_rows(4, counts.n_wk)
    base, doc_row, shares = rows[0][:n_topics], rows[1][:n_topics], rows[2][:n_topics]
    own = rows[3][:n_topics]
    room = (n_topics + LANES - 1) // LANES * LANES
    weights = np.full(room, np.float32(-1.0))
    names, values = np.zeros(room, np.int32), np.zeros(room, np.float32)
    n_starts = np.uint64(len(thinning.noise) - room)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        begin_document(counts.n_dk[doc], counts.n_k, pseudo_counts, base, doc_row, shares)
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            word = cells.word[pair]
            total = weigh_alone(
                counts.n_wk[word],
                pseudo_counts.word[word],
                pseudo_counts.doc,
                base,
                doc_row,
                shares,
                own,
                weights[:n_topics],
            )
            if not (total > 0 and total < np.inf):
                return doc
            start = np.int64(random_bits(thinning.key, pair) % n_starts)
            threshold = np.float32(thinning.grain) * total
            n_kept = choose(weights, thinning.noise, start, threshold, n_room, names, values)
            for i in range(n_kept):
                topics[pair, i], kept[pair, i] = names[i], values[i]
    return -1


@kernel()
def choose_rows(
    rows: Table, first_pair: int, thinning: Thinning, topics: Names, kept: Table
) -> None:
    """Choose entries of pairs from ``first_pair`` on, whose ``kept`` is 0, of q(z) [n, T]."""
    n_topics, n_room = rows.shape[1], kept.shape[1]
    room = (n_topics + LANES - 1) // LANES * LANES
    weights = np.full(room, np.float32(-1.0))
    names, values = np.zeros(room, np.int32), np.zeros(room, np.float32)
    n_starts = np.uint64(len(thinning.noise) - room)
    for place in range(len(rows)):
        pair = first_pair + place
        weights[:n_topics] = rows[place]
        start = np.int64(random_bits(thinning.key, pair) % n_starts)
        threshold = np.float32(thinning.grain)
        n_kept = choose(weights, thinning.noise, start, threshold, n_room, names, values)
        for i in range(n_kept):
            topics[pair, i], kept[pair, i] = names[i], values[i]


@kernel()
def recount_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    topics: Names,
    kept: Table,
    n_dk: Table,
    n_wk: Table,
) -> None:
    """Add a block's pairs to n_dk and n_wk, which the caller has set to zero."""
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            word, count = cells.word[pair], cells.tokens[pair]
            for i in range(kept.shape[1]):
                if kept[pair, i] == 0:
                    break
                n_dk[doc, topics[pair, i]] += count * kept[pair, i]
                n_wk[word, topics[pair, i]] += count * kept[pair, i]


@kernel()
def spread_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    topics: Names,
    kept: Table,
    var_dk: Table,
    var_wk: Table,
) -> None:
    """Add a block's pairs to Var[n_dk] and Var[n_wk], which the caller has set to zero."""
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            word, count = cells.word[pair], cells.tokens[pair]
            for i in range(kept.shape[1]):
                share = kept[pair, i]
                if share == 0:
                    break
                spread = count * share * (np.float32(1.0) - share)
                var_dk[doc, topics[pair, i]] += spread
                var_wk[word, topics[pair, i]] += spread
