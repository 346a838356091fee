"""A tree of seven nodes with six documents in it; trees that have nothing but a shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.corpus.data.treeshares import TreeShares, tree_shares

PARENT = (-1, 0, 0, 1, 1, 2, 2)
THETA = np.array(
    [
        [0.1, 0.1, 0, 0.7, 0.1, 0, 0],
        [0.2, 0.1, 0, 0.5, 0.1, 0.1, 0],
        [0.1, 0.2, 0.1, 0.1, 0.5, 0, 0],
        [0, 0, 0.2, 0, 0, 0.6, 0.2],
        [0.1, 0, 0.1, 0.1, 0, 0.6, 0.1],
        [0.1, 0.1, 0.2, 0, 0.1, 0.1, 0.4],
    ]
)


def tree_of(parent: Sequence[int], kind: Sequence[int] = ()) -> Tree:
    n = len(parent)
    return Tree(
        np.full((n, 2), 0.5),
        np.array(parent, np.int32),
        np.array(kind or [NODE] * n, np.int8),
        np.full(n, 1 / n),
        np.ones(n, np.int64),
        np.ones(n),
    )


def shares_of(parent: Sequence[int], theta: F64, kind: Sequence[int] = ()) -> TreeShares:
    return tree_shares(tree_of(parent, kind), sparse.csr_array(theta))
