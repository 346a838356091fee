"""Pairs of nodes that are to become one: the most alike first, no node in two of them."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, Floats


def cosines(columns: F64) -> F64:
    """Return the cosine of each pair of columns, float64 [n, n]; 0 for columns of zeros."""
    norms = np.sqrt((columns**2).sum(axis=0))
    unit = columns / np.where(norms > 0, norms, 1.0)
    return np.asarray(unit.T @ unit)


def disjoint_pairs(values: Floats, above: float) -> list[tuple[int, int]]:
    """Return pairs i < j whose value [n, n] is larger than ``above``, the highest first.

    None has a member in common with one before it.
    """
    first, second = np.nonzero(np.triu(values > above, 1))
    used: set[int] = set()
    pairs = []
    for index in np.argsort(-values[first, second], kind="stable"):
        pair = int(first[index]), int(second[index])
        if not used & set(pair):
            used |= set(pair)
            pairs.append(pair)
    return pairs
