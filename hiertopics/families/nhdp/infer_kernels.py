"""Fold-in of new documents into a tree whose topics are held fixed (theory/nhdp 7)."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, I32, I64
from hiertopics.numeric.jit import REASSOCIATE, kernel


@kernel(fastmath=REASSOCIATE)
def fold_in(
    words: I32,
    counts: F64,
    phi: F64,
    first: I64,
    mass: F64,
    concentration: F64,
    stop_a: F64,
    stop_b: F64,
    theta: F64,
    n_sweeps: int,
    tolerance: float,
) -> F64:
    """Return the expected counts by node, float64 [K], of one document (theory/nhdp 7).

    words, counts [n_pairs]; phi [n_words, K]; the others [K], nodes breadth first. It starts from
    q proportional to phi * theta and ends when no entry moves by ``tolerance``.
    """
    n_pairs, n_nodes = len(words), len(mass)
    resp = np.empty((n_pairs, n_nodes))
    n, passing = np.zeros(n_nodes), np.zeros(n_nodes)
    for pair in range(n_pairs):
        row, word_row = resp[pair], phi[words[pair]]
        total = 0.0
        for node in range(n_nodes):
            row[node] = word_row[node] * theta[node]
            total += row[node]
        for node in range(n_nodes):
            row[node] /= total
            n[node] += counts[pair] * row[node]
    add_up(n, first, passing)
    own, weights, change = np.zeros(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    for _ in range(n_sweeps):
        largest = 0.0
        for pair in range(n_pairs):
            row, word_row = resp[pair], phi[words[pair]]
            add_up(row, first, own)
            weights[0] = 1.0
            for node in range(n_nodes):
                start, stop = first[node], first[node + 1]
                if start == stop:
                    continue
                stopped = max(n[node] - row[node], 0.0)
                gone = max(passing[node] - n[node] - (own[node] - row[node]), 0.0)
                reached = weights[node] / (stop_a[node] + stop_b[node] + stopped + gone)
                going = reached * (stop_b[node] + gone) / (gone + concentration[node])
                for child in range(start, stop):
                    others = max(passing[child] - own[child], 0.0)
                    weights[child] = going * (others + mass[child])
                weights[node] = reached * (stop_a[node] + stopped)
            total = 0.0
            for node in range(n_nodes):
                weights[node] *= word_row[node]
                total += weights[node]
            for node in range(n_nodes):
                moved = weights[node] / total - row[node]
                row[node] += moved
                change[node] = counts[pair] * moved
                n[node] += change[node]
                largest = max(largest, abs(moved))
            add_up(change, first, own)
            for node in range(n_nodes):
                passing[node] += own[node]
        if largest < tolerance:
            break
    return n


@kernel()
def add_up(row: F64, first: I64, total: F64) -> None:
    """Write to ``total`` the sums of ``row`` at and below each node, nodes breadth first."""
    for back in range(len(row)):
        node = len(row) - 1 - back
        here = row[node]
        for child in range(first[node], first[node + 1]):
            here += total[child]
        total[node] = here
