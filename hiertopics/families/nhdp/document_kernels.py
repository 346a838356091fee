"""Loops over per-document state (see ``documents``): q(z) is started, stored and counted.

Responsibilities are kept between visits as their roots, in 16 bits (theory/nhdp 3.4). Tables of
floats keep them as they are; tests of exactness have these. They begin from those of flat topics
(theory/nhdp 6.3), and those of new documents are found with the topics held fixed (theory/nhdp 7).
No sum is reassociated: bits are the same on every processor (docs/runs.md).
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Bools, Floats
from hiertopics.families.flat.burst_kernels import TableRule, seated
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.layout import Ancestry, Local, StoredResponsibilities
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.simd import weigh_shares
from hiertopics.numeric.special import fill_row

STEPS = np.float32(65535)


@kernel()
def unpack(kept: StoredResponsibilities, row: Floats) -> None:
    """Write the stored responsibilities [n] to ``row`` [n]."""
    rooted = kept.itemsize == 2
    kind = row.dtype.type
    scale = kind(1) / kind(STEPS) if rooted else kind(1)
    for at in range(len(kept)):
        value = kind(kept[at]) * scale
        row[at] = value * value if rooted else value


@kernel()
def pack(row: Floats, kept: StoredResponsibilities) -> None:
    """Store a row [n] of responsibilities, all at least 0, in ``kept`` [n]."""
    kind = row.dtype.type
    if kept.itemsize == 2:
        for at in range(len(kept)):
            kept[at] = kept.dtype.type(min(np.sqrt(row[at]), kind(1)) * kind(STEPS) + kind(0.5))
    else:
        for at in range(len(kept)):
            kept[at] = row[at]


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
    n_pairs, n_nodes = cells.cuts[last - 1, -1] - cells.cuts[first, 0], theta.shape[1]
    resp, (row, below) = np.empty((n_pairs, n_nodes), theta.dtype), np.zeros((2, n_nodes))
    _divide(cells, first, last, theta, leaf_part, lent, inner_phi, ancestry, row, below, resp)
    return resp


@kernel()
def _divide(
    cells: Cells,
    first: int,
    last: int,
    theta: Floats,
    leaf_part: Floats,
    lent: Floats,
    inner_phi: Floats,
    ancestry: Ancestry,
    row: F64,
    below: F64,
    resp: Floats,
) -> None:
    """Write q(z) to ``resp``; row and below [K] are scratch."""
    n_nodes, begin = theta.shape[1], cells.cuts[first, 0]
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


@kernel()
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
                total = weigh_shares(theta, phi[cells.word[pair]], 0.0, row)
                scale = cells.tokens[pair] / total
                for topic in range(n_topics):
                    n[topic] += scale * row[topic]
                length += cells.tokens[pair]
            for topic in range(n_topics):
                theta[topic] = (n[topic] + share[topic]) / (length + share.dtype.type(1))
    return found


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
    found = np.empty((last - first) * n_nodes, np.int32)
    n_found = _choose(cells, first, last, dense, ancestry, least, lengths, n, wanted, found)
    return found[:n_found].copy()


@kernel()
def _choose(
    cells: Cells,
    first: int,
    last: int,
    dense: Floats,
    ancestry: Ancestry,
    least: float,
    lengths: I64,
    n: F64,
    wanted: Bools,
    found: I32,
) -> int:
    """Write the own nodes of documents to ``found``; return their number.

    n and wanted [K], no node wanted, are scratch.
    """
    n_nodes, n_found, begin = dense.shape[1], 0, cells.cuts[first, 0]
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
    return n_found


def keep(
    cells: Cells,
    first: int,
    last: int,
    dense: Floats,
    own: I32,
    lengths: I64,
    resp: StoredResponsibilities,
) -> None:
    """Write q(z) of documents ``first`` to ``last`` at their own nodes, scaled to sum to 1.

    dense: q(z) at all nodes, float [n_pairs, K]. own, lengths: as ``choose`` returns and writes
    them. resp: the documents' pairs one after another, each at its document's own nodes. A pair
    that has nothing there is spread evenly.
    """
    _keep(cells, first, last, dense, own, lengths, resp, np.empty(dense.shape[1], dense.dtype))


@kernel()
def _keep(
    cells: Cells,
    first: int,
    last: int,
    dense: Floats,
    own: I32,
    lengths: I64,
    resp: StoredResponsibilities,
    q: Floats,
) -> None:
    """Write q(z) to ``resp``; q [K] is scratch."""
    begin, first_own, place = cells.cuts[first, 0], 0, 0
    for doc in range(first, last):
        nodes = own[first_own : first_own + lengths[doc]]
        first_own += lengths[doc]
        for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            row, total = dense[pair - begin], 0.0
            for node in nodes:
                total += row[node]
            for at in range(len(nodes)):
                q[at] = row[nodes[at]] / total if total > 0 else 1.0 / len(nodes)
            pack(q[: len(nodes)], resp[place : place + len(nodes)])
            place += len(nodes)


def count_words(cells: Cells, word_shard: int, local: Local, n_wk: Floats) -> None:
    """Add a block's pairs to n_wk [n_words, n_nodes], which the caller has set to zero."""
    _count_words(cells, word_shard, local, n_wk, np.empty(n_wk.shape[1], n_wk.dtype))


@kernel()
def _count_words(cells: Cells, word_shard: int, local: Local, n_wk: Floats, q: Floats) -> None:
    """Add a block's pairs to n_wk; q [K] is scratch."""
    for doc in range(len(cells.cuts)):
        nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
        for pair in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            begin = local.first_resp[doc] + (pair - cells.cuts[doc, 0]) * len(nodes)
            row, word_row = q[: len(nodes)], n_wk[cells.word[pair]]
            unpack(local.resp[begin : begin + len(nodes)], row)
            for at in range(len(nodes)):
                word_row[nodes[at]] += cells.tokens[pair] * row[at]


def count_documents(cells: Cells, local: Local) -> None:
    """Write the counts of documents."""
    longest = int(np.diff(local.first_node).max(initial=0))
    _count_documents(cells, local, np.empty(longest, local.n.dtype))


@kernel()
def _count_documents(cells: Cells, local: Local, q: Floats) -> None:
    """Write the counts of documents; q, as long as the most own nodes: scratch."""
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


@kernel()
def fold_in(
    words: I32,
    counts: F64,
    phi: F64,
    first: I64,
    mass: F64,
    concentration: F64,
    stop_a: F64,
    stop_b: F64,
    theta: F64,
    n_sweeps: int,
    tolerance: float,
    seating: TableRule,
    held: int,
) -> tuple[F64, F64]:
    """Return the expected counts by node [K] of one document, and its tables [n_pairs], float64.

    words, counts [n_pairs]; phi [n_words, K]; the others [K], nodes breadth first. It starts from
    q proportional to phi * theta, and a table for each token, and ends when no entry moves by
    ``tolerance`` (theory/nhdp 7). held: sweeps that keep the tables, where the seating refits them.
    """
    pair_tables, doc_tables, waits = counts.copy(), 0.0, False
    n_pairs, n_nodes = len(words), len(mass)
    resp = np.empty((n_pairs, n_nodes))
    n, passing = np.zeros(n_nodes), np.zeros(n_nodes)
    # q(z) begins proportional to phi theta.
    for pair in range(n_pairs):
        row = resp[pair]
        total = weigh_shares(theta, phi[words[pair]], 0.0, row)
        for node in range(n_nodes):
            row[node] /= total
            n[node] += counts[pair] * row[node]
        doc_tables += counts[pair]
        waits = waits or (seating.refit and counts[pair] > 1)
    add_up(n, first, passing)
    own, weights, change = np.zeros(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    for sweep in range(n_sweeps):
        largest = 0.0
        for pair in range(n_pairs):
            row, word_row = resp[pair], phi[words[pair]]
            # One table of the pair is left out at each node and of what passes it.
            add_up(row, first, own)
            weights[0] = 1.0
            # From the root down, parents before children: what reaches a node, then its stop and
            # its children's parts.
            for node in range(n_nodes):
                start, stop = first[node], first[node + 1]
                if start == stop:
                    continue
                stopped = max(n[node] - row[node], 0.0)
                gone = max(passing[node] - n[node] - (own[node] - row[node]), 0.0)
                reached = weights[node] / (stop_a[node] + stop_b[node] + stopped + gone)
                going = reached * (stop_b[node] + gone) / (gone + concentration[node])
                for child in range(start, stop):
                    others = max(passing[child] - own[child], 0.0)
                    weights[child] = going * (others + mass[child])
                weights[node] = reached * (stop_a[node] + stopped)
            total = weigh_shares(weights, word_row, 0.0, weights)
            grown = 0.0
            # Tables of a repeated word are refitted at the mixture without one of them.
            if seating.refit and sweep >= held and counts[pair] > 1:
                found = seated(counts[pair], total, doc_tables - 1.0, seating)
                grown = found - pair_tables[pair]
                pair_tables[pair] = found
                doc_tables += grown
                largest = max(largest, abs(grown))
            for node in range(n_nodes):
                moved = weights[node] / total - row[node]
                change[node] = pair_tables[pair] * moved + grown * row[node]
                row[node] += moved
                n[node] += change[node]
                largest = max(largest, abs(moved))
            add_up(change, first, own)
            for node in range(n_nodes):
                passing[node] += own[node]
        if largest < tolerance and (sweep >= held or not waits):
            break
    return n, pair_tables


@kernel()
def add_up(row: F64, first: I64, total: F64) -> None:
    """Write to ``total`` the sums of ``row`` at and below each node, nodes breadth first.

    Both [n_nodes]. first: int64 [n_nodes + 1], the first child of each node.
    """
    for back in range(len(row)):
        node = len(row) - 1 - back
        here = row[node]
        for child in range(first[node], first[node + 1]):
            here += total[child]
        total[node] = here
