"""Splits of nodes in two by their documents, and joins of inner siblings, a level's at once.

To split a node its documents are cut in two clusters, and one of them gets a new chain of nodes
beside the node; then each of these documents may choose between its old path and the new one.

Joins are tried, too: where a node has one child, what belongs to either topic is undecided, and
the gain of a plain merge misses what two such branches have in common. Words settle anew between
the levels of their documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.clustering import cluster, weighted_rows
from hiertopics.families.ncrp.variational.cells import Data, csr_of
from hiertopics.families.ncrp.variational.reshaping import union_gains
from hiertopics.families.ncrp.variational.state import State
from hiertopics.families.ncrp.variational.trials import NO_GROUP, Plan, keep_gainful, unchanged
from hiertopics.families.nested.pairs import disjoint_pairs
from hiertopics.model import Context

LEAST_DOCS = 4


class Split(NamedTuple):
    """A node, and those of its documents that go to a new one beside it, int64 [n]."""

    node: int
    docs: NDArray[np.int64]


def split_level(
    state: State,
    data: Data,
    chances: NDArray[np.float64],
    level: int,
    most_nodes: int,
    context: Context,
) -> tuple[State, int]:
    """Return a state in which the nodes of ``level`` that gain by it are split; and their number.

    chances: q of slots [n_docs, n_nodes]. The largest nodes come first where ``most_nodes``
    forbids more. Every document is on its best path, or on either of two, afterwards.
    """
    nodes = state.nodes
    best = np.argmax(chances, axis=1)
    at = nodes.path[best, level]
    found = _second_clusters(state, data, at, _wanted(state, at, level, most_nodes), context)
    if not found:
        return state, 0
    group = np.full(nodes.n_nodes + 1, NO_GROUP)  # the last entry serves documents above
    group[[node for node, _ in found]] = np.arange(len(found))
    above = nodes.path[:, level]

    def plan(numbers: Sequence[int]) -> Plan:
        chains = np.repeat(np.array(numbers), nodes.depth - level)
        some = [found[number] for number in numbers]
        return _split_plan(state, best, at, some, level, np.append(group[above], chains))

    before = unchanged(state, best, group[above])
    return keep_gainful(state, data, before, plan, group[at], len(found))


def _wanted(state: State, at: NDArray[np.int32], level: int, most_nodes: int) -> list[int]:
    """Return the nodes to be split, the largest first."""
    sizes = np.bincount(at[at >= 0], minlength=state.n_nodes)
    room = max(0, (most_nodes - state.n_nodes) // (state.nodes.depth - level))
    by_size = np.argsort(-sizes, kind="stable")[:room]
    return [int(node) for node in by_size if sizes[node] >= LEAST_DOCS]


def _second_clusters(
    state: State, data: Data, at: NDArray[np.int32], wanted: list[int], context: Context
) -> list[Split]:
    """Return the second of two clusters of documents of each node that has two, by node."""
    rng = context.rng("split")
    rows = weighted_rows(csr_of(data))
    found = []
    for node in wanted:
        docs = np.flatnonzero(at == node)
        second = docs[cluster(rows[docs], 2, rng) == 1]
        if len(second):
            found.append(Split(node, second))
    return sorted(found, key=lambda split: split.node)


def _split_plan(
    state: State,
    best: NDArray[np.int64],
    at: NDArray[np.int32],
    splits: list[Split],
    level: int,
    group: NDArray[np.integer],
) -> Plan:
    """Return the plan of these splits; a new node starts with the topic of an old one."""
    nodes = state.nodes
    parent, source = state.parent.tolist(), list(range(nodes.n_nodes))
    first, other = best.copy(), np.full(len(best), -1)
    for node, docs in splits:
        above = int(nodes.parent[node])
        for original in _chain_of(state, best[docs[0]], level):
            parent.append(above)
            source.append(original)
            above = len(parent) - 1
        other[at == node] = above
        first[docs] = above
    candidates = np.column_stack([best, other])
    return Plan(np.array(parent), state.lam[:, source], first, candidates, group)


def _chain_of(state: State, slot: int, level: int) -> list[int]:
    """Return the nodes whose topics a new chain from ``level`` down takes over.

    Below an inner slot, which has none, the topic of the slot's own node is taken again.
    """
    path = state.nodes.path[slot, level:]
    return [int(node) if node >= 0 else slot for node in path]


def join_level(
    state: State, data: Data, chances: NDArray[np.float64], level: int
) -> tuple[State, int]:
    """Return a state in which pairs of siblings of an inner level that gain by it are one node.

    The most alike pairs are tried. chances: q of slots [n_docs, n_nodes].
    """
    nodes = state.nodes
    best = np.argmax(chances, axis=1)
    pairs = _alike_pairs(state, level)
    if not pairs:
        return state, 0
    group = np.full(nodes.n_nodes + 1, NO_GROUP)  # the last entry serves documents above
    for number, pair in enumerate(pairs):
        group[list(pair)] = number
    above = nodes.path[:, level]

    def plan(numbers: Sequence[int]) -> Plan:
        return _join_plan(state, best, [pairs[number] for number in numbers], group[above])

    before = unchanged(state, best, group[above])
    return keep_gainful(state, data, before, plan, group[above[best]], len(pairs))


def _alike_pairs(state: State, level: int) -> list[tuple[int, int]]:
    """Return disjoint pairs of siblings of a level, by decreasing gain of a plain merge."""
    nodes = state.nodes
    here = np.arange(nodes.bounds[level], nodes.bounds[level + 1])
    counts = np.maximum(state.lam[:, here].T.astype(np.float64) - state.eta, 0.0)
    above = nodes.parent[here]
    siblings = above[:, None] == above
    gains = np.where(siblings, union_gains(counts, siblings, state.eta), -np.inf)
    return [(int(here[i]), int(here[j])) for i, j in disjoint_pairs(gains, -np.inf)]


def _join_plan(
    state: State,
    best: NDArray[np.int64],
    pairs: list[tuple[int, int]],
    group: NDArray[np.integer],
) -> Plan:
    """Return the plan in which the second of each pair becomes the first."""
    parent, lam = state.parent.astype(np.int64), state.lam.copy()
    slot = np.arange(len(parent))
    for kept, gone in pairs:
        lam[:, kept] += lam[:, gone] - lam.dtype.type(state.eta)
        parent[parent == gone] = kept
        slot[gone] = kept
    gone_nodes = [gone for _, gone in pairs]
    left = np.setdiff1d(np.arange(len(parent)), gone_nodes)
    place = np.full(len(parent) + 1, -1)
    place[left] = np.arange(len(left))
    first = place[slot[best]]
    candidates = np.column_stack([first, np.full(len(first), -1)])
    return Plan(place[parent[left]], lam[:, left], first, candidates, group[left])
