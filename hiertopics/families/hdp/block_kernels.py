"""The sweep over tokens given the topics, block by block (theory/hdp 6.2).

A token of word w in document d gets topic k with chance proportional to

    phi_wk (prior_k + n_dk without the token)

split into ``first`` = phi_wk prior_k, over all topics, and ``second`` = phi_wk n_dk, over the list
of topics that the document uses. A document's list is made anew from z at each visit, in order of
first occurrence: what order it has decides what a random number draws, and must be no hidden state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, I32, I64, U8, U16, Bools
from hiertopics.families.flat.sweep_kernels import last_place
from hiertopics.families.hdp.block_layout import Piece
from hiertopics.families.hdp.table_kernels import SMALL
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd import prefetch_row
from hiertopics.numeric.simd_draws import Int, gather_list, pick_place, scale_row, sum_list
from hiertopics.numeric.streams import uniform

Topics = NDArray[np.unsignedinteger[Any]]
SlotTopics = NDArray[np.integer[Any]]
"""Topics of tokens; below 0 where there is no table, of documents that are bursty."""


class BlockSweepInput(NamedTuple):
    """Fixed input of a sweep: topics, the documents' prior, and the key of its random numbers.

    table: float32 [n_words, n], columns times ``scale`` [n] are topics up to a factor that all
    share. prior: float32 [n], alpha pi. n >= T is a multiple of 16, all 0 from T on.
    """

    table: F32
    scale: F32
    prior: F32
    key: np.uint64


class DocumentLists(NamedTuple):
    """Topics that each document of a block uses, and how often.

    start, length: int64 [n_docs]. topic (as z), times float32: entries, those beyond a length 0.
    place: as z, [n_docs, T] flat, 1 + the place of each topic in the document's list, or 0.
    token: int64 [n_docs], the token that is next in each document.
    """

    start: I64
    length: I64
    topic: Topics
    times: F32
    place: Topics
    token: I64


class BlockScratch(NamedTuple):
    """Memory of a draw: by topic, by lane, by place in a list; changes of a word's counts."""

    scaled: F32
    lanes: F32
    chances: F32
    sums: F32
    before: F32
    change: I32
    marked: Bools
    touched: I64


class SweepOutput(NamedTuple):
    """Output of a sweep about its documents.

    histogram: int64 [T, SMALL], documents with each small count n_dk of each topic. large: int64
    [n, 2], topic and count of the others, n_large [1] of them. cells: int64, word T + topic, and
    amounts: int32, changes of n_wk, n_changes [1] of them.
    """

    histogram: I64
    large: I64
    n_large: I64
    cells: I64
    amounts: I32
    n_changes: I64


@kernel()
def sweep_block(
    piece: Piece,
    block: int,
    before: Topics,
    after: Topics,
    sweep_input: BlockSweepInput,
    n_topics: int,
    lists: DocumentLists,
    scratch: BlockScratch,
    output: SweepOutput,
) -> int:
    """Redraw all tokens of a block; return how many moved.

    before, after: topics of the piece's tokens. lists, scratch: memory for the block. output: is
    added to.
    """
    first, last = piece.block_doc[block], piece.block_doc[block + 1]
    # Topics are held during a block, so each document has a list of its topics, which moves with
    # its tokens.
    begin_lists(
        piece.doc_ptr,
        first,
        last,
        before,
        n_topics,
        lists.start,
        lists.length,
        lists.topic,
        lists.times,
        lists.place,
        lists.token,
    )
    # Words come first and documents second: the row of a word is scaled once for all its tokens in
    # the block.
    moved = visit_words(
        piece.word,
        piece.n_pairs,
        piece.block_entry[block],
        piece.block_entry[block + 1],
        piece.block_pair[block],
        piece.doc,
        piece.n_tokens,
        piece.doc_ptr[0],
        before,
        after,
        sweep_input.table,
        sweep_input.table.reshape(-1),
        sweep_input.scale,
        sweep_input.prior,
        sweep_input.key,
        n_topics,
        lists.start,
        lists.length,
        lists.topic,
        lists.times,
        lists.place,
        lists.token,
        scratch.scaled,
        scratch.lanes,
        scratch.chances,
        scratch.sums,
        scratch.before,
        scratch.change,
        scratch.marked,
        scratch.touched,
        output.cells,
        output.amounts,
        output.n_changes,
    )
    # Counts by topic and document are added up from the lists at the end.
    note_counts(last - first, lists, output)
    return moved


@kernel()
def begin_lists(
    doc_ptr: I64,
    first: int,
    last: int,
    z: SlotTopics,
    n_topics: int,
    start: I64,
    length: I64,
    topics: Topics,
    counts: F32,
    places: Topics,
    tokens: I64,
) -> None:
    """Make the lists of documents ``first`` to below ``last``, topics in order of occurrence.

    doc_ptr: [n_docs + 1]. z: the topic of each token. start, length, tokens: [n_docs of a block].
    topics, counts: the entries of all lists. places: [n_docs of a block * n_topics].
    """
    places[: (last - first) * n_topics] = 0
    room = 0
    for doc in range(first, last):
        here, own = doc - first, (doc - first) * n_topics
        begin, end = doc_ptr[doc] - doc_ptr[0], doc_ptr[doc + 1] - doc_ptr[0]
        start[here], tokens[here] = room, begin
        n = 0
        size = min(end - begin, n_topics)
        for at in range(room, room + (size + LANES - 1) // LANES * LANES):
            topics[at] = 0
            counts[at] = np.float32(0.0)
        for token in range(begin, end):
            topic = np.int64(z[token])
            if topic < 0:
                continue
            if places[own + topic] == 0:
                topics[room + n] = topic
                n += 1
                places[own + topic] = n
            counts[room + np.int64(places[own + topic]) - 1] += np.float32(1.0)
        length[here] = n
        room += (size + LANES - 1) // LANES * LANES


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
    z: Topics,
    after: Topics,
    table: F32,
    flat_table: F32,
    scale: F32,
    prior: F32,
    key: np.uint64,
    n_topics: int,
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
    """Redraw the tokens of a block, word by word, and write the changes of n_wk."""
    n_moved, pair, written = 0, first_pair, n_changes[0]
    for entry in range(first_entry, last_entry):
        word = np.int64(words[entry])
        if entry + 1 < last_entry:
            prefetch_row(table, words[entry + 1])
        # The part of all topics: the prior of documents times the word's row. It is the same for
        # all documents, so it is summed once a word.
        of_all = np.float64(scale_row(flat_table, word * len(scale), scale, prior, scaled, lanes))
        n_touched = 0
        for _ in range(n_pairs[entry]):
            doc = np.int64(docs[pair])
            own, first, n = doc * n_topics, start[doc], length[doc]
            # The part of the document: its topics times the same row, gathered once for the tokens
            # of the pair.
            gather_list(scaled, topics, first, n, chances)
            end = tokens[doc] + np.int64(n_tokens[pair])
            n, n_touched, moved = redraw_pair(
                z, after, tokens[doc], end, key, first_token, own, first, n, topics, counts, places,
                scaled, prior, lanes, of_all, chances, sums, before, change, marked, touched,
                n_touched,
            )  # fmt: skip
            n_moved += moved
            tokens[doc] = end
            length[doc] = n
            pair += 1
        # Only topics that a token of this word left or joined are written, and only where the two
        # do not cancel.
        for i in range(n_touched):
            topic = touched[i]
            if change[topic] != 0:
                cells[written], amounts[written] = word * n_topics + topic, change[topic]
                written += 1
            change[topic], marked[topic] = 0, False
    n_changes[0] = written
    return n_moved


@kernel(inline=True)
def redraw_pair(
    z: SlotTopics,
    after: SlotTopics,
    begin: Int,
    end: Int,
    key: np.uint64,
    first_token: int,
    own: Int,
    first: Int,
    n: Int,
    topics: Topics,
    counts: F32,
    places: Topics,
    scaled: F32,
    prior: F32,
    lanes: F32,
    of_all: float,
    chances: F32,
    sums: F32,
    before: F32,
    change: I32,
    marked: Bools,
    touched: I64,
    n_touched: int,
) -> tuple[Int, int, int]:
    """Redraw tokens of one word in a document, from ``begin`` to before ``end``.

    Returns the length of the document's list, the number of topics that the word's tokens have
    touched, and how many tokens moved. own, first, n: where the document's places and list begin,
    and the length of the list. The rest as in ``visit_words``.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    n_moved = 0
    for token in range(begin, end):
        old = np.int64(z[token])
        place = np.int64(places[own + old]) - 1
        left = counts[first + place] - one
        # Without the token itself: its topic counts one less in the list. The held topics do not
        # move.
        alone = chances[place] * left
        of_list = np.float64(sum_list(chances, counts, first, n, place, alone, sums, before))
        target = uniform(key, first_token + token) * (of_list + of_all)
        if target < of_list:
            at = np.int64(pick_place(sums, before, n, np.float32(target)))
            if at >= n or not (alone if at == place else chances[at] * counts[first + at]):
                at = np.int64(last_place(chances, counts, first, n, place, alone))
            new = np.int64(topics[first + at])
        else:
            new = np.int64(draw_from_all(scaled, prior, lanes, target - of_list))
        if new != old:
            n_moved += 1
            counts[first + place] = left
            # A topic that the document lost gives its place in the list to the last one.
            if left == none:
                n -= 1
                places[own + old] = 0
                if place < n:
                    last = np.int64(topics[first + n])
                    topics[first + place] = last
                    counts[first + place] = counts[first + n]
                    chances[place] = chances[n]
                    places[own + last] = place + 1
                    counts[first + n] = none
            if places[own + new] == 0:
                topics[first + n] = new
                chances[n] = scaled[new]
                n += 1
                places[own + new] = n
            counts[first + np.int64(places[own + new]) - 1] += one
            change[old] -= 1
            change[new] += 1
            for topic in (old, new):
                if not marked[topic]:
                    marked[topic] = True
                    touched[n_touched] = topic
                    n_touched += 1
        after[token] = new
    return n, n_touched, n_moved


@kernel()
def draw_from_all(scaled: F32, prior: F32, lanes: F32, rest: float) -> int:
    """Return the topic at which the sum of ``scaled`` times ``prior`` passes ``rest``.

    Topics are summed lane by lane. lanes [LANES]: the sum over every sixteenth topic from lane on.
    Where rounding has gone past all it is the last topic with any weight.
    """
    lane, found = 0, 0
    while lane < LANES - 1 and rest >= lanes[lane]:
        rest -= lanes[lane]
        lane += 1
    while lane > 0 and lanes[lane] == 0:
        lane -= 1
    for topic in range(lane, len(scaled), LANES):
        weight = scaled[topic] * prior[topic]
        if weight > 0:
            found = topic
            if rest < weight:
                break
            rest -= weight
    return found


@kernel()
def note_counts(n_docs: int, lists: DocumentLists, output: SweepOutput) -> None:
    """Add the counts n_dk of a block's documents to ``SweepOutput``."""
    for doc in range(n_docs):
        for at in range(lists.start[doc], lists.start[doc] + lists.length[doc]):
            note_count(lists.topic[at], np.int64(lists.times[at]), output)


@kernel()
def note_count(topic: Int, count: Int, output: SweepOutput) -> None:
    """Add the count of a topic in a document to ``SweepOutput``."""
    if count < SMALL:
        output.histogram[topic, count] += 1
    else:
        output.large[output.n_large[0], 0] = topic
        output.large[output.n_large[0], 1] = count
        output.n_large[0] += 1


@kernel()
def note_topics(doc_ptr: I64, z: SlotTopics, n_topics: int, output: SweepOutput) -> None:
    """Add the counts n_dk of all documents of a piece to ``SweepOutput``, from their topics.

    doc_ptr: int64 [n_docs + 1]. z: [n_tokens].
    """
    counts = np.zeros(n_topics, np.int64)
    for doc in range(len(doc_ptr) - 1):
        begin, end = doc_ptr[doc] - doc_ptr[0], doc_ptr[doc + 1] - doc_ptr[0]
        for token in range(begin, end):
            if z[token] >= 0:
                counts[z[token]] += 1
        for token in range(begin, end):
            topic = np.int64(z[token])
            if topic >= 0 and counts[topic] > 0:
                note_count(topic, counts[topic], output)
                counts[topic] = 0


@kernel()
def draw_uniform(first: int, n_topics: int, key: np.uint64, z: SlotTopics) -> None:
    """Draw uniform topics for the tokens from number ``first`` on."""
    for i in range(len(z)):
        z[i] = np.int64(uniform(key, first + i) * n_topics)


@kernel()
def add_changes(cells: I64, amounts: I32, n_wk: I32, n_k: I64) -> None:
    """Add changes of cells word T + topic to the counts n_wk [n_words, T] and n_k [T]."""
    flat, n_topics = n_wk.reshape(-1), n_wk.shape[1]
    for i in range(len(cells)):
        flat[cells[i]] += amounts[i]
        n_k[cells[i] % n_topics] += amounts[i]


@kernel()
def add_amounts(cells: I64, amounts: I32, table: I32) -> None:
    """Add amounts [n] to a flat table. cells: [n], the place in the table of each amount."""
    for i in range(len(cells)):
        table[cells[i]] += amounts[i]


@kernel()
def count_words(piece: Piece, z: SlotTopics, n_wk: I32) -> None:
    """Add all tokens of a piece to n_wk [n_words, T]."""
    token = np.empty(len(piece.doc_ptr), np.int64)
    for block in range(len(piece.block_doc) - 1):
        first = piece.block_doc[block]
        for doc in range(first, piece.block_doc[block + 1]):
            token[doc - first] = piece.doc_ptr[doc] - piece.doc_ptr[0]
        pair = piece.block_pair[block]
        for entry in range(piece.block_entry[block], piece.block_entry[block + 1]):
            for _ in range(piece.n_pairs[entry]):
                doc = piece.doc[pair]
                for _ in range(piece.n_tokens[pair]):
                    if z[token[doc]] >= 0:
                        n_wk[piece.word[entry], z[token[doc]]] += 1
                    token[doc] += 1
                pair += 1


@kernel()
def count_documents(doc_ptr: I64, z: SlotTopics, n_dk: I32) -> None:
    """Add all tokens to n_dk [n_docs, T]."""
    for doc in range(len(doc_ptr) - 1):
        for token in range(doc_ptr[doc] - doc_ptr[0], doc_ptr[doc + 1] - doc_ptr[0]):
            if z[token] >= 0:
                n_dk[doc, z[token]] += 1
