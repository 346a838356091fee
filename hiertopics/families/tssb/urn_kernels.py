"""Data put into a tree by the urn, sticks integrated out (theory/tssb 1.2).

In a pass a node that only one datum is at has its parameters summed out while that datum chooses,
so that data found nodes that fit them; nodes drawn from the prior seldom do where a datum says
much. Into an empty tree data come one by one, by the prior or where they fit (theory/tssb 4.7).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Numbers
from hiertopics.families.tssb.assign_kernels import concentration, dot
from hiertopics.families.tssb.layout import NONE, Memo, Process, StickNodes, bear, found, marginal
from hiertopics.numeric.jit import kernel

FAMILY = 2
"""Fewest other data at or below a node under which a datum may found one."""

NEGLIGIBLE = 50.0
"""By how much the log of a weight must fall short of the largest to be left out."""


class NodeUrn(NamedTuple):
    """Logs of a node's chances, float64 [C] each; alpha: float64 [max_depth + 1], by depth.

    size: of the data at or below it. stay: the chance to stop there. go: the chance to go on to a
    child, but for the child's share of what the children and a new one weigh.
    """

    size: F64
    stay: F64
    go: F64
    alpha: F64


@kernel()
def resettle(
    features: Numbers,
    home: I32,
    nodes: StickNodes,
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
    urn = NodeUrn(np.empty(capacity), np.empty(capacity), np.empty(capacity), alpha)
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
def add(number: int, node: int, nodes: StickNodes, process: Process, urn: NodeUrn) -> None:
    """Add a number of data to a node; note the chances on the way to it anew."""
    nodes.n_at[node] += number
    while node >= 0:
        nodes.n_sub[node] += number
        note(node, nodes, process, urn)
        node = nodes.parent[node]


@kernel()
def note(node: int, nodes: StickNodes, process: Process, urn: NodeUrn) -> None:
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
    features: Numbers,
    nodes: StickNodes,
    process: Process,
    urn: NodeUrn,
    law: Any,
    memo: Memo,
    log_reach: F64,
    weight: F64,
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
def draw_place(log_weight: F64, rng: np.random.Generator) -> int:
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


@kernel()
def seat(
    home: I32, start: int, nodes: StickNodes, process: Process, law: Any, rng: np.random.Generator
) -> int:
    """Give a node to each datum from ``start`` on by the urn; return where room ran out.

    A datum goes on below the children that it founds, whose parameters come from the law
    (theory/tssb 1.2). The tree must have its root; children are numbered as they come.
    """
    for datum in range(start, len(home)):
        # Before anything of the datum is drawn: one drawn anew would stop too early.
        if nodes.size[0] + process.max_depth > len(nodes.parent):
            return datum
        node = 0
        while not stays(node, nodes, process, rng):
            child = seated_child(node, nodes, process, rng)
            if child == NONE:
                child = nodes.size[0]
                nodes.size[0] = child + 1
                nodes.parent[child], nodes.depth[child] = node, nodes.depth[node] + 1
                nodes.offset[child] = bear(law, nodes.value[node], nodes.value[child], rng)
                nodes.known[child] = True
            node = child
        home[datum] = node
        nodes.n_at[node] += 1
        while node >= 0:
            nodes.n_sub[node] += 1
            node = nodes.parent[node]
    return len(home)


@kernel()
def stays(node: int, nodes: StickNodes, process: Process, rng: np.random.Generator) -> bool:
    """Draw whether a datum at a node stays there."""
    if nodes.depth[node] >= process.max_depth:
        return True
    alpha = concentration(process, nodes.depth[node])
    return rng.random() * (nodes.n_sub[node] + alpha + 1.0) < nodes.n_at[node] + 1.0


@kernel()
def seated_child(node: int, nodes: StickNodes, process: Process, rng: np.random.Generator) -> int:
    """Return the child that a datum goes on to; NONE for a new one."""
    below = nodes.n_sub[node] - nodes.n_at[node]
    target = rng.random() * (below + process.gamma)
    if target < below:
        for child in range(node + 1, nodes.size[0]):
            if nodes.parent[child] == node:
                target -= nodes.n_sub[child]
                if target < 0.0:
                    return child
    return NONE


@kernel()
def insert(
    features: Numbers,
    order: I64,
    start: int,
    home: I32,
    nodes: StickNodes,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> int:
    """Give a node to each datum of ``order[start:]``; return where it stopped for want of room.

    A datum stays at a node, or at a new child of it whose parameters come from the law, in
    proportion to the urn's chance (theory/tssb 1.2) and the likelihood. No datum goes on below a
    child that it founds, so that this is a start and no draw from the prior. The tree must have
    its root; children are numbered as they come, so that it must be packed.
    """
    capacity = len(nodes.parent)
    weight, log_reach = np.empty((2, capacity)), np.empty(capacity)
    trial = np.empty((capacity, nodes.value.shape[1]), nodes.value.dtype)
    trial_offset = np.empty(capacity)
    for place in range(start, len(order)):
        datum, n = order[place], nodes.size[0]
        if n == capacity:
            return place
        # Parents before children: the chance to reach a node grows from its parent's.
        for node in range(n):
            log_reach[node] = 0.0
            if node > 0:
                parent = nodes.parent[node]
                log_reach[node] = log_below(parent, log_reach, nodes, process)
                log_reach[node] += math.log(nodes.n_sub[node]) - log_room(parent, nodes, process)
            weight[0, node] = log_reach[node] + log_stay(node, nodes, process)
        # Beside each node stands a new child of it, with parameters drawn for this datum.
        for node in range(n):
            weight[1, node] = -np.inf
            if nodes.depth[node] < process.max_depth:
                weight[1, node] = log_below(node, log_reach, nodes, process)
                weight[1, node] += math.log(process.gamma) - log_room(node, nodes, process)
                if nodes.depth[node] + 1 < process.max_depth:
                    weight[1, node] -= math.log1p(concentration(process, nodes.depth[node] + 1))
            weight[0, node] += dot(features[datum], nodes.value[node]) + nodes.offset[node]
            trial_offset[node] = bear(law, nodes.value[node], trial[node], rng)
            weight[1, node] += dot(features[datum], trial[node]) + trial_offset[node]
        chosen = heaviest_by_chance(weight[:, :n], rng)
        node = chosen % n
        if chosen >= n:
            parent, node = node, n
            nodes.size[0] = n + 1
            nodes.parent[node], nodes.depth[node] = parent, nodes.depth[parent] + 1
            nodes.value[node], nodes.offset[node] = trial[parent], trial_offset[parent]
            nodes.known[node] = True
        home[datum] = node
        nodes.n_at[node] += 1
        # The datum counts at its node and at all above.
        while node >= 0:
            nodes.n_sub[node] += 1
            node = nodes.parent[node]
    return len(order)


@kernel()
def log_stay(node: int, nodes: StickNodes, process: Process) -> float:
    """Return the log chance that a datum at a node stays there."""
    if nodes.depth[node] >= process.max_depth:
        return 0.0
    alpha = concentration(process, nodes.depth[node])
    return math.log((nodes.n_at[node] + 1.0) / (nodes.n_sub[node] + alpha + 1.0))


@kernel()
def log_below(node: int, log_reach: F64, nodes: StickNodes, process: Process) -> float:
    """Return the log chance that a datum reaches a node and goes on to a child of it."""
    alpha = concentration(process, nodes.depth[node])
    below = nodes.n_sub[node] - nodes.n_at[node]
    return log_reach[node] + math.log((below + alpha) / (nodes.n_sub[node] + alpha + 1.0))


@kernel()
def log_room(node: int, nodes: StickNodes, process: Process) -> float:
    """Return the log weight of a node's children, including the next new one."""
    return math.log(nodes.n_sub[node] - nodes.n_at[node] + process.gamma)


@kernel()
def heaviest_by_chance(log_weight: F64, rng: np.random.Generator) -> int:
    """Return a place in proportion to its weight, counted through rows."""
    best, chosen = -np.inf, 0
    for row in range(log_weight.shape[0]):
        for column in range(log_weight.shape[1]):
            key = log_weight[row, column] - math.log(rng.standard_exponential())
            if key > best:
                best, chosen = key, row * log_weight.shape[1] + column
    return chosen
