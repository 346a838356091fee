"""Putting data into an empty tree, one by one: by the prior, or where they fit.

Source: theory/tssb 4.7.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.assign_kernels import dot
from hiertopics.families.tssb.find_kernels import concentration
from hiertopics.families.tssb.layout import NONE, Nodes, Process, bear
from hiertopics.numeric.jit import kernel


@kernel()
def seat(
    home: NDArray[np.int32],
    start: int,
    nodes: Nodes,
    process: Process,
    law: Any,
    rng: np.random.Generator,
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
def stays(node: int, nodes: Nodes, process: Process, rng: np.random.Generator) -> bool:
    """Draw whether a datum at a node stays there."""
    if nodes.depth[node] >= process.max_depth:
        return True
    alpha = concentration(process, nodes.depth[node])
    return rng.random() * (nodes.n_sub[node] + alpha + 1.0) < nodes.n_at[node] + 1.0


@kernel()
def seated_child(node: int, nodes: Nodes, process: Process, rng: np.random.Generator) -> int:
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
    features: NDArray[np.number],
    order: NDArray[np.int64],
    start: int,
    home: NDArray[np.int32],
    nodes: Nodes,
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
        for node in range(n):
            log_reach[node] = 0.0
            if node > 0:
                parent = nodes.parent[node]
                log_reach[node] = log_below(parent, log_reach, nodes, process)
                log_reach[node] += math.log(nodes.n_sub[node]) - log_room(parent, nodes, process)
            weight[0, node] = log_reach[node] + log_stay(node, nodes, process)
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
        while node >= 0:
            nodes.n_sub[node] += 1
            node = nodes.parent[node]
    return len(order)


@kernel()
def log_stay(node: int, nodes: Nodes, process: Process) -> float:
    """Return the log chance that a datum at a node stays there."""
    if nodes.depth[node] >= process.max_depth:
        return 0.0
    alpha = concentration(process, nodes.depth[node])
    return math.log((nodes.n_at[node] + 1.0) / (nodes.n_sub[node] + alpha + 1.0))


@kernel()
def log_below(node: int, log_reach: NDArray[np.float64], nodes: Nodes, process: Process) -> float:
    """Return the log chance that a datum reaches a node and goes on to a child of it."""
    alpha = concentration(process, nodes.depth[node])
    below = nodes.n_sub[node] - nodes.n_at[node]
    return log_reach[node] + math.log((below + alpha) / (nodes.n_sub[node] + alpha + 1.0))


@kernel()
def log_room(node: int, nodes: Nodes, process: Process) -> float:
    """Return the log of what the children of a node, the next new one included, weigh."""
    return math.log(nodes.n_sub[node] - nodes.n_at[node] + process.gamma)


@kernel()
def heaviest_by_chance(log_weight: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return a place in proportion to its weight, counted through rows."""
    best, chosen = -np.inf, 0
    for row in range(log_weight.shape[0]):
        for column in range(log_weight.shape[1]):
            key = log_weight[row, column] - math.log(rng.standard_exponential())
            if key > best:
                best, chosen = key, row * log_weight.shape[1] + column
    return chosen
