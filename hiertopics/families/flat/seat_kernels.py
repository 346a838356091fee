"""Drawn tables of bursty documents, which have topics, come and go (theory/bursts 9).

Tokens of a document stand pair by pair. A pair of c tokens has c slots, and its t tables have
topics in the first t of them; the others are EMPTY. All counts are of tables.

A table comes to the end of the row, drawn as a token's topic is, or the last one goes: the state
of the pair names the one table that may go. Either is proposed with chance 1/2 whatever t is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32, Floats
from hiertopics.families.flat.burst_kernels import total_of
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import (
    add_up_blocks,
    draw_in_blocks,
    last_place,
    place_of,
    weigh,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.pitman_yor_kernels import LARGEST, Stirling
from hiertopics.numeric.simd_draws import Int, gather_list, pick_place, sum_list

EMPTY = -1
"""In place of the topic of a slot without a table."""

N_STEPS = 1
"""Tables that may come or go at a pair in a sweep."""


class DocumentProcess(NamedTuple):
    """The process of documents. discount: a. concentration: b. stirling: S of counts that occur."""

    discount: float
    concentration: float
    stirling: Stirling


@kernel(inline=True)
def end_of_pair(words: I32, first: int, stop: int) -> int:
    """Return where the tokens end that have the word of token ``first``, at most ``stop``.

    words: [n_tokens], the word of each token.
    """
    end = first + 1
    while end < stop and words[end] == words[first]:
        end += 1
    return end


@kernel(inline=True)
def tables_of_pair(z: I32, first: int, end: int) -> int:
    """Return the tables of the pair whose slots are ``first`` to below ``end`` of z [n_tokens]."""
    n_tables = 0
    while first + n_tables < end and z[first + n_tables] >= 0:
        n_tables += 1
    return n_tables


@kernel()
def odds_of_another(seats: DocumentProcess, count: Int, tables: Int, all_tables: Int) -> float:
    """Return the factor of (1) for one more table of a pair of c tokens, without its word.

    That is S^c_{t+1} / S^c_t (b + a T). tables: t of the pair, all_tables: T of the document,
    without it.
    """
    at = seats.stirling.starts[seats.stirling.row[count]] + tables
    ratio = math.exp(seats.stirling.values[at] - seats.stirling.values[at - 1])
    return ratio * (seats.concentration + seats.discount * all_tables)


@kernel()
def begin_slots(cells: Cells, z: I32) -> None:
    """Empty the slots of z [n_tokens], full before, that pairs have beyond LARGEST."""
    for doc in range(cells.cuts.shape[0]):
        first, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        while first < stop:
            end = end_of_pair(cells.word, first, stop)
            for slot in range(first + LARGEST, end):
                z[slot] = EMPTY
            first = end


@kernel()
def count_tables(cells: Cells, z: I32, n_dk: I32, n_wk: I32) -> None:
    """Add every table to n_dk [n_docs, T] and n_wk [n_words, T]."""
    for doc in range(cells.cuts.shape[0]):
        for slot in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            if z[slot] >= 0:
                n_dk[doc, z[slot]] += 1
                n_wk[cells.word[slot], z[slot]] += 1


@kernel()
def are_rows(cells: Cells, z: I32, aside: bool) -> bool:
    """Tell whether each pair has a table, and no table behind an empty slot or beyond LARGEST.

    z: [n_tokens]. aside: documents may be put aside, which have no table at all.
    """
    for doc in range(cells.cuts.shape[0]):
        first, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        if aside and (z[first:stop] < 0).all():
            continue
        while first < stop:
            end = end_of_pair(cells.word, first, stop)
            n_tables = tables_of_pair(z, first, end)
            if n_tables == 0 or n_tables > LARGEST:
                return False
            for slot in range(first + n_tables, end):
                if z[slot] >= 0:
                    return False
            first = end
    return True


@kernel()
def count_pairs(cells: Cells, z: I32, row: I32, starts: I64, found: I64) -> None:
    """Add pairs to ``found``, by tokens and tables, which lie there as in ``Stirling.values``."""
    for doc in range(cells.cuts.shape[0]):
        first, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        while first < stop:
            end = end_of_pair(cells.word, first, stop)
            of_count = starts[row[min(end - first, LARGEST)]]
            n_tables = tables_of_pair(z, first, end)
            # Documents that are put aside have none.
            if n_tables > 0:
                found[of_count + n_tables - 1] += 1
            first = end


@kernel()
def take_tables(z: I32, words: I32, topics: I32, words_of: I32) -> int:
    """Write topics and words of all tables, in order, to topics and words_of; return how many."""
    n_tables = 0
    for slot in range(len(z)):
        if z[slot] >= 0:
            topics[n_tables], words_of[n_tables] = z[slot], words[slot]
            n_tables += 1
    return n_tables


@kernel()
def put_tables(topics: I32, z: I32) -> None:
    """Write the topics of all tables, in order, back to z."""
    n_tables = 0
    for slot in range(len(z)):
        if z[slot] >= 0:
            z[slot] = topics[n_tables]
            n_tables += 1


@kernel()
def longest_of(cells: Cells, doc_shard: int, word_shard: int) -> int:
    """Return the most slots that a document has in a block."""
    longest = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        longest = max(longest, cells.cuts[doc, word_shard + 1] - cells.cuts[doc, word_shard])
    return longest


@kernel()
def empty_slots(cells: Cells, doc_shard: int, word_shard: int, z: I32, n_words: int) -> I64:
    """Return the empty slots of each word in a block, int64 [n_words]."""
    found = np.zeros(n_words, np.int64)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for slot in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            if z[slot] < 0:
                found[cells.word[slot]] += 1
    return found


# Arrays come one by one: taken from a tuple they would cost counted references per pair.


@kernel()
def seat_document(
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
    seats: DocumentProcess,
    rng: np.random.Generator,
) -> None:
    """Add or remove tables of one document.

    Arrays as of ``sweep_kernels.sweep_document``, with slots in place of tokens.
    """
    all_tables, mass = np.int64(0), total_of(prior)
    for column in range(len(doc_row)):
        all_tables += doc_row[column]
    first, stop = 0, len(z)
    while first < stop:
        end = end_of_pair(words, first, stop)
        word, count = words[first], min(end - first, LARGEST)
        word_row, own_prior = n_wk[word], word_prior[word]
        n_tables = np.int64(tables_of_pair(z, first, first + count))
        # A pair of one token has one table, which neither goes nor gets company. Three numbers are
        # drawn at each step, whatever becomes of it.
        for _ in range(N_STEPS if count > 1 else 0):
            direction, chance, where = rng.random(), rng.random(), rng.random()
            if direction < 0.5:
                if n_tables == count:
                    continue
                # A table that comes is weighed with all tables in.
                weigh(scaled, word_row, own_prior, scratch)
                p = add_up_blocks(scratch, ends) / (all_tables + mass)
                if chance >= odds_of_another(seats, count, n_tables, all_tables) * p:
                    continue
                topic, change = np.int64(draw_in_blocks(scratch, ends, where)), np.int64(1)
                z[first + n_tables] = topic
            else:
                if n_tables == 1:
                    continue
                topic, change = np.int64(z[first + n_tables - 1]), np.int64(-1)
            doc_row[topic] += change
            word_row[topic] += change
            n_k[topic] += change
            inverse[topic] = 1.0 / (n_k[topic] + word_total)
            scaled[topic] = (doc_row[topic] + prior[topic]) * inverse[topic]
            # A table that goes is weighed without it; it comes back where the step is refused.
            if change < 0:
                weigh(scaled, word_row, own_prior, scratch)
                p = add_up_blocks(scratch, ends) / (all_tables - 1 + mass)
                if chance * odds_of_another(seats, count, n_tables - 1, all_tables - 1) * p >= 1.0:
                    doc_row[topic] += 1
                    word_row[topic] += 1
                    n_k[topic] += 1
                    inverse[topic] = 1.0 / (n_k[topic] + word_total)
                    scaled[topic] = (doc_row[topic] + prior[topic]) * inverse[topic]
                    continue
                z[first + n_tables - 1] = EMPTY
            n_tables += change
            all_tables += change
        first = end


@kernel()
def seat_document_by_lists(
    z: I32,
    words: I32,
    doc_row: I32,
    n_k: I64,
    prior: Floats,
    word_prior: Floats,
    word_total: float,
    inverse: F64,
    start: I64,
    length: I64,
    topics: U32,
    times: F32,
    scaled: F32,
    chances: F32,
    sums: F32,
    before: F32,
    ends: F64,
    seats: DocumentProcess,
    rng: np.random.Generator,
) -> None:
    """Do as ``seat_document`` does, at the cost of the topics of each word.

    Arrays as of ``sweep_kernels.sweep_document_by_lists``, with slots in place of tokens. scaled:
    (doc_row + prior) * inverse, as that function leaves it. Lists have room for all that may come.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    all_tables, mass, total = np.int64(0), total_of(prior), total_of(scaled)
    for column in range(len(doc_row)):
        all_tables += doc_row[column]
    first, stop = 0, len(z)
    while first < stop:
        end = end_of_pair(words, first, stop)
        word, count = np.int64(words[first]), min(end - first, LARGEST)
        at_list, n, own_prior = start[word], length[word], np.float64(word_prior[word])
        n_tables = np.int64(tables_of_pair(z, first, first + count))
        for _ in range(N_STEPS if count > 1 else 0):
            direction, chance, where = rng.random(), rng.random(), rng.random()
            if direction < 0.5:
                if n_tables == count:
                    continue
                # A table that comes is weighed with all tables in: topics that the word has, and
                # the word's prior over all topics.
                gather_list(scaled, topics, at_list, n, chances)
                of_list = np.float64(sum_list(chances, times, at_list, n, n, none, sums, before))
                weight = of_list + own_prior * total
                p = weight / (all_tables + mass)
                if chance >= odds_of_another(seats, count, n_tables, all_tables) * p:
                    continue
                target = where * weight
                if target < of_list:
                    at = np.int64(pick_place(sums, before, n, np.float32(target)))
                    if at >= n or not chances[at] * times[at_list + at]:
                        at = np.int64(last_place(chances, times, at_list, n, n, none))
                    new = np.int64(topics[at_list + at])
                else:
                    rest = (target - of_list) / (own_prior * total)
                    new = np.int64(draw_in_blocks(scaled, ends, rest))
                z[first + n_tables] = new
                place = place_of(topics, at_list, n, new)
                if place == n:
                    topics[at_list + n] = new
                    n += 1
                times[at_list + place] += one
                topic, change = new, np.int64(1)
            else:
                if n_tables == 1:
                    continue
                old = np.int64(z[first + n_tables - 1])
                gather_list(scaled, topics, at_list, n, chances)
                place = place_of(topics, at_list, n, old)
                # A table that goes is weighed without it. Nothing is written before it is accepted.
                inverse_old = 1.0 / (n_k[old] - 1 + word_total)
                share = np.float32((doc_row[old] - 1 + prior[old]) * inverse_old)
                left = times[at_list + place] - one
                others = total + (np.float64(share) - np.float64(scaled[old]))
                of_list = np.float64(
                    sum_list(chances, times, at_list, n, place, share * left, sums, before)
                )
                p = (of_list + own_prior * others) / (all_tables - 1 + mass)
                if chance * odds_of_another(seats, count, n_tables - 1, all_tables - 1) * p >= 1.0:
                    continue
                z[first + n_tables - 1] = EMPTY
                times[at_list + place] = left
                # A topic without a table of the word gives its place to the last one of the list.
                if left == none:
                    n -= 1
                    topics[at_list + place] = topics[at_list + n]
                    times[at_list + place], times[at_list + n] = times[at_list + n], none
                topic, change = old, np.int64(-1)
            length[word] = n
            n_tables += change
            all_tables += change
            doc_row[topic] += change
            n_k[topic] += change
            inverse[topic] = 1.0 / (n_k[topic] + word_total)
            share = np.float32((doc_row[topic] + prior[topic]) * inverse[topic])
            total += np.float64(share) - np.float64(scaled[topic])
            scaled[topic] = share
        first = end
