"""Responsibilities of the nodes of a tree from those of flat topics (theory/nhdp 6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.layout import Ancestry
from hiertopics.numeric.jit import kernel


@kernel()
def divide(
    cells: Cells,
    first: int,
    last: int,
    theta: NDArray[np.floating],
    leaf_part: NDArray[np.floating],
    lent: NDArray[np.floating],
    inner_phi: NDArray[np.floating],
    ancestry: Ancestry,
) -> NDArray[np.floating]:
    """Return q(z) [n_pairs, K] of documents ``first`` to ``last``.

    theta [n_docs, K] of the flat topics, at their nodes. Each node has theta * leaf_part, an inner
    one besides inner_phi times the theta * lent of the leaves below it; all three [n_words, K].
    """
    n_nodes, begin = theta.shape[1], cells.cuts[first, 0]
    resp = np.empty((cells.cuts[last - 1, -1] - begin, n_nodes), theta.dtype)
    row, below = np.zeros(n_nodes), np.zeros(n_nodes)
    for doc in range(first, last):
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            word, total = cells.word[pair], 0.0
            below[:] = 0
            for back in range(n_nodes):
                node = n_nodes - 1 - back
                row[node] = theta[doc, node] * leaf_part[word, node]
                if ancestry.inner[node]:
                    row[node] += below[node] * inner_phi[word, node]
                if node:
                    lends = below[node] + theta[doc, node] * lent[word, node]
                    below[ancestry.parent[node]] += lends
                total += row[node]
            for node in range(n_nodes):
                resp[pair - begin, node] = row[node] / total
    return resp
