"""Sweeps given the topics where documents are bursty (theory/bursts 9.3).

Of each document the tables of a word get topics as tokens do in the plain sweep; then a table of
the word may come or go. Topics are held, so that documents do not see each other. Slots are
numbered as tokens: a pair of c tokens has c of them, and its t tables have topics in the first t
of them; the others are EMPTY.

Random numbers belong to slots: one for the topic of each, used or not, and of another key three
for the step of a pair, which have the number of the pair's first slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, I32, I64, U8, U16, Bools
from hiertopics.families.flat.burst_kernels import total_of
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess, odds_of_another
from hiertopics.families.flat.sweep_kernels import last_place
from hiertopics.families.hdp.block_kernels import (
    BlockScratch,
    BlockSweepInput,
    DocumentLists,
    SlotTopics,
    SweepOutput,
    Topics,
    begin_lists,
    draw_from_all,
    note_counts,
    redraw_pair,
)
from hiertopics.families.hdp.block_layout import Piece
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.pitman_yor_kernels import LARGEST
from hiertopics.numeric.simd import prefetch_row
from hiertopics.numeric.simd_draws import Int, gather_list, pick_place, scale_row, sum_list
from hiertopics.numeric.streams import uniform


class TableInput(NamedTuple):
    """Input of a sweep about tables. held: no table comes or goes.

    unit: times the table of topics and its scale it is p(w | topic). key: of the random numbers.
    """

    seats: DocumentProcess
    held: bool
    unit: float
    key: np.uint64


@kernel()
def sweep_block(
    piece: Piece,
    block: int,
    before: SlotTopics,
    after: SlotTopics,
    sweep_input: BlockSweepInput,
    table_input: TableInput,
    n_topics: int,
    lists: DocumentLists,
    all_tables: I64,
    scratch: BlockScratch,
    output: SweepOutput,
) -> int:
    """Redraw all tables of a block; return how many changed their topic.

    As ``block_kernels.sweep_block``, which see. all_tables: int64 [n_docs], room for the tables of
    each document of the block.
    """
    first, last = piece.block_doc[block], piece.block_doc[block + 1]
    begin_lists(
        piece.doc_ptr, first, last, before, n_topics, lists.start, lists.length, lists.topic,
        lists.times, lists.place, lists.token,
    )  # fmt: skip
    for doc in range(last - first):
        all_tables[doc] = 0
        for at in range(lists.start[doc], lists.start[doc] + lists.length[doc]):
            all_tables[doc] += np.int64(lists.times[at])
    moved = visit_words(
        piece.word, piece.n_pairs, piece.block_entry[block], piece.block_entry[block + 1],
        piece.block_pair[block], piece.doc, piece.n_tokens, piece.doc_ptr[0], before, after,
        sweep_input.table, sweep_input.table.reshape(-1), sweep_input.scale, sweep_input.prior,
        sweep_input.key, table_input.seats, table_input.held, table_input.unit, table_input.key,
        n_topics, all_tables, lists.start, lists.length, lists.topic, lists.times, lists.place,
        lists.token, scratch.scaled, scratch.lanes, scratch.chances, scratch.sums, scratch.before,
        scratch.change, scratch.marked, scratch.touched, output.cells, output.amounts,
        output.n_changes,
    )  # fmt: skip
    note_counts(last - first, lists, output)
    return moved


# The arrays come one by one: taken from a tuple they cost counted references at each pair.


@kernel()
def visit_words(
    words: I32,
    n_pairs: I32,
    first_entry: int,
    last_entry: int,
    first_pair: int,
    docs: U16,
    n_tokens: U8,
    first_token: int,
    z: SlotTopics,
    after: SlotTopics,
    table: F32,
    flat_table: F32,
    scale: F32,
    prior: F32,
    key: np.uint64,
    seats: DocumentProcess,
    held: bool,
    unit: float,
    seat_key: np.uint64,
    n_topics: int,
    all_tables: I64,
    start: I64,
    length: I64,
    topics: Topics,
    counts: F32,
    places: Topics,
    tokens: I64,
    scaled: F32,
    lanes: F32,
    chances: F32,
    sums: F32,
    before: F32,
    change: I32,
    marked: Bools,
    touched: I64,
    cells: I64,
    amounts: I32,
    n_changes: I64,
) -> int:
    """Redraw the tables of a block, word by word, and write the changes of n_wk."""
    one, none = np.float32(1.0), np.float32(0.0)
    mass = total_of(prior)
    n_moved, pair, written = 0, first_pair, n_changes[0]
    for entry in range(first_entry, last_entry):
        word = np.int64(words[entry])
        if entry + 1 < last_entry:
            prefetch_row(table, words[entry + 1])
        of_all = np.float64(scale_row(flat_table, word * len(scale), scale, prior, scaled, lanes))
        n_touched, end = 0, pair + n_pairs[entry]
        while pair < end:
            doc, count = np.int64(docs[pair]), np.int64(n_tokens[pair])
            pair += 1
            # A pair of many tokens is laid out as several, one behind the other.
            while pair < end and docs[pair] == doc:
                count += np.int64(n_tokens[pair])
                pair += 1
            own, first, n, token = doc * n_topics, start[doc], length[doc], tokens[doc]
            tokens[doc] = token + count
            n_tables = np.int64(0)
            while n_tables < count and z[token + n_tables] >= 0:
                n_tables += 1
            for slot in range(token + n_tables, token + count):
                after[slot] = EMPTY
            # A document that is put aside has no table, and gets none.
            if n_tables == 0:
                continue
            gather_list(scaled, topics, first, n, chances)
            n, n_touched, moved = redraw_pair(
                z, after, token, token + n_tables, key, first_token, own, first, n, topics, counts,
                places, scaled, prior, lanes, of_all, chances, sums, before, change, marked,
                touched, n_touched,
            )  # fmt: skip
            n_moved += moved
            count = min(count, np.int64(LARGEST))
            if not held and count > 1:
                number = 3 * (first_token + token)
                direction, chance = uniform(seat_key, number), uniform(seat_key, number + 1)
                topic = np.int64(-1)
                if direction < 0.5 and n_tables < count:
                    # A table that comes is weighed with all tables in.
                    of_list = np.float64(sum_list(chances, counts, first, n, n, none, sums, before))
                    weight = of_list + of_all
                    p = weight * unit / (all_tables[doc] + mass)
                    if chance < odds_of_another(seats, count, n_tables, all_tables[doc]) * p:
                        target = uniform(seat_key, number + 2) * weight
                        if target < of_list:
                            at = np.int64(pick_place(sums, before, n, np.float32(target)))
                            if at >= n or not chances[at] * counts[first + at]:
                                at = np.int64(last_place(chances, counts, first, n, n, none))
                            topic = np.int64(topics[first + at])
                        else:
                            topic = np.int64(draw_from_all(scaled, prior, lanes, target - of_list))
                        after[token + n_tables] = topic
                        if places[own + topic] == 0:
                            topics[first + n] = topic
                            n += 1
                            places[own + topic] = n
                        counts[first + np.int64(places[own + topic]) - 1] += one
                        all_tables[doc] += 1
                        change[topic] += 1
                elif direction >= 0.5 and n_tables > 1:
                    # A table that goes is weighed without it.
                    last = np.int64(after[token + n_tables - 1])
                    place = np.int64(places[own + last]) - 1
                    left = counts[first + place] - one
                    of_list = np.float64(
                        sum_list(
                            chances, counts, first, n, place, chances[place] * left, sums, before
                        )
                    )
                    others = all_tables[doc] - 1
                    p = (of_list + of_all) * unit / (others + mass)
                    if chance * odds_of_another(seats, count, n_tables - 1, others) * p < 1.0:
                        topic = last
                        after[token + n_tables - 1] = EMPTY
                        counts[first + place] = left
                        # A topic that the document lost gives its place to the last one.
                        if left == none:
                            n -= 1
                            places[own + topic] = 0
                            if place < n:
                                moving = np.int64(topics[first + n])
                                topics[first + place] = moving
                                counts[first + place] = counts[first + n]
                                places[own + moving] = place + 1
                                counts[first + n] = none
                        all_tables[doc] = others
                        change[topic] -= 1
                if topic >= 0 and not marked[topic]:
                    marked[topic] = True
                    touched[n_touched] = topic
                    n_touched += 1
            length[doc] = n
        for i in range(n_touched):
            topic = touched[i]
            if change[topic] != 0:
                cells[written], amounts[written] = word * n_topics + topic, change[topic]
                written += 1
            change[topic], marked[topic] = 0, False
    n_changes[0] = written
    return n_moved


@kernel()
def begin_slots(piece: Piece, z: SlotTopics) -> None:
    """Empty the slots of z [n_tokens], full before, that pairs have beyond LARGEST."""
    tokens = np.empty(len(piece.doc_ptr), np.int64)
    for block in range(len(piece.block_doc) - 1):
        begin_tokens(piece, block, tokens)
        pair = piece.block_pair[block]
        for entry in range(piece.block_entry[block], piece.block_entry[block + 1]):
            end = pair + piece.n_pairs[entry]
            while pair < end:
                doc, count, pair = next_pair(piece, pair, end)
                for slot in range(tokens[doc] + LARGEST, tokens[doc] + count):
                    z[slot] = EMPTY
                tokens[doc] += count


@kernel(inline=True)
def next_pair(piece: Piece, pair: int, end: int) -> tuple[Int, Int, int]:
    """Return document and tokens of the pair that begins there, and the one behind it."""
    doc, count = np.int64(piece.doc[pair]), np.int64(piece.n_tokens[pair])
    pair += 1
    while pair < end and piece.doc[pair] == doc:
        count += np.int64(piece.n_tokens[pair])
        pair += 1
    return doc, count, pair


@kernel()
def begin_tokens(piece: Piece, block: int, tokens: I64) -> None:
    """Write the first token of each document of a block to ``tokens``, int64 [n_docs]."""
    first = piece.block_doc[block]
    for doc in range(first, piece.block_doc[block + 1]):
        tokens[doc - first] = piece.doc_ptr[doc] - piece.doc_ptr[0]


@kernel()
def count_pairs(piece: Piece, z: SlotTopics, row: I32, starts: I64, found: I64) -> None:
    """Add pairs to ``found``, by tokens and tables, which lie there as in ``Stirling.values``."""
    tokens = np.empty(len(piece.doc_ptr), np.int64)
    for block in range(len(piece.block_doc) - 1):
        begin_tokens(piece, block, tokens)
        pair = piece.block_pair[block]
        for entry in range(piece.block_entry[block], piece.block_entry[block + 1]):
            end = pair + piece.n_pairs[entry]
            while pair < end:
                doc, count, pair = next_pair(piece, pair, end)
                n_tables = np.int64(0)
                while n_tables < count and z[tokens[doc] + n_tables] >= 0:
                    n_tables += 1
                # Documents that are put aside have none.
                if n_tables > 0:
                    found[starts[row[min(count, LARGEST)]] + n_tables - 1] += 1
                tokens[doc] += count


@kernel()
def are_rows(piece: Piece, z: SlotTopics, aside: bool) -> bool:
    """Tell whether each pair has a table, and no table behind an empty slot or beyond LARGEST.

    aside: documents may be put aside, which have no table at all.
    """
    tokens = np.empty(len(piece.doc_ptr), np.int64)
    for block in range(len(piece.block_doc) - 1):
        begin_tokens(piece, block, tokens)
        first_doc = piece.block_doc[block]
        pair = piece.block_pair[block]
        for entry in range(piece.block_entry[block], piece.block_entry[block + 1]):
            end = pair + piece.n_pairs[entry]
            while pair < end:
                doc, count, pair = next_pair(piece, pair, end)
                n_tables = np.int64(0)
                while n_tables < count and z[tokens[doc] + n_tables] >= 0:
                    n_tables += 1
                for slot in range(tokens[doc] + n_tables, tokens[doc] + count):
                    if z[slot] >= 0:
                        return False
                tokens[doc] += count
                if n_tables > LARGEST:
                    return False
                if n_tables == 0:
                    begin, stop = piece.doc_ptr[first_doc + doc], piece.doc_ptr[first_doc + doc + 1]
                    own = z[begin - piece.doc_ptr[0] : stop - piece.doc_ptr[0]]
                    if not aside or (own >= 0).any():
                        return False
    return True


@kernel()
def count_tables(doc_ptr: I64, z: SlotTopics, tables: I64) -> None:
    """Write the tables of each document to ``tables`` [n_docs]."""
    for doc in range(len(doc_ptr) - 1):
        tables[doc] = 0
        for slot in range(doc_ptr[doc] - doc_ptr[0], doc_ptr[doc + 1] - doc_ptr[0]):
            tables[doc] += z[slot] >= 0
