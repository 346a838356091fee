"""Loops over what belongs to documents (see ``documents``)."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, I32, I64, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.kept_kernels import pack, unpack
from hiertopics.families.nhdp.layout import Ancestry, Local
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import fill_row


@kernel()
def choose(
    cells: Cells,
    first: int,
    last: int,
    dense: Floats,
    ancestry: Ancestry,
    least: float,
    lengths: I64,
) -> I32:
    """Return the own nodes of documents ``first`` to ``last``, and write how many each has.

    dense: q(z) of their pairs [n_pairs, K]. A node is a document's own if it expects ``least``
    tokens there, or if one below is; the one with most always is.
    """
    n_nodes = dense.shape[1]
    n, wanted = np.zeros(n_nodes), np.zeros(n_nodes, np.bool_)
    found, n_found = np.empty((last - first) * n_nodes, np.int32), 0
    begin = cells.cuts[first, 0]
    for doc in range(first, last):
        fill_row(n, n_nodes, 0.0)
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            for node in range(n_nodes):
                n[node] += cells.tokens[pair] * dense[pair - begin, node]
        # Loops: numba's own array expressions bring the texts of errors along, seconds to compile.
        most = 0
        for node in range(n_nodes):
            wanted[node] = n[node] >= least
            if n[node] > n[most]:
                most = node
        wanted[most] = True
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            if wanted[node]:
                wanted[ancestry.parent[node]] = True
        length = 0
        for node in range(n_nodes):
            if wanted[node]:
                found[n_found + length] = node
                length += 1
        lengths[doc] = length
        n_found += length
    return found[:n_found].copy()


@kernel()
def keep(cells: Cells, first: int, last: int, dense: Floats, local: Local) -> None:
    """Write q(z) of documents ``first`` to ``last`` at their own nodes, scaled to sum to 1.

    A pair that has nothing there is spread evenly.
    """
    begin, q = cells.cuts[first, 0], np.empty(dense.shape[1], dense.dtype)
    for doc in range(first, last):
        nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
        place = local.first_resp[doc]
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            row, total = dense[pair - begin], 0.0
            for node in nodes:
                total += row[node]
            for at in range(len(nodes)):
                q[at] = row[nodes[at]] / total if total > 0 else 1.0 / len(nodes)
            pack(q[: len(nodes)], local.resp[place : place + len(nodes)])
            place += len(nodes)


@kernel()
def count_words(cells: Cells, word_shard: int, local: Local, n_wk: Floats) -> None:
    """Add a block's pairs to n_wk, which the caller has set to zero."""
    q = np.empty(n_wk.shape[1], n_wk.dtype)
    for doc in range(len(cells.cuts)):
        nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            begin = local.first_resp[doc] + (pair - cells.cuts[doc, 0]) * len(nodes)
            row, word_row = q[: len(nodes)], n_wk[cells.word[pair]]
            unpack(local.resp[begin : begin + len(nodes)], row)
            for at in range(len(nodes)):
                word_row[nodes[at]] += cells.tokens[pair] * row[at]


@kernel()
def count_documents(cells: Cells, local: Local) -> None:
    """Write the counts of documents."""
    longest = 0
    for doc in range(len(cells.cuts)):
        longest = max(longest, local.first_node[doc + 1] - local.first_node[doc])
    q = np.empty(longest, local.n.dtype)
    for doc in range(len(cells.cuts)):
        n = local.n[local.first_node[doc] : local.first_node[doc + 1]]
        fill_row(n, len(n), 0.0)
        begin = local.first_resp[doc]
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            row = q[: len(n)]
            unpack(local.resp[begin : begin + len(n)], row)
            begin += len(n)
            for at in range(len(n)):
                n[at] += cells.tokens[pair] * row[at]


@kernel()
def add_totals(local: Local, totals: F64) -> None:
    """Add the counts of all documents to ``totals`` [K]."""
    for entry in range(len(local.node)):
        totals[local.node[entry]] += local.n[entry]
