"""The collapsed sweep with a separate word distribution per document (theory/bursts 6).

Tables of such a document are what tokens are of an ordinary one. A pair keeps their expected number
t beside its q(z); counts are sums of t q. Where a document has no tables at all, it is put aside:
no sweep takes it up. Names are those of ``flat.kernels``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, Floats
from hiertopics.families.flat.kernels import (
    PAIRS_AHEAD,
    SHORT_ROW,
    WORDS_AHEAD,
    ExpectedCounts,
    PseudoCounts,
)
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import REASSOCIATE, in_fixed_order, kernel
from hiertopics.numeric.pitman_yor_kernels import MeanTables, expected_tables
from hiertopics.numeric.simd import (
    add_seen,
    aligned_rows,
    prefetch_row,
    settle_tables,
    settle_tables_and_weigh,
    weigh,
)
from hiertopics.numeric.special import copy_row

SMALL = 1 / 16
"""A share up to which five terms of a series give a power of its rest to 1e-8."""

HELD_SWEEPS = 5
"""Sweeps of a fold-in that keep a table for each token."""


class TableRule(NamedTuple):
    """How the tables of pairs are found. means: E[t | c, x] of the counts that occur.

    concentration: b of documents. refit: whether; else tables stay what they are.
    """

    means: MeanTables
    concentration: float
    refit: bool = True


@kernel()
def seated(count: float, chance: float, others: float, seating: TableRule) -> float:
    """Return the expected tables of a pair (theory/bursts 6).

    chance: of the word under the document's mixture, one table out. others: tables of the document
    but one.
    """
    x = (seating.concentration + seating.means.discount * others) * chance
    return expected_tables(seating.means, int(count), x)


@kernel(fastmath=REASSOCIATE)
def total_of(row: Floats) -> float:
    """Return the sum of a row [n], added in its order in float64."""
    total = 0.0
    for place in range(len(row)):
        total += row[place]
    return total


@kernel(fastmath=REASSOCIATE)
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: ExpectedCounts,
    pair_tables: Floats,
    n_k: F64,
    pseudo_counts: PseudoCounts,
    seating: TableRule,
) -> int:
    """Visit each pair of a block once: refit q(z) and its tables, move the counts.

    As ``flat.kernels.sweep_block``, which see. pair_tables [n_pairs]: tables of each pair.
    """
    n_dk, n_wk, seen_wk = tables.n_dk, tables.n_wk, tables.seen_wk
    n_topics = n_dk.shape[1]
    noting = seen_wk.shape[1] > 0
    scratch = aligned_rows(6, tables.resp)
    base = scratch[0][:n_topics]
    doc_row = scratch[1][:n_topics]
    weights = scratch[2][:n_topics]
    doc_prior = scratch[3][:n_topics]
    doc_seen = scratch[4][:n_topics]
    once = scratch[5][:n_topics]
    nothing = np.zeros(0, seen_wk.dtype)
    priors = pseudo_counts.doc.reshape(-1, n_topics)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        doc_tables = total_of(pair_tables[cells.cuts[doc, 0] : cells.cuts[doc, -1]])
        # A document without tables is put aside: its pairs neither move nor count.
        if doc_tables == 0:
            continue
        copy_row(priors[doc if len(priors) > 1 else 0], doc_prior)
        mass = total_of(doc_prior)
        # Within a document n_k moves exactly as n_dk does: n_k = base + n_dk saves its update.
        for topic in range(n_topics):
            n_k[topic] -= n_dk[doc, topic]
            base[topic] = n_k[topic] + pseudo_counts.word_total - doc_prior[topic]
            doc_row[topic] = n_dk[doc, topic] + doc_prior[topic]
        if noting:
            copy_row(tables.seen_dk[doc], doc_seen)
        sound = visit(
            cells.word[start:stop],
            cells.tokens[start:stop],
            pair_tables[start:stop],
            tables.resp[start:stop],
            n_wk,
            pseudo_counts.word,
            doc_row,
            doc_prior,
            base,
            weights,
            doc_tables,
            mass,
            seating,
            once,
            doc_seen if noting else nothing,
            seen_wk,
        )
        if not sound:
            return doc
        if noting:
            copy_row(doc_seen, tables.seen_dk[doc])
        # The prior leaves the row again; what the visits moved goes to the totals at once.
        for topic in range(n_topics):
            n_dk[doc, topic] = doc_row[topic] - doc_prior[topic]
            n_k[topic] += n_dk[doc, topic]
    return -1


@kernel(fastmath=REASSOCIATE)
def visit(
    words: I32,
    tokens: Floats,
    pair_tables: Floats,
    resp: Floats,
    n_wk: Floats,
    word_prior: Floats,
    doc_row: Floats,
    doc_prior: Floats,
    base: Floats,
    weights: Floats,
    doc_tables: float,
    mass: float,
    seating: TableRule,
    once: Floats,
    doc_seen: Floats,
    seen_wk: Floats,
) -> bool:
    """Visit the pairs of one document (rows as in ``numeric.simd``); False: not finite.

    words, tokens, pair_tables: [n_pairs]. resp: [n_pairs, n_topics]. n_wk, seen_wk: [n_words,
    n_topics]. word_prior: [n_words]. All others: [n_topics]. doc_tables: of the document. mass: of
    its prior. doc_seen: no entries where nothing is noted.
    """
    one = resp.dtype.type(1)
    last = len(words) - 1
    short = resp.shape[1] * resp.itemsize <= SHORT_ROW
    noting = len(doc_seen) > 0
    word = words[0]
    total = weigh(resp[0], doc_row, n_wk[word], doc_prior, base, word_prior[word], weights)
    for pair in range(last + 1):
        if not (total > 0 and total < np.inf):
            return False
        grown = 0.0
        # A pair of one token has one table. The chance of the word, total / (others + mass), leaves
        # out one table of this pair, as the weights do.
        if seating.refit and tokens[pair] > one:
            others = doc_tables - 1.0
            found = pair_tables.dtype.type(
                seated(tokens[pair], total / (others + mass), others, seating)
            )
            grown = float(found) - float(pair_tables[pair])
            pair_tables[pair] = found
            doc_tables += grown
        # The sum over topics that settles a pair also weighs the next one: two passes over the rows
        # would cost twice the memory traffic. The last pair has no next one.
        if pair == last:
            settle_tables(
                resp[pair], doc_row, n_wk[word], weights, one / total, pair_tables[pair], grown
            )
        else:
            # Rows of words lie far apart; they are fetched some pairs ahead.
            prefetch_row(n_wk, words[min(pair + WORDS_AHEAD, last)])
            if short and pair + PAIRS_AHEAD <= last:
                prefetch_row(resp, pair + PAIRS_AHEAD)
            following = words[pair + 1]
            total = settle_tables_and_weigh(
                resp[pair],
                doc_row,
                n_wk[word],
                weights,
                one / total,
                pair_tables[pair],
                grown,
                resp[pair + 1],
                n_wk[following],
                doc_prior,
                base,
                word_prior[following],
            )
        if noting:
            note_seen(resp[pair], pair_tables[pair], once, doc_seen, seen_wk[word])
        word = words[min(pair + 1, last)]
    return True


@kernel(fastmath=REASSOCIATE)
def note_seen(row: Floats, times: float, once: Floats, doc_seen: Floats, word_seen: Floats) -> None:
    """Note which topics ``times`` tables with the chances ``row`` [T] have been at.

    The chance is 1 - (1 - q)^t: t is no whole number. once [T] is overwritten.
    """
    whole = int(times)
    at_least_once(row, whole, float(times) - whole, once)
    add_seen(once, doc_seen, word_seen)


@kernel(fastmath=REASSOCIATE)
def at_least_once(row: Floats, whole: int, rest: float, once: Floats) -> None:
    """Write 1 - (1 - q)^(whole + rest) for each q of ``row`` [n] to ``once`` [n], 0 <= rest < 1."""
    kind = row.dtype.type
    one, part = kind(1), kind(rest)
    if whole == 1 and rest == 0.0:
        copy_row(row, once)
        return
    # Terms of the series of (1 - q)^rest.
    second = part * (one - part) / kind(2)
    third = second * (kind(2) - part) / kind(3)
    fourth = third * (kind(3) - part) / kind(4)
    fifth = fourth * (kind(4) - part) / kind(5)
    for topic in range(len(row)):
        q = row[topic]
        once[topic] = q * (part + q * (second + q * (third + q * (fourth + q * fifth))))
    if rest > 0.0:
        for topic in range(len(row)):
            if row[topic] > SMALL:
                q = min(float(row[topic]), 1.0)
                once[topic] = kind(-math.expm1(rest * math.log1p(-q))) if q < 1.0 else one
    for topic in range(len(row)):
        share, left = row[topic], whole
        seen = once[topic]
        while left > 0:
            if left & 1:
                seen += (one - seen) * share
            share += (one - share) * share
            left >>= 1
        once[topic] = seen


sweep_block_in_fixed_order = in_fixed_order(
    sweep_block,
    visit=in_fixed_order(
        visit,
        note_seen=in_fixed_order(note_seen, at_least_once=in_fixed_order(at_least_once)),
    ),
    total_of=in_fixed_order(total_of),
)
"""``sweep_block``, with the same bits on every processor that has fused multiply-add."""


@kernel()
def fold_in(
    words: I32,
    counts: F64,
    phi: Floats,
    prior: Floats,
    seating: TableRule,
    n_sweeps: int,
    tolerance: float,
    held: int,
) -> tuple[Floats, F64]:
    """Return q(z) [n_pairs, T] and the tables [n_pairs] of one document, topics held.

    words, counts [n_pairs]; phi [n_words, T] (word-major), prior [T] document pseudo-counts, both
    of the dtype that q(z) is to have. It starts from q(z) proportional to phi * prior and a table
    for each token, which ``held`` sweeps keep, and ends when neither a pair's q(z), as a vector,
    nor its tables move by ``tolerance``.
    """
    # Sums keep the order of the source: of small arrays that lie close together LLVM takes another
    # loop than of those apart, and sums that it may split would round by where memory was free.
    n_topics = len(prior)
    resp, pair_tables = np.zeros((len(words), n_topics), phi.dtype), counts.copy()
    doc_row = np.zeros(n_topics, phi.dtype)
    mass, doc_tables = total_of(prior), total_of(pair_tables)
    for pair in range(len(words)):
        total = 0.0
        for topic in range(n_topics):
            resp[pair, topic] = phi[words[pair], topic] * prior[topic]
            total += resp[pair, topic]
        for topic in range(n_topics):
            resp[pair, topic] /= total
            doc_row[topic] += pair_tables[pair] * resp[pair, topic]
    kind, none = phi.dtype.type, phi.dtype.type(0)
    weights = np.empty(n_topics, phi.dtype)
    for sweep in range(n_sweeps):
        largest = 0.0
        for pair in range(len(words)):
            row, word_row, sum_of_weights = resp[pair], phi[words[pair]], none
            for topic in range(n_topics):
                # One table of this pair is left out of the document's row; the topics are held, so
                # nothing is left out there.
                others = doc_row[topic] - row[topic]
                others = others if others > none else none
                weights[topic] = word_row[topic] * (others + prior[topic])
                sum_of_weights += weights[topic]
            total, grown = float(sum_of_weights), 0.0
            if sweep >= held and counts[pair] > 1:
                found = seated(
                    counts[pair], total / (doc_tables - 1.0 + mass), doc_tables - 1.0, seating
                )
                grown = found - pair_tables[pair]
                largest = max(largest, abs(grown))
            scale, times, change = kind(1.0 / total), kind(pair_tables[pair] + grown), kind(grown)
            squares = none
            for topic in range(n_topics):
                moved = weights[topic] * scale - row[topic]
                doc_row[topic] += change * row[topic] + times * moved
                row[topic] += moved
                squares += moved * moved
            largest = max(largest, math.sqrt(squares))
            pair_tables[pair] += grown
            doc_tables += grown
        if largest < tolerance and sweep >= held:
            break
    return resp, pair_tables
