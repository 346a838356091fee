"""Sums of log gammas behind the moves of the tree (theory/ncrp 4, 5).

Counts are node-major [n_nodes, n_words], expected and so no whole numbers. With lam and sticks at
their best, a topic's share of the bound is log B(counts + eta) / B(eta).
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, Bools
from hiertopics.numeric.jit import kernel

NOTHING = 1e-6


@kernel()
def topic_scores(counts: F64, eta: float) -> F64:
    """Return log B(counts + eta) / B(eta) of each row, float64 [n_nodes]."""
    n_nodes, n_words = counts.shape
    scores = np.empty(n_nodes)
    own = math.lgamma(eta)
    for node in range(n_nodes):
        score, total = math.lgamma(n_words * eta), n_words * eta
        for word in range(n_words):
            count = counts[node, word]
            if count > NOTHING:
                score += math.lgamma(count + eta) - own
                total += count
        scores[node] = score - math.lgamma(total)
    return scores


@kernel()
def join_gains(counts: F64, others: F64, wanted: Bools, eta: float) -> F64:
    """Return the gain of adding row i of ``others`` to row j of ``counts``, [n_others, n].

    The entry is the score of the sum minus that of row j alone; row i's own score is not
    subtracted. What is not ``wanted`` [n_others, n] is minus infinity.
    """
    n_nodes, n_words = counts.shape
    gains = np.full((len(others), n_nodes), -np.inf)
    own = math.lgamma(eta)
    totals = counts.sum(axis=1) + n_words * eta
    words = np.empty(n_words, np.int64)
    alone = np.empty(n_words)
    for other in range(len(others)):
        n_some, added = 0, 0.0
        for word in range(n_words):
            if others[other, word] > NOTHING:
                words[n_some] = word
                alone[n_some] = math.lgamma(others[other, word] + eta) - own
                added += others[other, word]
                n_some += 1
        for node in range(n_nodes):
            if not wanted[other, node]:
                continue
            gain = math.lgamma(totals[node]) - math.lgamma(totals[node] + added)
            for place in range(n_some):
                count = counts[node, words[place]]
                if count > NOTHING:
                    more = others[other, words[place]]
                    gain += math.lgamma(count + more + eta) - math.lgamma(count + eta)
                else:
                    gain += alone[place]
            gains[other, node] = gain
    return gains
