"""Topics of two trees over words of which they share some: how alike, and which is which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.arrays import F64, I64
from hiertopics.data.tree import Tree

LEAST = 0.3
"""Topics that are less alike than this are not matched."""

MOST_CELLS = 4_000_000
"""Pairs of topics up to which the best matching is found, and not one pair after the other."""


class Named(NamedTuple):
    """Nodes of a tree, int64, and what its columns are called."""

    tree: Tree
    rows: I64
    vocab: Sequence[str]


def affinities(mine: Named, theirs: Named) -> F64:
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
    """Return pairs (row, column), each in one pair at most, that are alike; in order of rows.

    Those of the largest sum of affinities, or for large tables the most alike ones first.
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
