"""The sweep of the second-order methods over (document, word) pairs (theory/hdp 5.1).

Names as in ``flat.kernels``; var_dk, var_wk, var_k are the variances of the counts under q(z).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import exp

LARGEST_EXPONENT = 50.0
# What a vanished prior counts as in a denominator: its square is still a float32.
SMALLEST = 1e-18
# Weights below are taken as 0: numbers too small for float32's exponent slow every sweep down.
VANISHED = 1e-30


class Spreads(NamedTuple):
    """Variances of the counts: var_dk [n_docs, T] and var_wk [n_words, T], in the counts' dtype."""

    var_dk: Floats
    var_wk: Floats


@kernel(fastmath=REASSOCIATE)
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: ExpectedCounts,
    spreads: Spreads,
    n_k: F64,
    var_k: F64,
    pseudo_counts: PseudoCounts,
) -> int:
    """Do as ``flat.kernels.sweep_block`` does, each count corrected by its variance (equation 34).

    The zero-order weight of a topic is multiplied by the exponential of
    (V[n_k] / (n_k + total)^2 - V[n_wk] / (n_wk + word prior)^2 - V[n_dk] / (n_dk + doc prior)^2)/2,
    one token excluded everywhere. n_k and var_k [T] are moved: pass the block's own copies.
    """
    n_dk, seen_wk, var_dk = tables.n_dk, tables.seen_wk, spreads.var_dk
    n_topics = n_dk.shape[1]
    noting = seen_wk.shape[1] > 0
    rows = np.empty((5, n_topics), tables.resp.dtype)
    doc_row, doc_var, base, base_var, weights = rows[0], rows[1], rows[2], rows[3], rows[4]
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        # Within a document n_k moves exactly as n_dk does, and var_k as var_dk.
        for topic in range(n_topics):
            n_k[topic] -= n_dk[doc, topic]
            var_k[topic] -= var_dk[doc, topic]
            base[topic] = n_k[topic] + pseudo_counts.word_total - pseudo_counts.doc[topic]
            base_var[topic] = var_k[topic]
            doc_row[topic] = n_dk[doc, topic] + pseudo_counts.doc[topic]
            doc_var[topic] = var_dk[doc, topic]
        doc_seen = tables.seen_dk[doc]
        for pair in range(start, stop):
            word, tokens = cells.word[pair], cells.tokens[pair]
            pair_rows = (tables.resp[pair], tables.n_wk[word], spreads.var_wk[word])
            doc_rows = (doc_row, doc_var)
            # One token of the pair is left out of all counts and variances.
            total = weigh(
                *pair_rows,
                *doc_rows,
                pseudo_counts.doc,
                base,
                base_var,
                pseudo_counts.word[word],
                weights,
            )
            if not (total > 0 and total < np.inf):
                return doc
            settle(*pair_rows, *doc_rows, weights, total, tokens)
            if noting:
                note_seen(tables.resp[pair], int(tokens), weights, doc_seen, seen_wk[word])
        # The prior leaves the row again; counts and variances go to the totals at once.
        for topic in range(n_topics):
            n_dk[doc, topic] = doc_row[topic] - pseudo_counts.doc[topic]
            var_dk[doc, topic] = doc_var[topic]
            n_k[topic] += n_dk[doc, topic]
            var_k[topic] += doc_var[topic]
    return -1


@kernel(fastmath=REASSOCIATE)
def weigh(
    q: Floats,
    word_row: Floats,
    word_var: Floats,
    doc_row: Floats,
    doc_var: Floats,
    doc_prior: Floats,
    base: Floats,
    base_var: Floats,
    word_prior: float,
    weights: Floats,
) -> Any:
    """Write a pair's unnormalised responsibilities to ``weights`` [T]; return their sum.

    doc_row holds n_dk + doc_prior; base and base_var make n_k and var_k of doc_row and doc_var.
    """
    number = q.dtype.type
    zero, one, half = number(0), number(1), number(0.5)
    least, largest = number(SMALLEST), number(LARGEST_EXPONENT)
    vanished = number(VANISHED)
    total = zero
    for topic in range(len(q)):
        own = q[topic] * (one - q[topic])
        share = max(doc_row[topic] - q[topic], doc_prior[topic])
        word_share = max(word_row[topic] - q[topic], zero) + word_prior
        by_share, by_word = one / max(share, least), one / max(word_share, least)
        by_size = one / (share + base[topic])
        exponent = half * (
            max(doc_var[topic] + base_var[topic] - own, zero) * by_size * by_size
            - max(word_var[topic] - own, zero) * by_word * by_word
            - max(doc_var[topic] - own, zero) * by_share * by_share
        )
        bounded = min(max(exponent, -largest), largest)
        weight = share * word_share * by_size * exp(bounded)
        weights[topic] = zero if weight < vanished else weight
    # A loop that writes to no array: one that does may split its sum or not (``REASSOCIATE``).
    for topic in range(len(q)):
        total += weights[topic]
    return total


@kernel(fastmath=REASSOCIATE)
def settle(
    q: Floats,
    word_row: Floats,
    word_var: Floats,
    doc_row: Floats,
    doc_var: Floats,
    weights: Floats,
    total: float,
    tokens: float,
) -> None:
    """Make weights / total a pair's responsibilities; move counts and variances by its tokens.

    All rows: [n_topics].
    """
    one = q.dtype.type(1)
    scale = one / total
    for topic in range(len(q)):
        old, new = q[topic], weights[topic] * scale
        moved = tokens * (new - old)
        spread = tokens * (new * (one - new) - old * (one - old))
        q[topic] = new
        doc_row[topic] += moved
        word_row[topic] += moved
        doc_var[topic] += spread
        word_var[topic] += spread


@kernel(fastmath=REASSOCIATE)
def note_seen(q: Floats, tokens: int, scratch: Floats, doc_seen: Floats, word_seen: Floats) -> None:
    """Note a settled pair in P(n_dk >= 1) and P(n_wk >= 1) (theory/hdp 3.2); all rows [T]."""
    one = q.dtype.type(1)
    once = q
    if tokens > 1:
        write_at_least_once(q, tokens, scratch)
        once = scratch
    for topic in range(len(q)):
        doc_seen[topic] += (one - doc_seen[topic]) * once[topic]
        word_seen[topic] += (one - word_seen[topic]) * once[topic]


@kernel(fastmath=REASSOCIATE)
def write_at_least_once(q: Floats, tokens: int, once: Floats) -> None:
    """Write 1 - (1 - q)^tokens to ``once``, by squaring of "not seen" but not its cancellation.

    Both rows: [n_topics].
    """
    one = q.dtype.type(1)
    power = q.copy()
    once[:] = 0
    while tokens:
        if tokens & 1:
            for topic in range(len(q)):
                once[topic] += (one - once[topic]) * power[topic]
        for topic in range(len(q)):
            power[topic] += (one - power[topic]) * power[topic]
        tokens >>= 1
