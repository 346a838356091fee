"""Loops of the collapsed Gibbs sampler over the tokens of a tree (theory/nhdp 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.document_kernels import unpack
from hiertopics.families.nhdp.layout import Local
from hiertopics.numeric.jit import REASSOCIATE, kernel


class NodeParameters(NamedTuple):
    """Parameters that all documents share, by node.

    parent: int32 [K]. first: int64 [K + 1], the children of p are ``first[p] .. first[p + 1]``.
    inner: int64, the nodes with children, ascending.
    mass, concentration, stop_a, stop_b: float64 [K]. eta: pseudo-count of each word; eta_total: of
    all words.
    """

    parent: I32
    first: I64
    inner: I64
    mass: F64
    concentration: F64
    stop_a: F64
    stop_b: F64
    eta: float
    eta_total: float


@kernel()
def inverse_sizes(n_k: I64, eta_total: float) -> F64:
    """Return 1 / (n_k + eta_total) of each node, float64 [n_nodes]."""
    inverse = np.empty(len(n_k))
    for node in range(len(n_k)):
        inverse[node] = 1.0 / (n_k[node] + eta_total)
    return inverse


@kernel()
def begin_chances(
    doc_row: I32, passing: F64, parameters: NodeParameters, stay: F64, go: F64
) -> None:
    """Write the tokens of a document that pass each node, and the chances there.

    All rows: [n_nodes], nodes breadth first.
    """
    for node in range(len(doc_row) - 1, -1, -1):
        passing[node] = doc_row[node]
        for child in range(parameters.first[node], parameters.first[node + 1]):
            passing[node] += passing[child]
        refresh(node, doc_row, passing, parameters, stay, go)


@kernel()
def redraw_tokens(
    z: I32,
    words: I32,
    doc_row: I32,
    n_wk: I32,
    n_k: I64,
    inverse: F64,
    passing: F64,
    parameters: NodeParameters,
    stay: F64,
    go: F64,
    total: F64,
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return how many moved.

    inverse, passing, stay, go: of all counts, before and after, as ``inverse_sizes`` and
    ``begin_chances`` write them. total: scratch [K].
    """
    moved = 0
    for token in range(len(z)):
        word_row = n_wk[words[token]]
        old = z[token]
        doc_row[old] -= 1
        word_row[old] -= 1
        n_k[old] -= 1
        inverse[old] = 1.0 / (n_k[old] + parameters.eta_total)
        pass_by(old, -1.0, doc_row, passing, parameters, stay, go)
        weigh(word_row, inverse, passing, parameters, stay, go, total)
        new = descend(rng.random(), word_row, inverse, passing, parameters, stay, go, total)
        doc_row[new] += 1
        word_row[new] += 1
        n_k[new] += 1
        inverse[new] = 1.0 / (n_k[new] + parameters.eta_total)
        pass_by(new, 1.0, doc_row, passing, parameters, stay, go)
        z[token] = new
        moved += new != old
    return moved


@kernel()
def refresh(
    node: int, doc_row: I32, passing: F64, parameters: NodeParameters, stay: F64, go: F64
) -> None:
    """Renew a node's chance to stop, and to go on over g + concentration; rows: [n_nodes]."""
    if parameters.first[node] == parameters.first[node + 1]:
        stay[node], go[node] = 1.0, 0.0
        return
    gone = passing[node] - doc_row[node]
    visits = parameters.stop_a[node] + parameters.stop_b[node] + passing[node]
    stay[node] = (parameters.stop_a[node] + doc_row[node]) / visits
    go[node] = (parameters.stop_b[node] + gone) / (visits * (gone + parameters.concentration[node]))


@kernel()
def pass_by(
    node: int,
    change: float,
    doc_row: I32,
    passing: F64,
    parameters: NodeParameters,
    stay: F64,
    go: F64,
) -> None:
    """Add ``change`` to the tokens that pass a node and all nodes above it; rows: [n_nodes]."""
    while node >= 0:
        passing[node] += change
        refresh(node, doc_row, passing, parameters, stay, go)
        node = parameters.parent[node]


@kernel(fastmath=REASSOCIATE)
def weigh(
    word_row: I32,
    inverse: F64,
    passing: F64,
    parameters: NodeParameters,
    stay: F64,
    go: F64,
    total: F64,
) -> None:
    """Write the weight at and below each node, of a token that has reached it, to ``total``.

    All rows: [n_nodes].
    """
    for node in range(len(total)):
        total[node] = (word_row[node] + parameters.eta) * inverse[node]
    for back in range(len(parameters.inner)):
        node = parameters.inner[len(parameters.inner) - 1 - back]
        first, last = parameters.first[node], parameters.first[node + 1]
        weight, passed, mass = total[first:last], passing[first:last], parameters.mass[first:last]
        below = 0.0
        for child in range(last - first):
            below += weight[child] * (passed[child] + mass[child])
        total[node] = stay[node] * total[node] + go[node] * below


@kernel()
def descend(
    uniform: float,
    word_row: I32,
    inverse: F64,
    passing: F64,
    parameters: NodeParameters,
    stay: F64,
    go: F64,
    total: F64,
) -> int:
    """Return the node that ``uniform``, from 0 to below 1, draws: from the root, stop or go on.

    Rows, each [n_nodes], are those of ``weigh``.
    """
    node, target = 0, uniform * total[0]
    while parameters.first[node] < parameters.first[node + 1]:
        own = stay[node] * (word_row[node] + parameters.eta) * inverse[node]
        if target < own:
            return node
        target = (target - own) / go[node]
        child, last = parameters.first[node], parameters.first[node + 1] - 1
        share = passing[child] + parameters.mass[child]
        while child < last and target >= total[child] * share:
            target -= total[child] * share
            child += 1
            share = passing[child] + parameters.mass[child]
        node, target = child, target / share
    return node


@kernel()
def draw_start(
    cells: Cells, local: Local, tables: Floats, token: int, z: I32, rng: np.random.Generator
) -> int:
    """Draw nodes of a piece's pairs, in their order, by the pair's q(z).

    tables: [n_pairs], how many of a pair's first tokens get a node; what is no whole number is
    rounded up or down at random, and keeps its mean. token: the number of the first token; returns
    that of the first one behind.
    """
    for doc in range(len(cells.cuts)):
        nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
        begin, first = cells.cuts[doc, 0] - cells.cuts[0, 0], cells.cuts[0, 0]
        row = np.empty(len(nodes))
        for pair in range(begin, cells.cuts[doc, -1] - first):
            place = local.first_resp[doc] + (pair - begin) * len(nodes)
            unpack(local.resp[place : place + len(nodes)], row)
            n_tables = int(tables[pair])
            if n_tables < tables[pair]:
                n_tables += rng.random() < tables[pair] - n_tables
            for slot in range(n_tables):
                target, at = rng.random(), 0
                while at < len(nodes) - 1 and target >= row[at]:
                    target -= row[at]
                    at += 1
                z[token + slot] = nodes[at]
            token += int(cells.tokens[pair])
    return token


@kernel()
def count_visits(n_dk: I32, parent: I32, first: I64, histogram: I64) -> I64:
    """Count how many documents have each number of tokens at and below a node, at it, below it.

    n_dk: int32 [n_docs, K]. histogram: int64 [3, K, small], added to; of leaves the first alone.
    Returns the others, int64 [n, 3]: which of the three, node and count.
    """
    n_docs, n_nodes = n_dk.shape
    small = histogram.shape[2]
    passing, seen = np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    large = np.empty((16, 3), np.int64)
    n_large = 0
    for doc in range(n_docs):
        n_seen = 0
        for stop in range(n_nodes):
            n_tokens, node = n_dk[doc, stop], stop
            while n_tokens > 0 and node >= 0:
                if passing[node] == 0:
                    seen[n_seen] = node
                    n_seen += 1
                passing[node] += n_tokens
                node = parent[node]
        for place in range(n_seen):
            node = seen[place]
            inner = first[node] < first[node + 1]
            stopped = np.int64(n_dk[doc, node])
            counts = (passing[node], stopped, passing[node] - stopped)
            for which in range(3 if inner else 1):
                count = counts[which]
                if count < small:
                    histogram[which, node, count] += 1
                    continue
                if n_large == len(large):
                    large = np.concatenate((large, np.empty_like(large)))
                large[n_large] = which, node, count
                n_large += 1
            passing[node] = 0
    return large[:n_large].copy()
