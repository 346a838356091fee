"""The slice sampler of the assignments of data to nodes (theory/tssb 4.1).

A number in (0, 1) belongs to a node; sticks are broken on the way to it. Numbers stay where they
are: each node knows the interval of its subtree and of its own piece, so that one node precedes
another exactly if its left end is the smaller one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hiertopics.base.arrays import F64, I32, Floats, Numbers
from hiertopics.families.tssb.layout import FULL, NONE, Process, StickNodes, StickPlaces, bear
from hiertopics.numeric.jit import REASSOCIATE, kernel

LEAST = 1e-300


@kernel()
def concentration(process: Process, depth: int) -> float:
    """Return alpha(depth) of the sticks nu."""
    return process.alpha0 * process.decay**depth


@kernel()
def log_gamma_draw(shape: float, rng: np.random.Generator) -> float:
    """Return the log of a Gamma(shape, 1) draw, finite however small the shape is."""
    if shape >= 1.0:
        return math.log(max(rng.standard_gamma(shape), LEAST))
    drawn = math.log(max(rng.standard_gamma(shape + 1.0), LEAST))
    return drawn - rng.standard_exponential() / shape


@kernel()
def log_sum(x: float, y: float) -> float:
    """Return log(e^x + e^y)."""
    high = max(x, y)
    return high + math.log1p(math.exp(-abs(x - y)))


@kernel()
def break_nu(node: int, nodes: StickNodes, process: Process, rng: np.random.Generator) -> None:
    """Draw nu of a node without data from the prior."""
    if nodes.depth[node] >= process.max_depth:
        nodes.log_nu[node], nodes.log_rest[node] = 0.0, -np.inf
        return
    log_rest = -rng.standard_exponential() / concentration(process, nodes.depth[node])
    nodes.log_rest[node] = log_rest
    nodes.log_nu[node] = math.log(max(-math.expm1(log_rest), LEAST))


@kernel()
def lay_out(nodes: StickNodes, places: StickPlaces) -> None:
    """Fill the places of a tree at rest, none of whose nodes was born in this pass."""
    for node in range(nodes.size[0]):
        left, right = 0.0, 1.0
        if node > 0:
            parent = nodes.parent[node]
            end = places.right[parent]
            left = end - places.rest[parent]
            places.rest[parent] *= math.exp(nodes.log_psi_rest[node])
            right = max(end - places.rest[parent], left)
        settle(node, left, right, nodes, places)


@kernel()
def settle(node: int, left: float, right: float, nodes: StickNodes, places: StickPlaces) -> None:
    """Note the interval of a node's subtree; its own piece is the left end of it."""
    mid = min(left + math.exp(nodes.log_nu[node]) * (right - left), right)
    places.left[node], places.mid[node], places.right[node] = left, mid, right
    places.rest[node] = right - mid
    places.first[node] = places.last[node] = places.next[node] = NONE


@kernel()
def add_child(
    parent: int, nodes: StickNodes, places: StickPlaces, process: Process, rng: np.random.Generator
) -> int:
    """Break a new child off the rest of ``parent``; return it, or FULL where there is no room."""
    child = nodes.size[0]
    if child == len(nodes.parent):
        return FULL
    nodes.size[0] = child + 1
    nodes.parent[child] = parent
    nodes.depth[child] = nodes.depth[parent] + 1
    nodes.n_at[child] = nodes.n_sub[child] = 0
    nodes.known[child] = False
    log_rest = -rng.standard_exponential() / process.gamma
    nodes.log_psi_rest[child] = log_rest
    nodes.log_psi[child] = math.log(max(-math.expm1(log_rest), LEAST))
    break_nu(child, nodes, process, rng)
    left = places.right[parent] - places.rest[parent]
    places.rest[parent] *= math.exp(log_rest)
    settle(child, left, max(places.right[parent] - places.rest[parent], left), nodes, places)
    if places.first[parent] == NONE:
        places.first[parent] = child
    else:
        places.next[places.last[parent]] = child
    places.last[parent] = child
    return child


@kernel()
def find(
    u: float,
    n_rest: int,
    nodes: StickNodes,
    places: StickPlaces,
    process: Process,
    rng: np.random.Generator,
) -> int:
    """Return the node whose own piece holds u; FULL if there is no room for a new node.

    n_rest: how many of the nodes were there at rest. After FULL, the same u may be asked for
    again in larger arrays: the sticks that were broken stay.
    """
    node, above = 0, n_rest
    while above - node > 1:
        middle = (node + above) // 2
        if places.left[middle] <= u:
            node = middle
        else:
            above = middle
    return find_from(node, u, nodes, places, process, rng)


@kernel()
def find_from(
    node: int,
    u: float,
    nodes: StickNodes,
    places: StickPlaces,
    process: Process,
    rng: np.random.Generator,
) -> int:
    """Return the result of ``find``, given the last node at rest that begins at or below u."""
    if u < places.mid[node]:
        return node
    while u >= places.right[node]:
        node = nodes.parent[node]
    while True:
        child = places.first[node]
        while child != NONE and u >= places.right[child]:
            child = places.next[child]
        while child == NONE or u >= places.right[child]:
            child = add_child(node, nodes, places, process, rng)
            if child == FULL:
                return FULL
        if u < places.mid[child]:
            return child
        node = child


@kernel()
def make_guide(left: F64, n_rest: int) -> I32:
    """Return where to begin the search for u among ``left[:n_rest]``, int32 [n].

    Entry floor(n u) is the last node that begins at or below floor(n u) / n. n is a power of two,
    so that n u is exact, and a few times the number of nodes, so that few steps are left.
    """
    n = 4
    while n < 4 * n_rest:
        n *= 2
    guide = np.empty(n, np.int32)
    node = 0
    for place in range(n):
        while node + 1 < n_rest and left[node + 1] <= place / n:
            node += 1
        guide[place] = node
    return guide


@kernel(inline=True)
def reveal(node: int, nodes: StickNodes, law: Any, rng: np.random.Generator) -> None:
    """Draw the parameters of an empty node, and of those above it, where they are not known."""
    while not nodes.known[node]:
        top = node
        while not nodes.known[nodes.parent[top]]:
            top = nodes.parent[top]
        parent = nodes.parent[top]
        nodes.offset[top] = bear(law, nodes.value[parent], nodes.value[top], rng)
        nodes.known[top] = True


BELOW_ONE = 1.0 - 2.0**-53
NARROW = 1e-15
LOW, HIGH, LEVEL, ASKED = range(4)
"""Places in ``pending``: the bracket, the slice's level, and the u to look for."""


@kernel(fastmath=REASSOCIATE)
def dot(features: Numbers, value: Floats) -> float:
    """Return the inner product of a datum's features [P] and a node's parameters [P]."""
    total = 0.0
    for item in range(len(value)):
        total += features[item] * value[item]
    return total


@kernel(fastmath=REASSOCIATE)
def product(features: Numbers, datum: int, value: Floats, node: int) -> float:
    """Return ``dot`` of two rows; to make views of them would cost as much as the loop.

    features: [n_docs, P]. value: [n_nodes, P].
    """
    total = value.dtype.type(0)
    for item in range(value.shape[1]):
        total += features[datum, item] * value[node, item]
    return float(total)


@kernel()
def assign(
    features: Numbers,
    table: Floats,
    home: I32,
    start: int,
    pending: F64,
    n_rest: int,
    nodes: StickNodes,
    places: StickPlaces,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> int:
    """Redraw the node of each datum from ``start`` on; return where room ran out, or the end.

    features: [n, P]. table: log likelihoods [n, n_rest] of the nodes whose parameters were known
    at rest, or [n, 0] to work them out when they are asked for. home: int32 [n], the nodes, moved
    in place. pending: float64 [4], NaN in front; where room runs out it keeps the datum's state,
    so that the pass goes on, in larger arrays, as if there had been room.
    """
    guide = make_guide(places.left, n_rest)
    while True:
        start, node = assign_known(
            features, table, home, start, pending, guide, n_rest, nodes, places, process, rng
        )
        if node == FULL:
            return start
        reveal(node, nodes, law, rng)


@kernel()
def assign_known(
    features: Numbers,
    table: Floats,
    home: I32,
    start: int,
    pending: F64,
    guide: I32,
    n_rest: int,
    nodes: StickNodes,
    places: StickPlaces,
    process: Process,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Do as ``assign`` up to a datum that looks at a node whose parameters are not known.

    Returns the datum and the node; with FULL where room ran out or the end was reached. It stands
    apart because what draws parameters, compiled into this loop, would slow it down.
    """
    left, mid, known = places.left, places.mid, nodes.known
    value, offset = nodes.value, nodes.offset
    low, high, level, asked = pending
    for datum in range(start, len(home)):
        mine = home[datum]
        # A new datum: the slice level lies below the density at its own node. A pending one goes on
        # where it stopped.
        if np.isnan(low):
            low, high, asked = 0.0, 1.0, np.nan
            here = score(datum, mine, features, table, value, offset)
            level = here - rng.standard_exponential()
        while True:
            u = asked
            if np.isnan(u):
                u = min(low + (high - low) * rng.random(), BELOW_ONE)
            # The guide leads near the node that holds u; the left ends of nodes ascend from there.
            node = guide[int(u * len(guide))]
            while node + 1 < n_rest and left[node + 1] <= u:
                node += 1
            if u >= mid[node]:
                node = find_from(node, u, nodes, places, process, rng)
            if node == FULL or not known[node]:
                pending[LOW], pending[HIGH], pending[LEVEL], pending[ASKED] = low, high, level, u
                return datum, node
            asked = np.nan
            if node == mine:
                break
            if score(datum, node, features, table, value, offset) > level:
                home[datum] = node
                break
            # A node below the level shrinks the interval towards the datum's own node, as slice
            # sampling does.
            if u < left[mine]:
                low = u
            else:
                high = u
            if high - low < NARROW:
                break
        low = np.nan
    pending[LOW] = pending[ASKED] = np.nan
    return len(home), FULL


@kernel(inline=True)
def score(
    datum: int, node: int, features: Numbers, table: Floats, value: Floats, offset: F64
) -> float:
    """Return the log likelihood of a datum at a node: from the table, where it is there.

    features: [n_docs, P]. table: [n_docs, at most n_nodes], NaN where unknown. value: [n_nodes, P].
    offset: [n_nodes].
    """
    found = np.nan
    if node < table.shape[1]:
        found = table[datum, node]
    if np.isnan(found):
        found = product(features, datum, value, node) + offset[node]
    return found
