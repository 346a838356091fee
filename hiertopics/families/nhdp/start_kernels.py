"""Responsibilities of the nodes of a tree from those of flat topics (theory/nhdp 6.3)."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.layout import Ancestry
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import fill_row


@kernel()
def divide(
    cells: Cells,
    first: int,
    last: int,
    theta: Floats,
    leaf_part: Floats,
    lent: Floats,
    inner_phi: Floats,
    ancestry: Ancestry,
) -> Floats:
    """Return q(z) [n_pairs, K] of documents ``first`` to ``last``.

    theta [last - first, K] of the flat topics, at their nodes. Each node has theta * leaf_part, an
    inner one besides inner_phi times the theta * lent of the leaves below it; all three
    [n_words, K].
    """
    n_nodes, begin = theta.shape[1], cells.cuts[first, 0]
    resp = np.empty((cells.cuts[last - 1, -1] - begin, n_nodes), theta.dtype)
    row, below = np.zeros(n_nodes), np.zeros(n_nodes)
    for doc in range(first, last):
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            word, total = cells.word[pair], 0.0
            fill_row(below, n_nodes, 0.0)
            for back in range(n_nodes):
                node = n_nodes - 1 - back
                row[node] = theta[doc - first, node] * leaf_part[word, node]
                if ancestry.inner[node]:
                    row[node] += below[node] * inner_phi[word, node]
                if node:
                    lends = below[node] + theta[doc - first, node] * lent[word, node]
                    below[ancestry.parent[node]] += lends
                total += row[node]
            for node in range(n_nodes):
                resp[pair - begin, node] = row[node] / total
    return resp


@kernel(fastmath=REASSOCIATE)
def fold(cells: Cells, first: int, last: int, phi: Floats, share: Floats, n_rounds: int) -> Floats:
    """Return theta [last - first, T] of documents under topics that are held (theory/nhdp 6.1).

    phi [n_words, T]; share [T]: theta before the first round, and one token in each.
    """
    n_topics = len(share)
    found = np.empty((last - first, n_topics), share.dtype)
    n, row = np.zeros(n_topics, share.dtype), np.zeros(n_topics, share.dtype)
    for doc in range(first, last):
        theta = found[doc - first]
        theta[:] = share
        for _ in range(n_rounds):
            n[:] = 0
            length = share.dtype.type(0)
            for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
                word_row, total = phi[cells.word[pair]], share.dtype.type(0)
                for topic in range(n_topics):
                    row[topic] = theta[topic] * word_row[topic]
                    total += row[topic]
                scale = cells.tokens[pair] / total
                for topic in range(n_topics):
                    n[topic] += scale * row[topic]
                length += cells.tokens[pair]
            for topic in range(n_topics):
                theta[topic] = (n[topic] + share[topic]) / (length + share.dtype.type(1))
    return found
