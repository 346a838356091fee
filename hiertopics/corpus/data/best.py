"""The places of the largest values of a long array, such as the best words of a topic."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I64

BLOCK = 64
"""Values of a block; the first step compares the largest values of blocks."""


def largest(values: F64, n: int) -> I64:
    """Return the places, int64, of the ``n`` largest values [N]: largest first, ties by place.

    n: 0 or more; of fewer values all places are returned. A NaN counts as the largest of all, but
    its place is not returned.
    """
    n = min(n, len(values))
    if not n:
        return np.empty(0, dtype=np.int64)
    least = _bound(values, n)
    leading = np.arange(len(values)) if np.isnan(least) else np.flatnonzero(values >= least)
    found = values[leading]
    lowest = np.partition(found, len(found) - n)[len(found) - n]
    leading = leading[found >= lowest]
    return np.asarray(leading[np.argsort(-values[leading], kind="stable")[:n]])


def _bound(values: F64, n: int) -> float:
    """Return a lower bound of the n-th largest value; NaN where blocks give no bound.

    Each block has a largest value. At least n values reach the n-th largest of these. A partition
    of all values takes many times as long.
    """
    n_blocks = len(values) // BLOCK
    if n_blocks < n:
        return float("nan")
    tops = np.maximum.reduce(values[: n_blocks * BLOCK].reshape(n_blocks, BLOCK), axis=1)
    if np.isnan(tops).any():
        return float("nan")
    return float(np.partition(tops, n_blocks - n)[n_blocks - n])
