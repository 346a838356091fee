"""The truncated tree, its path slots and sticks; where documents are in it.

Nodes are numbered level by level, and within a level by parent, siblings in the order of their
sticks: the children of a node are contiguous in both senses, and node 0 is the root. The slot of
a node at the last level is the path that ends there; that of a node above holds every path that
goes through it and leaves the tree right below (theory/ncrp 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betaln, psi

from hiertopics.base.arrays import F64, I32, I64, Floats, Ints, Numbers
from hiertopics.base.errors import NumericalError
from hiertopics.contract.model import PathMixture, Paths, Posterior
from hiertopics.corpus.data.tree import ROOT


class SlotNodes(NamedTuple):
    """The shape of a tree.

    parent: int32 [n_nodes], -1 for the root. bounds: int64 [depth + 1]; level l (root: 0) has
    nodes ``bounds[l] .. bounds[l + 1]``. path: int32 [n_nodes, depth], the ancestor-or-self at
    each level, -1 below. level: int32 [n_nodes].
    """

    parent: I32
    bounds: I64
    path: I32
    level: I32

    @property
    def n_nodes(self) -> int:
        """Number of nodes, which is the number of slots."""
        return len(self.parent)

    @property
    def depth(self) -> int:
        """Number of levels."""
        return len(self.bounds) - 1

    @property
    def leaves(self) -> range:
        """Nodes of the last level."""
        return range(int(self.bounds[-2]), int(self.bounds[-1]))


def ancestors(parent: Ints, depth: int) -> I32:
    """Return the node at each level of the path to each node, int32 [n_nodes, depth], padded -1.

    parent: parents before children, -1 for the root.
    """
    path = np.full((len(parent), depth), ROOT, dtype=np.int32)
    level = np.zeros(len(parent), dtype=np.int64)
    for node in range(len(parent)):
        if parent[node] != ROOT:
            path[node] = path[parent[node]]
            level[node] = level[parent[node]] + 1
        path[node, level[node]] = node
    return path


def nodes_of(parent: I32, depth: int) -> SlotNodes:
    """Return the shape of a tree whose nodes are in order (see the module)."""
    path = ancestors(parent, depth)
    level = ((path >= 0).sum(axis=1) - 1).astype(np.int32)
    bounds = np.searchsorted(level, np.arange(depth + 1)).astype(np.int64)
    return SlotNodes(parent, bounds, path, level)


def in_order(parent: Ints, rank: Numbers) -> I64:
    """Return old node ids in the order of the module, siblings by ascending ``rank``.

    int64 [n_nodes]. parent: int [n_nodes], may name nodes in any order, the root by -1. rank:
    [n_nodes].
    """
    children: list[list[int]] = [[] for _ in parent]
    root = -1
    for node, above in enumerate(parent):
        if above < 0:
            root = node
        else:
            children[above].append(node)
    order, row = [], [root]
    while row:
        order += row
        row = [child for node in row for child in sorted(children[node], key=lambda c: rank[c])]
    return np.array(order)


def renumbered(parent: Ints, order: I64) -> I32:
    """Return the parents of the nodes ``order``, int64 [n], under their new numbers: int32 [n]."""
    new_id = np.full(len(parent) + 1, -1, dtype=np.int32)  # the last entry serves parent -1
    new_id[order] = np.arange(len(order))
    return new_id[np.asarray(parent)[order]]


def subtree_sums(nodes: SlotNodes, per_slot: F64) -> F64:
    """Add up the last axis over each node's subtree: Q(i) of q(slot), float64 [..., n_nodes]."""
    total = np.array(per_slot, dtype=np.float64)
    for level in range(nodes.depth - 1, 0, -1):
        below = slice(nodes.bounds[level], nodes.bounds[level + 1])
        np.add.at(total.T, nodes.parent[below], total[..., below].T)
    return total


class NodeSticks(NamedTuple):
    """Beta parameters of every node's stick, float64 [n_nodes].

    Entry 0, the root's, has no meaning and is 1, 1.
    """

    a: F64
    b: F64


def fit_sticks(nodes: SlotNodes, slot_mass: F64, gamma: float) -> NodeSticks:
    """Return the best sticks for the documents' mass in each slot, [n_nodes] (theory/ncrp 3.5)."""
    passing = subtree_sums(nodes, slot_mass)
    a, b = 1.0 + passing, np.ones(nodes.n_nodes)
    a[0] = 1.0
    # Later siblings and the slot of the parent, which holds all siblings outside the tree.
    tail = slot_mass.copy()
    for node in range(nodes.n_nodes - 1, 0, -1):
        b[node] = gamma + tail[nodes.parent[node]]
        tail[nodes.parent[node]] += passing[node]
    return NodeSticks(a, b)


def sticks_term(sticks: NodeSticks, gamma: float) -> float:
    """Return E_v, E log p(v) - E log q(v) over all nodes but the root (theory/ncrp 3.6)."""
    a, b = sticks.a[1:], sticks.b[1:]
    both = psi(a + b)
    e_log_stick, e_log_rest = psi(a) - both, psi(b) - both
    terms = np.log(gamma) + (gamma - 1) * e_log_rest + betaln(a, b)
    return float((terms - (a - 1) * e_log_stick - (b - 1) * e_log_rest).sum())


def log_series(gamma: float) -> float:
    """Return log r, r the sum over a level's prior sticks of exp E log (theory/ncrp 2.3)."""
    g = psi(1.0) - psi(1.0 + gamma)
    return float(g - np.log(-np.expm1(-1.0 / gamma)))


def log_masses(nodes: SlotNodes, sticks: NodeSticks, gamma: float) -> F64:
    """Return LM, the log of the sum over a slot's paths of exp E log p(path) (theory/ncrp 2.3).

    float64 [n_nodes].
    """
    both = psi(sticks.a + sticks.b)
    e_log_stick, e_log_rest = psi(sticks.a) - both, psi(sticks.b) - both
    prefix, rest = np.zeros(nodes.n_nodes), np.zeros(nodes.n_nodes)
    for node in range(1, nodes.n_nodes):
        above = nodes.parent[node]
        prefix[node] = prefix[above] + rest[above] + e_log_stick[node]
        rest[above] += e_log_rest[node]
    return prefix + rest + (nodes.depth - 1 - nodes.level) * log_series(gamma)


def mean_masses(nodes: SlotNodes, sticks: NodeSticks) -> F64:
    """Return the expected mass of each slot, float64 [n_nodes]; they sum to 1."""
    mean = sticks.a / (sticks.a + sticks.b)
    mass, rest = np.ones(nodes.n_nodes), np.ones(nodes.n_nodes)
    for node in range(1, nodes.n_nodes):
        above = nodes.parent[node]
        mass[node] = mass[above] * rest[above] * mean[node]
        rest[above] *= 1.0 - mean[node]
    return mass * rest


RARE = 1e-7


def sparse_rows(chances: F64) -> sparse.csr_array:
    """Return chances [n_docs, n_nodes] as CSR without those below ``RARE``, rows summing to 1.

    Raises NumericalError where a row has no chance, as of numbers that are not finite.
    """
    rows = sparse.csr_array(np.where(chances > RARE, chances, 0.0))
    empty = np.flatnonzero(np.diff(rows.indptr) == 0)
    if len(empty):
        raise NumericalError(f"document {int(empty[0])} has a chance at no node of the tree")
    rows.data /= np.repeat(np.asarray(rows.sum(axis=1)).ravel(), np.diff(rows.indptr))
    return rows


def place(parent: Ints, depth: int, slot_probs: sparse.csr_array, level_weights: F64) -> Posterior:
    """Return theta over nodes, with a last column for the share outside, and the paths.

    theta of a node is the sum over slots at or below it of the slot's chance times the weight of
    the node's level; levels below a slot are outside. slot_probs: CSR [n_docs, n_nodes].
    level_weights: [nnz, depth], for each entry of slot_probs.
    """
    path = ancestors(parent, depth)
    n_docs, n_nodes = slot_probs.shape
    cells = slot_probs.tocoo()
    doc, slot = cells.coords
    nodes = path[slot]
    columns = np.where(nodes == ROOT, n_nodes, nodes)
    values = cells.data[:, None] * level_weights
    rows = np.repeat(doc, depth)
    shape = (n_docs, n_nodes + 1)
    theta = sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=shape)
    theta.sum_duplicates()
    theta.eliminate_zeros()
    theta.data /= np.repeat(np.asarray(theta.sum(axis=1)).ravel(), np.diff(theta.indptr))
    best = np.zeros(n_docs, dtype=np.int64)
    log_prob = np.zeros(n_docs)
    for doc in range(n_docs):
        row = slice(slot_probs.indptr[doc], slot_probs.indptr[doc + 1])
        winner = int(np.argmax(slot_probs.data[row]))
        best[doc] = slot_probs.indices[row][winner]
        log_prob[doc] = min(np.log(slot_probs.data[row][winner]), 0.0)
    mixture = PathMixture(
        slot_probs.indptr.astype(np.int64),
        path[slot_probs.indices],
        np.minimum(np.log(slot_probs.data), 0.0),
        level_weights,
    )
    return Posterior(theta, Paths(path[best], log_prob), mixture)


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
