"""The collapsed sweep over tokens, with a separate prior over topics for each document.

A token of word w gets topic k with a chance proportional to

    scaled_k (n_wk + word_prior_w),    scaled_k = (n_dk + prior_k) / (n_k + word_total),

the token itself taken out. ``sweep_document`` weighs all topics; ``sweep_document_by_lists`` costs
a token its word's topics (theory/hdp 6.7). There the weight is split in two: scaled_k n_wk over the
topics that the word has tokens in, a short list, and word_prior_w scaled_k over all topics, whose
sum is kept up to date and whose parts are looked at only where a draw falls there.

L. Yao, D. Mimno, A. McCallum: Efficient methods for topic model inference on streaming document
collections, KDD 2009, split it likewise, with a third part for the topics of the document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd_draws import Float, Int, gather_list, pick_place, sum_list

BLOCK = 32
"""Topics whose weights are added up together; a draw looks for its block first."""


# Its arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel()
def sweep_document(
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
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return the number that moved.

    P(z = k) is proportional to (n_dk + prior_k)(n_wk + word_prior_w)/(n_k + word_total) without the
    token itself. prior [T]: of the document. word_prior [n_words]; word_total: its sum over all
    words. scaled [T]: (n_dk + prior) * inverse, inverse [T]: 1 / (n_k + word_total), both kept up
    to date at the two topics that a token leaves and joins. scratch [T] and ends
    [ceil(T / BLOCK)] are overwritten.
    """
    moved = 0
    for token in range(len(z)):
        word = words[token]
        word_row = n_wk[word]
        old = z[token]
        doc_row[old] -= 1
        word_row[old] -= 1
        n_k[old] -= 1
        inverse[old] = 1.0 / (n_k[old] + word_total)
        scaled[old] = (doc_row[old] + prior[old]) * inverse[old]

        weigh(scaled, word_row, word_prior[word], scratch)
        new = draw_in_blocks(scratch, ends, rng.random())

        doc_row[new] += 1
        word_row[new] += 1
        n_k[new] += 1
        inverse[new] = 1.0 / (n_k[new] + word_total)
        scaled[new] = (doc_row[new] + prior[new]) * inverse[new]
        z[token] = new
        moved += new != old
    return moved


@kernel()
def weigh(scaled: F64, word_row: I32, eta: float, weights: F64) -> None:
    """Write scaled * (word_row + eta) to ``weights`` [T]."""
    for topic in range(len(scaled)):
        weights[topic] = scaled[topic] * (word_row[topic] + eta)


@kernel(fastmath=REASSOCIATE)
def add_up_blocks(weights: Floats, ends: F64) -> float:
    """Write the running totals at the ends of blocks of ``weights`` to ``ends``; return the sum.

    weights: [n]. ends: float64 [n_blocks], each block ``BLOCK`` weights or, the last one, fewer.
    """
    total = 0.0
    for block in range(len(ends)):
        # A slice, because a loop over it becomes vector code and one over block + offset does not.
        chunk = weights[block * BLOCK : block * BLOCK + BLOCK]
        part = 0.0
        for offset in range(len(chunk)):
            part += chunk[offset]
        total += part
        ends[block] = total
    return total


@kernel()
def draw_in_blocks(weights: Floats, ends: F64, uniform: float) -> int:
    """Return a topic drawn in proportion to ``weights`` [T] by one uniform number.

    ends: scratch [ceil(T / BLOCK)].
    """
    target = uniform * add_up_blocks(weights, ends)
    block = 0
    while block < len(ends) - 1 and ends[block] <= target:
        block += 1
    if block > 0:
        target -= ends[block - 1]
    topic, last = block * BLOCK, len(weights) - 1
    while topic < last and weights[topic] <= target:
        target -= weights[topic]
        topic += 1
    # Rounding may lead past the last topic of positive weight; none of zero weight is drawn.
    while weights[topic] <= 0.0 and topic > 0:
        topic -= 1
    return topic


class WordLists(NamedTuple):
    """Topics that each word has tokens in, and how many.

    start, length: int64 [n_words]. topic uint32, times float32: entries, those beyond a length 0.
    Each list has room for whole vectors. They are made of n_wk for a sweep: what order one has
    decides what a random number draws, and must be no hidden state.
    """

    start: I64
    length: I64
    topic: U32
    times: F32


class ListScratch(NamedTuple):
    """Memory of a draw: by topic, by place in a list, by lane, by block of topics."""

    scaled: F32
    chances: F32
    sums: F32
    before: F32
    ends: F64


@kernel()
def words_of_block(cells: Cells, doc_shard: int, word_shard: int) -> tuple[int, int]:
    """Return the first word of a block, and that behind its last."""
    first_word, last_word = np.iinfo(np.int32).max, -1
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for word in cells.word[cells.cuts[doc, word_shard] : cells.cuts[doc, word_shard + 1]]:
            first_word, last_word = min(first_word, word), max(last_word, word)
    return min(first_word, last_word + 1), last_word + 1


@kernel()
def list_words(n_wk: I32, first: int, last: int) -> WordLists:
    """Return the lists of words ``first`` to ``last`` of n_wk [n_words, T], topics ascending."""
    return list_words_that_grow(n_wk, first, last, np.zeros(len(n_wk), np.int64))


@kernel()
def list_words_that_grow(n_wk: I32, first: int, last: int, growth: I64) -> WordLists:
    """Do as ``list_words`` does; growth: int64 [n_words], tokens that may join those of a word."""
    n_words, n_topics = n_wk.shape
    start, length = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    room = 0
    for word in range(first, last):
        n_tokens = growth[word]
        for topic in range(n_topics):
            n_tokens += n_wk[word, topic]
        start[word] = room
        room += (min(n_tokens, n_topics) + LANES - 1) // LANES * LANES
    topics, times = np.zeros(room + 1, np.uint32), np.zeros(room + 1, np.float32)
    for word in range(first, last):
        row, at = n_wk[word], start[word]
        for topic in range(n_topics):
            # Written in any case: a branch would be guessed wrong, and the last is room's own.
            topics[at] = topic
            times[at] = row[topic]
            at += row[topic] > 0
        topics[at] = 0
        times[at] = np.float32(0.0)
        length[word] = at - start[word]
    return WordLists(start, length, topics, times)


@kernel()
def write_words(lists: WordLists, first: int, last: int, n_wk: I32) -> None:
    """Write the lists of words ``first`` to ``last`` to n_wk [n_words, T]."""
    start, length, topics, times = lists
    for word in range(first, last):
        n_wk[word] = 0
        for at in range(start[word], start[word] + length[word]):
            n_wk[word, topics[at]] = np.int32(times[at])


@kernel()
def scratch_of(n_topics: int) -> ListScratch:
    """Return scratch memory for draws among n topics."""
    room = (n_topics + LANES - 1) // LANES * LANES
    return ListScratch(
        np.zeros(n_topics, np.float32),
        np.zeros(room, np.float32),
        np.zeros(room, np.float32),
        np.zeros(LANES + 1, np.float32),
        np.zeros((n_topics + BLOCK - 1) // BLOCK),
    )


# Arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel()
def sweep_document_by_lists(
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
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return the number that moved.

    P(z = k) is proportional to (n_dk + prior_k)(n_wk + word_prior_w)/(n_k + word_total) without the
    token itself. prior [T]: of the document. word_prior [n_words]; word_total: its sum over all
    words. inverse [T]: 1 / (n_k + word_total), kept up to date. start to times: ``WordLists``, kept
    up to date in place of n_wk. scaled to ends: ``ListScratch``.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    total = scale_document(doc_row, prior, inverse, scaled)
    moved, last_word, first, n = 0, np.int64(-1), np.int64(0), np.int64(0)
    for token in range(len(z)):
        word, old = np.int64(words[token]), np.int64(z[token])
        # Tokens of one word stand together, so its list of topics is gathered once for all of them.
        if word != last_word:
            first, n, last_word = start[word], length[word], word
            gather_list(scaled, topics, first, n, chances)
        place = place_of(topics, first, n, old)
        # Without the token, in registers: what is stored would have to be waited for.
        inverse_old = 1.0 / (n_k[old] - 1 + word_total)
        share = np.float32((doc_row[old] - 1 + prior[old]) * inverse_old)
        left = times[first + place] - one
        own, others = share * left, total + (np.float64(share) - np.float64(scaled[old]))
        of_list = np.float64(sum_list(chances, times, first, n, place, own, sums, before))
        of_all = np.float64(word_prior[word]) * others
        target = rng.random() * (of_list + of_all)
        # The weights fall into two parts: topics that the word has (a short list), and the word's
        # prior over all topics.
        if target < of_list:
            at = np.int64(pick_place(sums, before, n, np.float32(target)))
            if at >= n or not (own if at == place else chances[at] * times[first + at]):
                at = np.int64(last_place(chances, times, first, n, place, own))
            new = np.int64(topics[first + at])
        else:
            # The old topic has its share without the token during the draw alone, since the token
            # may stay.
            kept, scaled[old] = scaled[old], share
            new = np.int64(draw_in_blocks(scaled, ends, (target - of_list) / of_all))
            scaled[old] = kept

        if new == old:
            continue
        doc_row[old] -= 1
        n_k[old] -= 1
        inverse[old], scaled[old], chances[place], total = inverse_old, share, share, others
        times[first + place] = left
        # A topic that lost its last token of the word gives its place to the last one of the list.
        if left == none:
            n -= 1
            topics[first + place], times[first + place] = topics[first + n], times[first + n]
            chances[place], times[first + n] = chances[n], none
        doc_row[new] += 1
        n_k[new] += 1
        inverse[new] = 1.0 / (n_k[new] + word_total)
        share = np.float32((doc_row[new] + prior[new]) * inverse[new])
        total += np.float64(share) - np.float64(scaled[new])
        place = place_of(topics, first, n, new)
        if place == n:
            topics[first + n] = new
            n += 1
        times[first + place] += one
        scaled[new], chances[place] = share, share
        length[word] = n
        z[token] = new
        moved += 1
    return moved


@kernel(fastmath=REASSOCIATE)
def scale_document(doc_row: I32, prior: Floats, inverse: F64, scaled: F32) -> float:
    """Write (doc_row + prior) * inverse to ``scaled`` [T]; return the sum of ``scaled``."""
    total = 0.0
    for topic in range(len(scaled)):
        share = np.float32((doc_row[topic] + prior[topic]) * inverse[topic])
        scaled[topic] = share
        total += np.float64(share)
    return total


@kernel()
def last_place(chances: F32, counts: F32, start: Int, length: Int, place: Int, own: Float) -> Int:
    """Return the last place of a list that has any weight: where rounding has gone past it.

    chances: float32, by place of the list. counts: float32, the list's from ``start`` on.
    The entry ``place`` weighs ``own``.
    """
    at = length - np.int64(1)
    while at > 0 and not (own if at == place else chances[at] * counts[start + at]) > 0:
        at -= 1
    return at


@kernel(inline=True)
def place_of(topics: U32, first: Int, length: Int, topic: Int) -> Int:
    """Return the place of a topic in the list that begins at ``first``; its length: nowhere."""
    place = np.int64(0)
    while place < length and np.int64(topics[first + place]) != topic:
        place += 1
    return place
