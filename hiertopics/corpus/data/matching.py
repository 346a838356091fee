"""Affinities of the nodes of several trees, and pairs of nodes that match.

``Marks`` compares trees over the same documents and words. ``TreeNodes`` compares trees that share
only some of their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Bools
from hiertopics.corpus.data.tree import Support, Tree, by_branch

LABEL_WORDS, SHARED_WORDS = 10, 5
OVERLAP = 0.5
PART = 0.1


class Marks(NamedTuple):
    """The features by which nodes are matched. depth: int32 [n_nodes]; words: bool [n_nodes,
    n_words], the ten most telling words of a branch; docs: bool [n_nodes, n_docs], its documents.
    """

    depth: I32
    words: Bools
    docs: Bools


class NodePairs(NamedTuple):
    """Partners, int64 [n_pairs] each: nodes of the first tree and of the second tree.

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


def partners(own: Marks, other: Marks) -> NodePairs:
    """Return the pairs of equal nodes below the roots, one to one at each depth.

    Partners share five of the ten words, and half of their documents (Jaccard); of two nodes to
    which no document belongs the words decide. There are as many as can be; among equally many the
    pairs whose documents overlap most.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

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
    return NodePairs(nodes[:, 0], nodes[:, 1], np.array([pair[2] for pair in found], np.float64))


def supported_by(own: Marks, others: Sequence[Marks]) -> Support:
    """Return for each node the number of other trees with a partner; a root has one in all."""
    found = np.where(own.depth == 0, len(others), 0)
    for other in others:
        found[partners(own, other).mine] += 1
    return Support(found, len(others))


LEAST = 0.3
"""Topics that are less alike than this are not matched."""

MOST_CELLS = 4_000_000
"""Pairs of topics up to which the best matching is found, and not one pair after the other."""


class TreeNodes(NamedTuple):
    """Nodes of a tree, int64, and the names of its columns."""

    tree: Tree
    rows: I64
    vocab: Sequence[str]


def affinities(mine: TreeNodes, theirs: TreeNodes) -> F64:
    """Return the Hellinger affinity of each pair of nodes over words in common, [n, m].

    Of vectors: how far they have the same direction, either way round.
    """
    column = {word: place for place, word in enumerate(theirs.vocab)}
    common = [(place, column[word]) for place, word in enumerate(mine.vocab) if word in column]
    columns = np.array(common, dtype=np.int64).reshape(-1, 2).T
    tables = []
    for one, own in zip((mine, theirs), columns, strict=True):
        vectors = one.tree.vectors
        table = (one.tree.phi if vectors is None else vectors)[np.ix_(one.rows, own)]
        if vectors is None:
            tables.append(np.sqrt(table))
        else:
            lengths = np.linalg.norm(vectors[one.rows], axis=1, keepdims=True)
            tables.append(table / np.maximum(lengths, np.finfo(float).tiny))
    return np.asarray(np.minimum(np.abs(tables[0] @ tables[1].T), 1.0))


def matched(affinity: F64) -> list[tuple[int, int]]:
    """Return pairs (row, column) of similar nodes, each in one pair at most, by row.

    Those of the largest sum of affinities, or for large tables the most alike ones first.
    affinity: float64 [n_rows, n_columns].
    """
    if affinity.size <= MOST_CELLS:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(affinity, maximize=True)
        pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
    else:
        pairs = _greedy(affinity)
    return sorted(pair for pair in pairs if affinity[pair] >= LEAST)


def _greedy(affinity: F64) -> list[tuple[int, int]]:
    rows, columns = np.nonzero(affinity >= LEAST)
    order = np.argsort(-affinity[rows, columns], kind="stable")
    free_row, free_column = (np.ones(n, dtype=bool) for n in affinity.shape)
    pairs = []
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if free_row[row] and free_column[column]:
            free_row[row] = free_column[column] = False
            pairs.append((row, column))
    return pairs
