"""A pass of data through the tree by the urn, sticks integrated out (theory/tssb 1.2).

A node that only one datum is at has its parameters summed out while that datum chooses, so that
data found nodes that fit them; nodes drawn from the prior seldom do where a datum says much.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.assign_kernels import dot
from hiertopics.families.tssb.find_kernels import concentration
from hiertopics.families.tssb.layout import Memo, Nodes, Process, found, marginal
from hiertopics.numeric.jit import kernel

FAMILY = 2
"""Fewest other data at or below a node under which a datum may found one."""

NEGLIGIBLE = 50.0
"""By how much the log of a weight must fall short of the largest to be left out."""


class Urn(NamedTuple):
    """Logs of a node's chances, float64 [C] each; alpha: float64 [max_depth + 1], by depth.

    size: of the data at or below it. stay: the chance to stop there. go: the chance to go on to a
    child, but for the child's share of what the children and a new one weigh.
    """

    size: NDArray[np.float64]
    stay: NDArray[np.float64]
    go: NDArray[np.float64]
    alpha: NDArray[np.float64]


@kernel()
def resettle(
    features: NDArray[np.number],
    home: NDArray[np.int32],
    nodes: Nodes,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> int:
    """Redraw the node of each datum given all others, sticks integrated out; count the moves.

    A datum chooses among the nodes with other data at or below them and a new child of each that
    has at least FAMILY of these. One whose node is neither stays: the choice never depends on
    where the datum is. Children lose their positions. There must be room for a node per datum.
    """
    capacity = len(nodes.parent)
    weight, log_reach = np.empty((2, capacity)), np.empty(capacity)
    alpha = np.empty(process.max_depth + 1)
    for depth in range(len(alpha)):
        alpha[depth] = concentration(process, depth)
    urn = Urn(np.empty(capacity), np.empty(capacity), np.empty(capacity), alpha)
    for node in range(nodes.size[0]):
        note(node, nodes, process, urn)
    memo = Memo(
        np.empty((capacity, nodes.value.shape[1])), np.empty(capacity), np.zeros(capacity, np.bool_)
    )
    moved = 0
    for datum in range(len(home)):
        old = home[datum]
        add(-1, old, nodes, process, urn)
        alone = old > 0 and nodes.n_sub[old] == 0
        if alone and nodes.n_sub[nodes.parent[old]] < FAMILY:
            add(1, old, nodes, process, urn)
            continue
        n = nodes.size[0]
        weigh_nodes(features[datum], nodes, process, urn, law, memo, log_reach, weight)
        chosen = draw_place(weight[:, :n], rng)
        node = chosen % n
        if chosen >= n:
            parent = node
            node = old if alone and nodes.parent[old] == parent else n
            nodes.size[0] = max(n, node + 1)
            nodes.parent[node], nodes.depth[node] = parent, nodes.depth[parent] + 1
            nodes.offset[node] = found(law, features[datum], parent, node, nodes, memo, rng)
            nodes.known[node] = True
        home[datum] = node
        add(1, node, nodes, process, urn)
        moved += node != old or chosen >= n
    return moved


@kernel()
def add(number: int, node: int, nodes: Nodes, process: Process, urn: Urn) -> None:
    """Add a number of data to a node; note the chances on the way to it anew."""
    nodes.n_at[node] += number
    while node >= 0:
        nodes.n_sub[node] += number
        note(node, nodes, process, urn)
        node = nodes.parent[node]


@kernel()
def note(node: int, nodes: Nodes, process: Process, urn: Urn) -> None:
    """Note the chances of a node."""
    depth, n_sub = nodes.depth[node], nodes.n_sub[node]
    below = n_sub - nodes.n_at[node]
    urn.size[node] = math.log(n_sub) if n_sub > 0 else -np.inf
    urn.stay[node], urn.go[node] = 0.0, -np.inf
    if depth < process.max_depth:
        total = n_sub + urn.alpha[depth] + 1.0
        urn.stay[node] = math.log((nodes.n_at[node] + 1.0) / total)
        urn.go[node] = math.log((below + urn.alpha[depth]) / (total * (below + process.gamma)))


@kernel()
def weigh_nodes(
    features: NDArray[np.number],
    nodes: Nodes,
    process: Process,
    urn: Urn,
    law: Any,
    memo: Memo,
    log_reach: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> None:
    """Fill log weights of staying at each node, and of founding a child of it: weight [2, n].

    log_reach: float64 [n], scratch: of getting to a node and on to a child of it, but for the
    child's share.
    """
    for node in range(nodes.size[0]):
        weight[0, node] = weight[1, node] = -np.inf
        if nodes.n_sub[node] == 0 and node > 0:
            continue
        arrived = 0.0
        if node > 0:
            arrived = log_reach[nodes.parent[node]] + urn.size[node]
        log_reach[node] = arrived + urn.go[node]
        given_node = dot(features, nodes.value[node]) + nodes.offset[node]
        weight[0, node] = arrived + urn.stay[node] + given_node
        depth = nodes.depth[node]
        if nodes.n_sub[node] >= FAMILY and depth < process.max_depth:
            weight[1, node] = log_reach[node] + math.log(process.gamma)
            weight[1, node] += marginal(law, features, node, nodes, memo)
            if depth + 1 < process.max_depth:
                weight[1, node] -= math.log1p(urn.alpha[depth + 1])


@kernel()
def draw_place(log_weight: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return a place in proportion to its weight, counted through rows."""
    n_rows, n_columns = log_weight.shape
    high = -np.inf
    for row in range(n_rows):
        for column in range(n_columns):
            high = max(high, log_weight[row, column])
    total = 0.0
    for row in range(n_rows):
        for column in range(n_columns):
            if log_weight[row, column] > high - NEGLIGIBLE:
                total += math.exp(log_weight[row, column] - high)
    target, chosen = rng.random() * total, 0
    for row in range(n_rows):
        for column in range(n_columns):
            if log_weight[row, column] > high - NEGLIGIBLE:
                chosen = row * n_columns + column
                target -= math.exp(log_weight[row, column] - high)
                if target < 0.0:
                    return chosen
    return chosen
