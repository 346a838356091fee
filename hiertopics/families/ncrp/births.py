"""Births: nodes split in two by their documents, all of a level tried at once.

The documents of a node are cut in two clusters, and one of them gets a new chain of nodes beside
the node; then each of these documents may choose between its old path and the new one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.clustering import cluster, weighted_rows
from hiertopics.families.ncrp.state import Data, State, csr_of
from hiertopics.families.ncrp.trials import NO_GROUP, Plan, run, unchanged
from hiertopics.model import Context

LEAST_DOCS = 4


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
    second = _second_clusters(state, data, at, _wanted(state, at, level, most_nodes), context)
    chosen = np.array(sorted(second), dtype=np.int64)
    if not len(chosen):
        return state, 0
    group = np.full(nodes.n_nodes + 1, NO_GROUP)  # the last entry serves documents above
    group[chosen] = np.arange(len(chosen))
    group_of_doc = group[at]
    above = nodes.path[:, level]
    trial = _plan(state, best, at, second, level)
    before = unchanged(state, best, group[above])
    new_group = np.append(group[above], np.full(len(trial.parent) - nodes.n_nodes, NO_GROUP))
    new_group[nodes.n_nodes :] = np.repeat(np.arange(len(chosen)), nodes.depth - level)
    trial = trial._replace(group=new_group)
    old = run(state, data, before, group_of_doc, len(chosen), context)
    new = run(state, data, trial, group_of_doc, len(chosen), context)
    gained = new.worth > old.worth
    if gained.all():
        return new.state, len(chosen)
    kept = {int(node): second[int(node)] for node in chosen[gained]}
    if not kept:
        return state, 0
    final = _plan(state, best, at, kept, level)
    return run(state, data, final, np.full(data.n_docs, NO_GROUP), 0, context).state, len(kept)


def _wanted(state: State, at: NDArray[np.int32], level: int, most_nodes: int) -> list[int]:
    """Return the nodes to be split, the largest first."""
    sizes = np.bincount(at[at >= 0], minlength=state.n_nodes)
    room = max(0, (most_nodes - state.n_nodes) // (state.nodes.depth - level))
    by_size = np.argsort(-sizes, kind="stable")[:room]
    return [int(node) for node in by_size if sizes[node] >= LEAST_DOCS]


def _second_clusters(
    state: State, data: Data, at: NDArray[np.int32], wanted: list[int], context: Context
) -> dict[int, NDArray[np.int64]]:
    """Return the documents of the second of two clusters of each node that has two."""
    rng = context.rng("split")
    rows = weighted_rows(csr_of(data))
    found = {}
    for node in wanted:
        docs = np.flatnonzero(at == node)
        second = docs[cluster(rows[docs], 2, rng) == 1]
        if len(second):
            found[node] = second
    return found


def _plan(
    state: State,
    best: NDArray[np.int64],
    at: NDArray[np.int32],
    second: dict[int, NDArray[np.int64]],
    level: int,
) -> Plan:
    """Return the plan of these births; a new node starts with the topic of an old one."""
    nodes = state.nodes
    parent, source = state.parent.tolist(), list(range(nodes.n_nodes))
    first, other = best.copy(), np.full(len(best), -1)
    for node, docs in sorted(second.items()):
        above = int(nodes.parent[node])
        for original in _chain_of(state, best[docs[0]], level):
            parent.append(above)
            source.append(original)
            above = len(parent) - 1
        other[at == node] = above
        first[docs] = above
    lam = state.lam[:, source]
    no_group = np.full(len(parent), NO_GROUP)
    return Plan(np.array(parent), lam, first, np.column_stack([best, other]), no_group)


def _chain_of(state: State, slot: int, level: int) -> list[int]:
    """Return the nodes whose topics a new chain from ``level`` down takes over.

    Below an inner slot, which has none, the topic of the slot's own node is taken again.
    """
    path = state.nodes.path[slot, level:]
    return [int(node) if node >= 0 else slot for node in path]
