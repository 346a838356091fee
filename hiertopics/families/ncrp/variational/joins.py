"""Joins of inner siblings, tried: their words settle anew between the levels of their documents.

Where a node has one child, what belongs to either topic is undecided; the gain of a plain merge
then misses what two such branches have in common.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.variational.cells import Data
from hiertopics.families.ncrp.variational.reshaping import union_gains
from hiertopics.families.ncrp.variational.state import State
from hiertopics.families.ncrp.variational.trials import NO_GROUP, Plan, keep_gainful, unchanged
from hiertopics.families.nested.pairs import disjoint_pairs


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
        return _plan(state, best, [pairs[number] for number in numbers], group[above])

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


def _plan(
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
