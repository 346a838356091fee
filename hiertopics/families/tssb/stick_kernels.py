"""Counts, sticks, the order of children and the packing of a tree (theory/tssb 4.2, 4.3, 4.6).

alpha0, decay and gamma are drawn by slices, the sticks integrated out (theory/tssb 4.4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.tssb.assign_kernels import LEAST, concentration, log_gamma_draw, log_sum
from hiertopics.families.tssb.layout import NONE, Process, StickNodes
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within


@kernel()
def count(home: I32, nodes: StickNodes) -> None:
    """Count the data at each node, and at or below it; home: int32 [n], the node of each."""
    n = nodes.size[0]
    nodes.n_at[:n] = 0
    for datum in range(len(home)):
        nodes.n_at[home[datum]] += 1
    nodes.n_sub[:n] = nodes.n_at[:n]
    for node in range(n - 1, 0, -1):
        nodes.n_sub[nodes.parent[node]] += nodes.n_sub[node]


@kernel()
def list_children(nodes: StickNodes) -> tuple[I64, I32]:
    """Return where each node's children begin in a list [n + 1], and the list, by position."""
    n = nodes.size[0]
    begin = np.zeros(n + 1, np.int64)
    for node in range(1, n):
        begin[nodes.parent[node] + 1] += 1
    for node in range(n):
        begin[node + 1] += begin[node]
    place = begin[:-1].copy()
    children = np.empty(max(n - 1, 0), np.int32)
    for node in range(1, n):
        parent = nodes.parent[node]
        children[place[parent]] = node
        place[parent] += 1
    return begin, children


@kernel()
def hull(nodes: StickNodes) -> tuple[I64, I32]:
    """Return the children that stay, in the form of ``list_children``.

    Of each node with data at or below it these are the children up to the last one with data.
    """
    n = nodes.size[0]
    begin, children = list_children(nodes)
    kept_begin, kept = np.zeros(n + 1, np.int64), np.empty(n, np.int32)
    size = 0
    for node in range(n):
        end = begin[node + 1]
        while end > begin[node] and nodes.n_sub[children[end - 1]] == 0:
            end -= 1
        for place in range(begin[node], end):
            kept[size] = children[place]
            size += 1
        kept_begin[node + 1] = size
    return kept_begin, kept[:size]


@kernel()
def partition(nodes: StickNodes) -> tuple[I64, I32]:
    """Return the children with data at or below them, in the form of ``list_children``."""
    n = nodes.size[0]
    begin, children = list_children(nodes)
    kept_begin, kept = np.zeros(n + 1, np.int64), np.empty(n, np.int32)
    size = 0
    for node in range(n):
        for place in range(begin[node], begin[node + 1]):
            if nodes.n_sub[node] > 0 and nodes.n_sub[children[place]] > 0:
                kept[size] = children[place]
                size += 1
        kept_begin[node + 1] = size
    return kept_begin, kept[:size]


@kernel()
def reorder(nodes: StickNodes, process: Process, rng: np.random.Generator) -> tuple[I64, I32]:
    """Return the children of each node in a new order, in the form of ``list_children``.

    Children are picked in proportion to their shares until each with data was picked; what no
    stick has broken off yet takes part, and where it is hit, new sticks (NONE) are broken inside
    it until one holds the same point (theory/tssb 4.3).
    """
    n = nodes.size[0]
    begin, children = list_children(nodes)
    picked_begin, picked = np.zeros(n + 1, np.int64), np.empty(2 * n + 64, np.int32)
    size = 0
    for node in range(n):
        wanted, n_parts, rest = 0, begin[node + 1] - begin[node], 1.0
        part, share = np.empty(2 * n_parts + 16, np.int32), np.empty(2 * n_parts + 16)
        # Shares of the children that stand, from their sticks; the rest is not broken yet.
        for place in range(n_parts):
            child = children[begin[node] + place]
            part[place] = child
            share[place] = rest * math.exp(nodes.log_psi[child])
            rest *= math.exp(nodes.log_psi_rest[child])
            wanted += nodes.n_sub[child] > 0
        while wanted > 0:
            u = rng.random() * (share[:n_parts].sum() + rest)
            chosen = 0
            while chosen < n_parts and u >= share[chosen]:
                u -= share[chosen]
                chosen += 1
            # The point lies in the rest: sticks are broken until one holds it.
            while chosen == n_parts and rest > LEAST:
                if n_parts == len(part):
                    part = np.concatenate((part, np.empty(n_parts, np.int32)))
                    share = np.concatenate((share, np.empty(n_parts)))
                log_left = -rng.standard_exponential() / process.gamma
                part[n_parts], share[n_parts] = NONE, -math.expm1(log_left) * rest
                rest *= math.exp(log_left)
                if u >= share[n_parts]:
                    u -= share[n_parts]
                    chosen += 1
                n_parts += 1
            if chosen == n_parts:  # rounding carried u beyond the end: take what is wanted
                chosen = 0
                while part[chosen] == NONE or nodes.n_sub[part[chosen]] == 0:
                    chosen += 1
            if size == len(picked):
                picked = np.concatenate((picked, np.empty(size, np.int32)))
            picked[size] = part[chosen]
            size += 1
            wanted -= part[chosen] != NONE and nodes.n_sub[part[chosen]] > 0
            n_parts -= 1
            for place in range(chosen, n_parts):
                part[place], share[place] = part[place + 1], share[place + 1]
        picked_begin[node + 1] = size
    return picked_begin, picked[:size]


@kernel()
def number(begin: I64, children: I32) -> tuple[I32, I32, I32]:
    """Return source, parent and depth of the nodes of a tree in pre-order.

    begin, children: as ``list_children`` gives them; source is the former number, NONE for a
    new node.
    """
    size = 1 + len(children)
    source, parent = np.empty(size, np.int32), np.empty(size, np.int32)
    depth = np.zeros(size, np.int32)
    waiting, above = np.empty(size, np.int32), np.empty(size, np.int32)
    waiting[0], above[0] = 0, NONE
    n_waiting, new = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        old = waiting[n_waiting]
        source[new], parent[new] = old, above[n_waiting]
        if new > 0:
            depth[new] = depth[parent[new]] + 1
        if old != NONE:
            for place in range(begin[old + 1] - 1, begin[old] - 1, -1):
                waiting[n_waiting], above[n_waiting] = children[place], new
                n_waiting += 1
        new += 1
    return source[:new], parent[:new], depth[:new]


@kernel()
def repack(nodes: StickNodes, home: I32, begin: I64, children: I32, capacity: int) -> StickNodes:
    """Return the tree with these children of each node, in pre-order; ``home`` follows.

    begin, children: as for ``number``. The parameters of empty nodes are dropped. capacity: rows
    of the new arrays, at least one for each node.
    """
    source, parent, depth = number(begin, children)
    packed = StickNodes(
        np.zeros(1, np.int64),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros((capacity, nodes.value.shape[1]), nodes.value.dtype),
        np.zeros(capacity, nodes.offset.dtype),
        np.zeros(capacity, np.bool_),
    )
    packed.size[0] = len(source)
    new_number = np.full(nodes.size[0], NONE, np.int32)
    for new in range(len(source)):
        packed.parent[new], packed.depth[new] = parent[new], depth[new]
        old = source[new]
        if old == NONE:
            continue
        new_number[old] = new
        packed.n_at[new], packed.n_sub[new] = nodes.n_at[old], nodes.n_sub[old]
        packed.log_nu[new], packed.log_rest[new] = nodes.log_nu[old], nodes.log_rest[old]
        packed.log_psi[new] = nodes.log_psi[old]
        packed.log_psi_rest[new] = nodes.log_psi_rest[old]
        if new == 0 or nodes.n_sub[old] > 0:
            packed.value[new] = nodes.value[old]
            packed.offset[new] = nodes.offset[old]
            packed.known[new] = True
    for datum in range(len(home)):
        home[datum] = new_number[home[datum]]
    return packed


@kernel()
def later_siblings(nodes: StickNodes) -> I64:
    """Return for each node how many data sit at or below its later siblings, int64 [n]."""
    n = nodes.size[0]
    later, so_far = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for node in range(n - 1, 0, -1):
        parent = nodes.parent[node]
        later[node] = so_far[parent]
        so_far[parent] += nodes.n_sub[node]
    return later


@kernel()
def draw_sticks(
    nodes: StickNodes, process: Process, rng: np.random.Generator, ordered: bool
) -> None:
    """Draw all sticks of a tree at rest given the counts, logs of both sides (theory/tssb 4.2).

    ordered: children stand at their positions. Else all of them have data and stand anyhow: psi
    are then those of their shares, which with the rest are Dirichlet(n_sub, ..., gamma), and
    ``reorder`` draws the positions.
    """
    later = later_siblings(nodes)
    for node in range(nodes.size[0]):
        depth, below = nodes.depth[node], nodes.n_sub[node] - nodes.n_at[node]
        nodes.log_nu[node], nodes.log_rest[node] = 0.0, -np.inf
        if depth < process.max_depth:
            x = log_gamma_draw(nodes.n_at[node] + 1.0, rng)
            y = log_gamma_draw(concentration(process, depth) + below, rng)
            total = log_sum(x, y)
            nodes.log_nu[node], nodes.log_rest[node] = x - total, y - total
        nodes.log_psi[node], nodes.log_psi_rest[node] = 0.0, -np.inf
        if node > 0:
            x = log_gamma_draw(nodes.n_sub[node] + (1.0 if ordered else 0.0), rng)
            y = log_gamma_draw(process.gamma + later[node], rng)
            total = log_sum(x, y)
            nodes.log_psi[node], nodes.log_psi_rest[node] = x - total, y - total


@kernel()
def log_masses(nodes: StickNodes) -> F64:
    """Return log pi of each node, float64 [n]."""
    n = nodes.size[0]
    log_pi, log_below, log_left = np.zeros(n), np.zeros(n), np.zeros(n)
    for node in range(n):
        log_reach = 0.0
        if node > 0:
            parent = nodes.parent[node]
            log_reach = log_below[parent] + log_left[parent] + nodes.log_psi[node]
            log_left[parent] += nodes.log_psi_rest[node]
        log_pi[node] = log_reach + nodes.log_nu[node]
        log_below[node] = log_reach + nodes.log_rest[node]
    return log_pi


ALPHA0, DECAY, GAMMA = range(3)


class ProcessBounds(NamedTuple):
    """The uniform range of each parameter of the process; equal bounds: it is fixed."""

    alpha0: tuple[float, float]
    decay: tuple[float, float]
    gamma: tuple[float, float]


@kernel()
def draw_process(
    nodes: StickNodes, process: Process, bounds: ProcessBounds, rng: np.random.Generator
) -> Process:
    """Draw alpha0, decay and gamma given the counts of a tree at rest.

    The sticks must be drawn next: they are no longer those that belong to the parameters.
    """
    later = later_siblings(nodes)
    process = draw_one(ALPHA0, process.alpha0, bounds.alpha0, nodes, later, process, rng)
    process = draw_one(DECAY, process.decay, bounds.decay, nodes, later, process, rng)
    return draw_one(GAMMA, process.gamma, bounds.gamma, nodes, later, process, rng)


@kernel()
def draw_one(
    which: int,
    value: float,
    bounds: tuple[float, float],
    nodes: StickNodes,
    later: I64,
    process: Process,
    rng: np.random.Generator,
) -> Process:
    """Draw one parameter by slice sampling; the bracket is its bounds, shrunk to the value.

    later: int64 [n_nodes], as ``log_positions`` takes it.
    """
    bracket = Bracket(*bounds)
    if bracket.low == bracket.high:
        return having(which, bracket.low, process)
    floor = log_density(which, nodes, later, having(which, value, process))
    floor -= rng.standard_exponential()
    while is_open(bracket):
        place = within(bracket, rng)
        moved = having(which, place, process)
        if log_density(which, nodes, later, moved) > floor:
            return moved
        bracket = narrowed(bracket, place, value)
    return having(which, value, process)


@kernel()
def having(which: int, value: float, process: Process) -> Process:
    """Return the process with one parameter changed."""
    return Process(
        value if which == ALPHA0 else process.alpha0,
        value if which == DECAY else process.decay,
        value if which == GAMMA else process.gamma,
        process.max_depth,
    )


@kernel()
def log_density(which: int, nodes: StickNodes, later: I64, process: Process) -> float:
    """Return the part of the log chance of the counts that a parameter has a say in.

    later: int64 [n_nodes], as ``log_positions`` takes it.
    """
    if which == GAMMA:
        return log_positions(nodes, later, process.gamma)
    return log_stops(nodes, process)


@kernel()
def log_stops(nodes: StickNodes, process: Process) -> float:
    """Return the log probability of the stops of data at each node, nu integrated out."""
    total = 0.0
    for node in range(nodes.size[0]):
        at, below = nodes.n_at[node], nodes.n_sub[node] - nodes.n_at[node]
        if at + below > 0 and nodes.depth[node] < process.max_depth:
            total += log_stick(process.alpha0 * process.decay ** nodes.depth[node], at, below)
    return total


@kernel()
def log_positions(nodes: StickNodes, later: I64, gamma: float) -> float:
    """Return the log probability of the children that data descend to, psi integrated out.

    later: int64 [n_nodes], data at later siblings and below. Of the children at their positions:
    gaps between those with data depend on gamma too.
    """
    total = 0.0
    for node in range(1, nodes.size[0]):
        total += log_stick(gamma, nodes.n_sub[node], later[node])
    return total


@kernel()
def log_stick(concentration: float, taken: int, left: int) -> float:
    """Return the log of E[v^taken (1 - v)^left] under v ~ Beta(1, concentration)."""
    if taken + left == 0:
        return 0.0
    log_mean = math.lgamma(1.0 + taken) + math.lgamma(concentration + left)
    return log_mean + math.log(concentration) - math.lgamma(1.0 + concentration + taken + left)
