"""Nodes of several trees over the same documents and words: which is which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from hiertopics.arrays import F64, I32, I64, Bools
from hiertopics.data.tree import Support, Tree, by_branch

LABEL_WORDS, SHARED_WORDS = 10, 5
OVERLAP = 0.5
PART = 0.1


class Marks(NamedTuple):
    """What nodes are known by. depth: int32 [n_nodes]; words: bool [n_nodes, n_words], the ten
    that say most of a branch; docs: bool [n_nodes, n_docs], documents that belong to it.
    """

    depth: I32
    words: Bools
    docs: Bools


class Pairs(NamedTuple):
    """Partners, int64 [n_pairs] each: nodes of the one tree and of the other.

    overlap: float64 [n_pairs], of their documents (Jaccard).
    """

    mine: I64
    theirs: I64
    overlap: F64


def marks_of(tree: Tree, theta: F64) -> Marks:
    """Return the marks of a tree of words; theta: [n_docs, n_nodes].

    Documents belong to a node that they give a tenth, at it and below, or where they have their
    best node.
    """
    best = np.zeros_like(theta, dtype=bool)
    best[np.arange(len(theta)), theta.argmax(axis=1)] = True
    belongs = (tree.below(theta.T) >= PART) | tree.below(best.T, np.logical_or)
    return Marks(tree.depth, _labels(tree), np.ascontiguousarray(belongs))


def _labels(tree: Tree) -> Bools:
    shown = by_branch(tree)
    words = np.zeros(tree.phi.shape, dtype=bool)
    for node in range(tree.n_nodes):
        words[node, shown.top_words(node, LABEL_WORDS)] = True
    return words


def partners(own: Marks, other: Marks) -> Pairs:
    """Return which nodes below the roots are the same, one to one at each depth.

    Partners share five of the ten words, and half of their documents (Jaccard); of two nodes to
    which no document belongs the words decide. There are as many as can be; among equally many the
    pairs whose documents overlap most.
    """
    found: list[tuple[int, int, float]] = []
    for level in np.unique(own.depth)[1:]:
        mine, theirs = np.flatnonzero(own.depth == level), np.flatnonzero(other.depth == level)
        if not len(theirs):
            continue
        shared = own.words[mine].astype(np.float32) @ other.words[theirs].T.astype(np.float32)
        both = own.docs[mine].astype(np.float32) @ other.docs[theirs].T.astype(np.float32)
        sizes = own.docs[mine].sum(axis=1)[:, None] + other.docs[theirs].sum(axis=1)
        overlap = np.where(sizes, both.astype(np.float64) / np.maximum(sizes - both, 1.0), 1.0)
        fits = (shared >= SHARED_WORDS) & (overlap >= OVERLAP)
        rows, columns = linear_sum_assignment(-np.where(fits, len(mine) + overlap, 0.0))
        kept = fits[rows, columns]
        rows, columns = rows[kept], columns[kept]
        found += zip(
            mine[rows].tolist(), theirs[columns].tolist(), overlap[rows, columns], strict=True
        )
    found.sort()
    nodes = np.array([pair[:2] for pair in found], np.int64).reshape(-1, 2)
    return Pairs(nodes[:, 0], nodes[:, 1], np.array([pair[2] for pair in found], np.float64))


def supported_by(own: Marks, others: Sequence[Marks]) -> Support:
    """Return how many of the other trees have a partner for each node; all have one for a root."""
    found = np.where(own.depth == 0, len(others), 0)
    for other in others:
        found[partners(own, other).mine] += 1
    return Support(found, len(others))
