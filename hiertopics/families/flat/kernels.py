"""Loops of the collapsed variational HDP over (document, word) pairs (theory/hdp 3, 7).

Names: resp is q(z) [n_pairs, T]; n_dk, n_wk, n_k are expected counts; seen_dk and seen_wk are
E[I(n >= 1)]. The kernels are generic in the tables' dtype (float32 in use, float64 in tests);
n_k is always float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import REASSOCIATE, in_fixed_order, kernel
from hiertopics.numeric.simd import prefetch_row, settle, settle_and_weigh, weigh
from hiertopics.numeric.special import copy_row

# Distances of prefetching, in pairs. Long rows of responsibilities the hardware fetches itself.
WORDS_AHEAD = 3
PAIRS_AHEAD = 8
SHORT_ROW = 640

N_ROWS = 5
"""Rows of scratch of ``sweep_block``."""


class ExpectedCounts(NamedTuple):
    """Responsibilities and the expected counts that they make, which a sweep moves.

    resp [n_pairs, T], n_dk [n_docs, T], n_wk [n_words, T]; seen_dk and seen_wk likewise, or
    tables without columns where indicators are not wanted.
    """

    resp: Floats
    n_dk: Floats
    n_wk: Floats
    seen_dk: Floats
    seen_wk: Floats


class PseudoCounts(NamedTuple):
    """Pseudo-counts in the tables' dtype: doc [T] for all documents or [n_docs, T], one row each;
    word [n_words]; word_total, the sum of these.
    """

    doc: Floats
    word: Floats
    word_total: float


@kernel(fastmath=REASSOCIATE)
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: ExpectedCounts,
    n_k: F64,
    pseudo_counts: PseudoCounts,
    scratch: Floats,
) -> int:
    """Visit each pair of a block once: refit q(z), move counts, note the topics that are seen.

    q(z = k) is proportional to (n_dk - q + doc prior)(n_wk - q + word prior)/(n_k - q + total),
    one token excluded (theory/hdp 3.1; equation 35). n_k [T] is moved too: pass the block's own.
    scratch: rows on cache lines, [N_ROWS, T or more] in the tables' dtype.
    Returns -1, or the document at which the weights ceased to be positive and finite.
    """
    n_dk, n_wk, seen_wk = tables.n_dk, tables.n_wk, tables.seen_wk
    n_topics = n_dk.shape[1]
    noting = seen_wk.shape[1] > 0
    base = scratch[0][:n_topics]
    doc_row = scratch[1][:n_topics]
    weights = scratch[2][:n_topics]
    doc_prior = scratch[3][:n_topics]
    doc_seen = scratch[4][:n_topics]
    priors = pseudo_counts.doc.reshape(-1, n_topics)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        copy_row(priors[doc if len(priors) > 1 else 0], doc_prior)
        # Within a document n_k moves exactly as n_dk does: n_k = base + n_dk saves its update.
        for topic in range(n_topics):
            n_k[topic] -= n_dk[doc, topic]
            base[topic] = n_k[topic] + pseudo_counts.word_total - doc_prior[topic]
            doc_row[topic] = n_dk[doc, topic] + doc_prior[topic]
        rows = (doc_row, doc_prior, base, weights)
        pairs = (cells.word[start:stop], cells.tokens[start:stop], tables.resp[start:stop])
        if noting:
            copy_row(tables.seen_dk[doc], doc_seen)
            sound = visit_noting(*pairs, n_wk, pseudo_counts.word, *rows, seen_wk, doc_seen)
            copy_row(doc_seen, tables.seen_dk[doc])
        else:
            sound = visit(*pairs, n_wk, pseudo_counts.word, *rows)
        if not sound:
            return doc
        for topic in range(n_topics):
            n_dk[doc, topic] = doc_row[topic] - doc_prior[topic]
            n_k[topic] += n_dk[doc, topic]
    return -1


# The two functions below take their arrays one by one, and are two: arrays taken from a tuple,
# or chosen by a branch, cost counted references at each pair (a third of the sweep's time).


@kernel(fastmath=REASSOCIATE)
def visit(
    words: I32,
    tokens: Floats,
    resp: Floats,
    n_wk: Floats,
    word_prior: Floats,
    doc_row: Floats,
    doc_prior: Floats,
    base: Floats,
    weights: Floats,
) -> bool:
    """Visit the pairs of one document (rows as in ``numeric.simd``); False: not finite.

    words, tokens: [n_pairs]. resp: [n_pairs, n_topics]. n_wk: [n_words, n_topics]. word_prior:
    [n_words]. All others: [n_topics].
    """
    one = resp.dtype.type(1)
    last = len(words) - 1
    short = resp.shape[1] * resp.itemsize <= SHORT_ROW
    word = words[0]
    total = weigh(resp[0], doc_row, n_wk[word], doc_prior, base, word_prior[word], weights)
    for pair in range(last):
        if not (total > 0 and total < np.inf):
            return False
        prefetch_row(n_wk, words[min(pair + WORDS_AHEAD, last)])
        if short and pair + PAIRS_AHEAD <= last:
            prefetch_row(resp, pair + PAIRS_AHEAD)
        following = words[pair + 1]
        total = settle_and_weigh(
            resp[pair],
            doc_row,
            n_wk[word],
            weights,
            one / total,
            tokens[pair],
            resp[pair + 1],
            n_wk[following],
            doc_prior,
            base,
            word_prior[following],
        )
        word = following
    if not (total > 0 and total < np.inf):
        return False
    settle(resp[last], doc_row, n_wk[word], weights, one / total, tokens[last])
    return True


@kernel(fastmath=REASSOCIATE)
def visit_noting(
    words: I32,
    tokens: Floats,
    resp: Floats,
    n_wk: Floats,
    word_prior: Floats,
    doc_row: Floats,
    doc_prior: Floats,
    base: Floats,
    weights: Floats,
    seen_wk: Floats,
    doc_seen: Floats,
) -> bool:
    """Do as ``visit`` does, and note in seen_wk and doc_seen which topics have been seen.

    seen_wk: [n_words, n_topics]. doc_seen: [n_topics].
    """
    one = resp.dtype.type(1)
    last = len(words) - 1
    short = resp.shape[1] * resp.itemsize <= SHORT_ROW
    word = words[0]
    total = weigh(resp[0], doc_row, n_wk[word], doc_prior, base, word_prior[word], weights)
    for pair in range(last):
        if not (total > 0 and total < np.inf):
            return False
        ahead = words[min(pair + WORDS_AHEAD, last)]
        prefetch_row(n_wk, ahead)
        prefetch_row(seen_wk, ahead)
        if short and pair + PAIRS_AHEAD <= last:
            prefetch_row(resp, pair + PAIRS_AHEAD)
        following = words[pair + 1]
        total = settle_and_weigh(
            resp[pair],
            doc_row,
            n_wk[word],
            weights,
            one / total,
            tokens[pair],
            resp[pair + 1],
            n_wk[following],
            doc_prior,
            base,
            word_prior[following],
            doc_seen,
            seen_wk[word],
        )
        word = following
    if not (total > 0 and total < np.inf):
        return False
    settle(
        resp[last], doc_row, n_wk[word], weights, one / total, tokens[last], doc_seen, seen_wk[word]
    )
    return True


sweep_block_in_fixed_order = in_fixed_order(
    sweep_block, visit=in_fixed_order(visit), visit_noting=in_fixed_order(visit_noting)
)
"""``sweep_block``, with the same bits on every processor that has fused multiply-add."""


@kernel()
def recount_block(cells: Cells, doc_shard: int, word_shard: int, tables: ExpectedCounts) -> None:
    """Add a block's pairs to n_dk and n_wk, which the caller has set to zero."""
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        doc_row = tables.n_dk[doc]
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            word_row = tables.n_wk[cells.word[pair]]
            row = tables.resp[pair]
            count = cells.tokens[pair]
            for topic in range(len(row)):
                doc_row[topic] += count * row[topic]
                word_row[topic] += count * row[topic]


@kernel(fastmath=REASSOCIATE)
def block_log_likelihood(cells: Cells, doc_shard: int, theta: Floats, phi: Floats) -> float:
    """Return the sum over a document range of count * log(theta_d . phi_w).

    theta [n_docs, T]; phi [n_words, T] (word-major).
    """
    log_likelihood = 0.0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            word_row = phi[cells.word[pair]]
            chance = theta.dtype.type(0)
            for topic in range(theta.shape[1]):
                chance += theta[doc, topic] * word_row[topic]
            log_likelihood += cells.tokens[pair] * math.log(chance)
    return log_likelihood


@kernel(fastmath=REASSOCIATE)
def fold_in(
    words: I32,
    counts: F64,
    phi: F64,
    prior: F64,
    n_sweeps: int,
    tolerance: float,
    from_prior: bool = True,
) -> F64:
    """Return the expected topic counts [T] of one new document, topics held fixed (theory/hdp 7.2).

    words, counts [n_pairs]; phi [n_words, T] (word-major); prior [T] document pseudo-counts.
    q(z = k) is proportional to phi (n_dk - q + prior), from q proportional to phi * prior, or from
    no counts at all, until no entry moves by ``tolerance`` or ``n_sweeps`` are done.
    """
    n_topics = len(prior)
    resp = np.zeros((len(words), n_topics))
    doc_row = np.zeros(n_topics)
    for pair in range(len(words) if from_prior else 0):
        total = 0.0
        for topic in range(n_topics):
            resp[pair, topic] = phi[words[pair], topic] * prior[topic]
            total += resp[pair, topic]
        for topic in range(n_topics):
            resp[pair, topic] /= total
            doc_row[topic] += counts[pair] * resp[pair, topic]
    weights = np.empty(n_topics)
    for _ in range(n_sweeps):
        largest = 0.0
        for pair in range(len(words)):
            total = 0.0
            for topic in range(n_topics):
                others = max(doc_row[topic] - resp[pair, topic], 0.0)
                weights[topic] = phi[words[pair], topic] * (others + prior[topic])
                total += weights[topic]
            for topic in range(n_topics):
                moved = weights[topic] / total - resp[pair, topic]
                resp[pair, topic] += moved
                doc_row[topic] += counts[pair] * moved
                largest = max(largest, abs(moved))
        if largest < tolerance:
            break
    return doc_row
