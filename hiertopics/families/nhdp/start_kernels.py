"""Responsibilities of the nodes of a tree from those of flat topics (theory/nhdp 6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.layout import Columns
from hiertopics.families.nhdp.sweep_kernels import write_going
from hiertopics.numeric.jit import kernel


@kernel()
def divide(
    cells: Cells,
    doc_shard: int,
    theta: NDArray[np.floating],
    leaf_part: NDArray[np.floating],
    lent: NDArray[np.floating],
    inner_phi: NDArray[np.floating],
    columns: Columns,
    resp: NDArray[np.floating],
) -> None:
    """Write q(z) of the pairs of a document range to ``resp`` [n_pairs, C].

    theta [n_docs, C] of the flat topics, at the columns of their nodes. Each node has theta *
    leaf_part, an inner one besides inner_phi [n_words, n_above] times the theta * lent of the
    leaves below it; leaf_part and lent [n_words, C].
    """
    n_columns, n_above, n_inner = theta.shape[1], inner_phi.shape[1], len(columns.inner_parent)
    row, below = np.zeros(n_columns), np.zeros(n_above)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            word = cells.word[pair]
            for column in range(n_columns):
                row[column] = theta[doc, column] * lent[word, column]
            write_going(
                row, columns.inner_first, columns.branching, columns.group_start,
                columns.group_depth, columns.lane_parent, below,
            )  # fmt: skip
            total = 0.0
            for column in range(n_columns):
                row[column] = theta[doc, column] * leaf_part[word, column]
            for node in range(n_inner):
                row[node] += below[node] * inner_phi[word, node]
            for column in range(n_columns):
                total += row[column]
            for column in range(n_columns):
                resp[pair, column] = row[column] / total
